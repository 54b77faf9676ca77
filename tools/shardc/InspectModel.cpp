//===- InspectModel.cpp - shardc inspect on an export ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Prints a report on a model: as a tree of modules and a table of operators for
// people, or as JSON for programs.
//===----------------------------------------------------------------------===//

#include "compiler/ModelReport.h"
#include "compiler/Plan/Table.h"
#include "runtime/format/Quantities.h"
#include "runtime/format/Terminal.h"
#include "tools/shardc/Inspect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <set>

namespace shardc {

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Three digits and a unit: "1.54 M".
static std::string countText(int64_t count) {
  constexpr std::array<const char *, 6> units = {"",   " K", " M",
                                                 " G", " T", " P"};
  auto value = static_cast<double>(count);
  size_t unit = 0;
  // 1020 of a unit would need four digits.
  for (; value >= (unit == 0 ? 1000 : 999.5) && unit + 1 < units.size(); ++unit)
    value /= 1000;
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f%s" : "%.3g%s",
                value, units[unit]);
  return text.data();
}

static std::string shapeText(const ReportedTensor &tensor) {
  std::string text = tensor.name + " " + tensor.dtype + " [";
  for (size_t i = 0; i < tensor.shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(tensor.shape[i]);
  return text + "]";
}

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

/// The modules [begin, end) of one module and all inside it.
struct Subtree {
  size_t begin;
  size_t end;
};

static Subtree subtreeAt(const std::vector<ReportedModule> &modules,
                         size_t begin) {
  size_t end = begin + 1;
  while (end < modules.size() && modules[end].depth > modules[begin].depth)
    ++end;
  return {begin, end};
}

static bool isAlike(const ReportedModule &a, const ReportedModule &b) {
  bool costsAgree =
      a.cost.has_value() == b.cost.has_value() &&
      (!a.cost || (a.cost->flops == b.cost->flops &&
                   a.cost->activationBytes == b.cost->activationBytes));
  return a.type == b.type && a.depth == b.depth &&
         a.parameters == b.parameters && a.bufferBytes == b.bufferBytes &&
         a.dtypes == b.dtypes && costsAgree;
}

static bool isAlike(const std::vector<ReportedModule> &modules, Subtree a,
                    Subtree b) {
  if (a.end - a.begin != b.end - b.begin)
    return false;
  for (size_t i = 0; i < a.end - a.begin; ++i)
    if (!isAlike(modules[a.begin + i], modules[b.begin + i]))
      return false;
  return true;
}

/// The part of a path that its parent does not have.
static std::string lastName(const std::string &path) {
  size_t dot = path.rfind('.');
  return dot == std::string::npos ? path : path.substr(dot + 1);
}

static std::string dtypesOf(const ReportedModule &module) {
  std::string text;
  for (const std::string &dtype : module.dtypes)
    text += (text.empty() ? "" : ", ") + dtype;
  return text;
}

/// At most so many characters.
static std::string cut(const std::string &text, size_t room) {
  return text.size() <= room ? text : text.substr(0, room - 1) + "…";
}

/// Columns that the modules and their types may take in the short form: what
/// the figures of a line leave, of 80 or as many as the terminal has.
static size_t roomForModules(bool hasDtypes) {
  const size_t figures = hasDtypes ? 57 : 43;
  return static_cast<size_t>(terminalColumns()) - figures;
}

/// "k_proj ... v_proj  Linear  x 2", or less of it. What is cut has at least so
/// many characters that one recognizes it.
static std::string shortLabel(const std::string &first, const std::string &last,
                              const std::string &type,
                              const std::string &number, size_t room) {
  constexpr size_t minName = 8, minType = 10;
  const size_t others = type.size() + number.size();
  for (const std::string &name : {first + last, first})
    if (name.size() + others <= room)
      return name + type + number;
  const std::string name =
      cut(first, std::max(minName, room - std::min(room, others)));
  return name +
         cut(type,
             std::max(minType,
                      room - std::min(room, name.size() + number.size()))) +
         number;
}

namespace {
/// The modules as a table. In the short form, neighbours that are alike are one
/// line, and the figures are those of each.
class ModuleTable {
public:
  ModuleTable(const std::vector<ReportedModule> &modules, bool isShort)
      : modules(modules), isShort(isShort) {
    std::set<std::string> different;
    for (const ReportedModule &module : modules)
      if (std::string dtypes = dtypesOf(module); !dtypes.empty())
        different.insert(std::move(dtypes));
    if (different.size() == 1)
      dtype = *different.begin();
  }

  /// Empty where modules have different ones, which then have a column.
  const std::string &dtypeOfAll() const { return dtype; }

  bool hasFolded() const { return isAnyFolded; }

  std::string print() {
    std::vector<std::string> header = {"module", "parameters", "bytes", "FLOPs",
                                       "activations"};
    if (dtype.empty())
      header.emplace_back("dtypes");
    table.add(std::move(header));
    addTree(0, modules.size());
    return table.print();
  }

private:
  void add(const ReportedModule &module, const std::string &name,
           const std::string &last, size_t alike);
  void addTree(size_t begin, size_t end);

  const std::vector<ReportedModule> &modules;
  bool isShort;
  bool isAnyFolded = false;
  std::string dtype;
  Table table;
};
} // namespace

void ModuleTable::add(const ReportedModule &module, const std::string &name,
                      const std::string &last, size_t alike) {
  const std::string indent(static_cast<size_t>(module.depth) * 2, ' ');
  const std::string type = module.type.empty() ? "" : "  " + module.type;
  const std::string number = alike > 1 ? "  x " + std::to_string(alike) : "";
  const size_t room = roomForModules(dtype.empty());
  isAnyFolded |= alike > 1;
  std::vector<std::string> row = {
      indent + (isShort ? shortLabel(name, last, type, number,
                                     room - std::min(room, indent.size()))
                        : name + type),
      countText(module.parameters), printBytes(module.parameterBytes),
      module.cost ? countText(module.cost->flops) : "?",
      module.cost ? printBytes(module.cost->activationBytes) : "?"};
  if (dtype.empty())
    row.push_back(dtypesOf(module));
  table.add(std::move(row));
}

void ModuleTable::addTree(size_t begin, size_t end) {
  for (size_t i = begin; i < end;) {
    Subtree first = subtreeAt(modules, i);
    Subtree next = first;
    size_t alike = 1;
    while (isShort && next.end < end) {
      Subtree candidate = subtreeAt(modules, next.end);
      if (!isAlike(modules, first, candidate))
        break;
      next = candidate;
      ++alike;
    }
    add(modules[i], i == 0 ? "model" : lastName(modules[i].path),
        alike > 1 ? " ... " + lastName(modules[next.begin].path) : "", alike);
    addTree(first.begin + 1, first.end);
    i = next.end;
  }
}

static void printOperators(const ModelReport &report) {
  size_t unsupported = 0;
  std::printf("\n%-52s %6s\n", "operator", "nodes");
  for (const ReportedOperator &op : report.operators) {
    std::printf("%-52s %6lld", op.name.c_str(),
                static_cast<long long>(op.count));
    if (!op.isSupported) {
      ++unsupported;
      std::printf("  not supported; first '%s'%s%s", op.firstNode.c_str(),
                  op.firstModule.empty() ? "" : " in ", op.firstModule.c_str());
    }
    std::printf("\n");
  }
  if (unsupported)
    std::printf("\n%zu of %zu operators are not supported\n", unsupported,
                report.operators.size());
}

static void printText(const ModelReport &report, bool isShort) {
  std::printf("made by    torch %s, schema %s, %s\n",
              report.torchVersion.empty() ? "?" : report.torchVersion.c_str(),
              report.schemaVersion.c_str(),
              report.isTrainingIr ? "training IR"
                                  : "decomposed (torch.no_grad is lost)");
  std::printf("weights    %s\n", report.hasWeights ? "in the file" : "none");
  for (const ReportedTensor &input : report.inputs)
    std::printf("input      %s\n", shapeText(input).c_str());
  for (const ReportedTensor &output : report.outputs)
    std::printf("output     %s\n", shapeText(output).c_str());
  ModuleTable modules(report.modules, isShort);
  if (!modules.dtypeOfAll().empty())
    std::printf("dtype      %s\n", modules.dtypeOfAll().c_str());
  std::printf("\n%sFLOPs and activations are those of forward.\n",
              modules.print().c_str());
  if (modules.hasFolded())
    std::printf("A line with 'x N' stands for N equal modules and shows the "
                "numbers of one.\n");
  printOperators(report);
}

//===----------------------------------------------------------------------===//
// For programs
//===----------------------------------------------------------------------===//

static nlohmann::ordered_json toJson(const std::vector<ReportedTensor> &list) {
  auto json = nlohmann::ordered_json::array();
  for (const ReportedTensor &tensor : list)
    json.push_back({{"name", tensor.name},
                    {"dtype", tensor.dtype},
                    {"shape", tensor.shape}});
  return json;
}

static nlohmann::ordered_json toJson(const ReportedModule &module) {
  nlohmann::ordered_json json = {{"path", module.path},
                                 {"type", module.type},
                                 {"parameters", module.parameters},
                                 {"parameter_bytes", module.parameterBytes},
                                 {"buffer_bytes", module.bufferBytes},
                                 {"dtypes", module.dtypes}};
  if (module.cost) {
    json["flops"] = module.cost->flops;
    json["activation_bytes"] = module.cost->activationBytes;
  }
  return json;
}

static void printJson(const ModelReport &report) {
  nlohmann::ordered_json json = {{"torch_version", report.torchVersion},
                                 {"schema_version", report.schemaVersion},
                                 {"training_ir", report.isTrainingIr},
                                 {"weights", report.hasWeights},
                                 {"translated", report.isTranslated},
                                 {"inputs", toJson(report.inputs)},
                                 {"outputs", toJson(report.outputs)}};
  json["modules"] = nlohmann::ordered_json::array();
  for (const ReportedModule &module : report.modules)
    json["modules"].push_back(toJson(module));
  json["operators"] = nlohmann::ordered_json::array();
  for (const ReportedOperator &op : report.operators)
    json["operators"].push_back({{"name", op.name},
                                 {"nodes", op.count},
                                 {"supported", op.isSupported},
                                 {"first_node", op.firstNode},
                                 {"first_module", op.firstModule}});
  std::cout << json.dump(2) << "\n";
}

int inspectModel(const std::string &path, const InputOptions &options,
                 ReportForm form) {
  ModelReport report;
  if (int code = reportModel(path, options, report))
    return code;
  if (form == ReportForm::Json)
    printJson(report);
  else
    printText(report, form == ReportForm::Short);
  return 0;
}

} // namespace shardc
