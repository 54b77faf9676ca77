//===- ConfigurationPrinter.cpp - What a configuration comes to -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Written by hand, because JSON libraries write no comments: a group is one
// rule of its first module, after a line on where its values are from.
//===----------------------------------------------------------------------===//

#include "compiler/ConfigurationPrinter.h"

#include "compiler/OptionTable.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Recomputed.h"
#include "passes/Group/GroupPolicies.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace shardc {

static std::string quoted(StringRef text) {
  return llvm::formatv("{0}", llvm::json::Value(text)).str();
}

namespace {

/// A group and the paths of its modules; none for the root.
struct PrintedGroup {
  fsdp::GroupOp group;
  llvm::SmallSetVector<StringRef, 2> paths;

  std::string key() const { return paths.empty() ? "" : paths[0].str(); }
};

class ConfigurationPrinter {
public:
  ConfigurationPrinter(ModuleOp module, const Options &options)
      : module(module), options(options) {}

  std::string print();

private:
  void collectGroups();
  void printWrap();
  void printModules();
  void printGroup(const PrintedGroup &printed, bool isLast);
  void printParameters();
  void printBuffers();
  void printTable();

  ModuleOp module;
  const Options &options;
  llvm::MapVector<StringRef, PrintedGroup> groups;
  std::string text;
  llvm::raw_string_ostream os{text};
};

} // namespace

void ConfigurationPrinter::collectGroups() {
  for (auto group : module.getOps<fsdp::GroupOp>())
    groups[group.getSymName()].group = group;
  module.walk<WalkOrder::PreOrder>([&](fsdp::ModuleOp call) {
    if (call.getGroup())
      groups[*call.getGroup()].paths.insert(call.getPath());
  });
}

void ConfigurationPrinter::printWrap() {
  os << "  \"wrap\": [";
  StringRef separator = "";
  for (const auto &[name, printed] : groups) {
    if (printed.paths.empty())
      continue;
    os << separator << "\n    " << (printed.paths.size() > 1 ? "[" : "");
    separator = ",";
    llvm::interleave(
        printed.paths, os, [&](StringRef path) { os << quoted(path); }, ", ");
    os << (printed.paths.size() > 1 ? "]" : "");
  }
  os << (separator.empty() ? "],\n" : "\n  ],\n");
}

static std::string dtypeText(Type dtype) {
  return dtype ? "\"" + debugString(dtype) + "\"" : "null";
}

/// `param_dtype: option for all groups; output_dtype: rule 'head'`.
static std::string describeReasons(DictionaryAttr reasons) {
  llvm::MapVector<StringRef, SmallVector<StringRef>> keys;
  for (NamedAttribute reason : reasons)
    keys[cast<StringAttr>(reason.getValue()).getValue()].push_back(
        reason.getName());
  SmallVector<std::string> parts;
  for (const auto &[reason, names] : keys)
    parts.push_back(llvm::join(names, ", ") + ": " + reason.str());
  return llvm::join(parts, "; ");
}

/// The word of the module at `path`, as a member. Of the root no word is said:
/// what is in it alone is kept.
static std::string recomputeOf(fsdp::GroupOp group, StringRef path) {
  auto forms =
      group->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>(
          recompute::formsAttribute);
  auto form = forms ? forms.getAs<StringAttr>(path) : StringAttr();
  return form ? ", \"recompute\": " + quoted(form) : "";
}

static std::string divideFactorOf(fsdp::GroupOp group) {
  std::optional<APFloat> factor = group.getGradientDivideFactor();
  return factor ? ", \"gradient_divide_factor\": " +
                      shortest(factor->convertToDouble())
                : "";
}

void ConfigurationPrinter::printGroup(const PrintedGroup &printed,
                                      bool isLast) {
  fsdp::GroupOp group = printed.group;
  fsdp::PolicyAttr policy = group.getPolicy();
  size_t members = llvm::range_size(group.getOps<fsdp::MemberOp>());
  os << "    // @" << group.getSymName() << ": " << members << " parameter"
     << (members == 1 ? "" : "s");
  for (auto member : group.getOps<fsdp::MemberOp>())
    if (member.getKeep())
      os << "; " << member.getParameter() << " stays " << *member.getKeep()
         << " for batch_norm";
  os << "\n";
  if (auto reasons = group->getAttrOfType<DictionaryAttr>(reasonsAttribute))
    os << "    // " << describeReasons(reasons) << "\n";
  os << "    {\"match\": " << quoted(printed.key())
     << ",\n     \"param_dtype\": " << dtypeText(policy.getParam())
     << ", \"reduce_dtype\": " << dtypeText(policy.getReduce())
     << ", \"output_dtype\": " << dtypeText(policy.getOutput())
     << ",\n     \"cast_forward_inputs\": "
     << (policy.getCastInputs() || !policy.getParam() ? "true" : "false")
     << ", \"reshard_after_forward\": "
     << (group.getReshardTo() ? group.describeReshard()
                              : quoted(group.describeReshard()))
     << recomputeOf(group, printed.key()) << divideFactorOf(group) << "}";
  // All else is the group's.
  for (StringRef path : printed.paths)
    if (std::string its = recomputeOf(group, path);
        path != printed.key() && !its.empty())
      os << ",\n    {\"match\": " << quoted(path) << its << "}";
  os << (isLast ? "" : ",") << "\n";
}

void ConfigurationPrinter::printModules() {
  os << "  \"modules\": [\n";
  for (const auto &[name, printed] : groups)
    printGroup(printed, &printed == &groups.back().second);
  os << "  ],\n";
}

static void printList(StringRef key, ArrayRef<std::string> lines,
                      llvm::raw_ostream &os) {
  os << "  " << quoted(key) << ": ["
     << (lines.empty() ? "" : "\n" + llvm::join(lines, ",\n") + "\n  ")
     << "],\n";
}

/// What differs from what all parameters have, by name.
void ConfigurationPrinter::printParameters() {
  SymbolTable symbols(module);
  SmallVector<std::string> lines;
  module.walk([&](fsdp::MemberOp member) {
    auto parameter = symbols.lookup<fsdp::ParameterOp>(member.getParameter());
    std::string line = "    {\"match\": " + quoted(member.getParameter());
    if (parameter.getFrozen()) {
      lines.push_back(line + ", \"frozen\": true}");
      return;
    }
    DictionaryAttr own = member.getHyperparametersAttr();
    if (!own)
      return;
    for (NamedAttribute entry : own) {
      auto number = dyn_cast<FloatAttr>(entry.getValue());
      line += ", " + quoted(entry.getName()) + ": " +
              (number ? shortest(number.getValueAsDouble())
                      : quoted(cast<StringAttr>(entry.getValue()).getValue()));
    }
    lines.push_back(line + "}");
  });
  printList("parameters", lines, os);
}

/// What ranks make of buffers, by name.
void ConfigurationPrinter::printBuffers() {
  SmallVector<std::string> lines;
  for (auto buffer : module.getOps<fsdp::BufferOp>())
    if (buffer.getSync())
      lines.push_back(
          "    {\"match\": " + quoted(buffer.getSymName()) + ", \"sync\": " +
          quoted(fsdp::stringifyBufferSync(*buffer.getSync())) + "}");
  printList("buffers", lines, os);
}

/// The sections of the option table, each on a line.
void ConfigurationPrinter::printTable() {
  llvm::MapVector<StringRef, SmallVector<std::string>> sections;
  for (const OptionEntry &entry : optionTable()) {
    auto [section, key] = StringRef(entry.key).rsplit('.');
    if (entry.key.empty() || section == "mesh")
      continue;
    std::string value = valueOf(entry, options);
    bool isText = std::holds_alternative<std::string Options::*>(entry.member);
    double number = 0;
    if (!hasValue(entry, options))
      value = "null";
    else if (isText && StringRef(value).getAsDouble(number))
      value = quoted(value);
    bool isAlone = key.empty();
    sections[isAlone ? "" : section].push_back(quoted(isAlone ? section : key) +
                                               ": " + value);
  }
  SmallVector<std::string> lines;
  for (const auto &[section, entries] : sections)
    lines.push_back(section.empty() ? "  " + llvm::join(entries, ",\n  ")
                                    : "  " + quoted(section) + ": {" +
                                          llvm::join(entries, ", ") + "}");
  os << llvm::join(lines, ",\n") << "\n";
}

std::string ConfigurationPrinter::print() {
  collectGroups();
  os << "{\n  \"mesh\": {\"shard\": " << options.worldSize / options.replicate
     << ", \"replicate\": " << options.replicate << "},\n";
  printWrap();
  printModules();
  printParameters();
  printBuffers();
  printTable();
  os << "}\n";
  return text;
}

std::string printConfiguration(ModuleOp module, const Options &options) {
  return ConfigurationPrinter(module, options).print();
}

} // namespace shardc
