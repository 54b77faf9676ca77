//===- ExportBuilder.cpp - Small exports for tests ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Builds the structs of compiler/Pt2/ExportedProgram.h and runs translations.
//===----------------------------------------------------------------------===//

#include "test/unit/compiler/Translation/ExportBuilder.h"

#include "compiler/Translation/TranslateExportedProgram.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Import/Passes.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace mlir;

namespace shardc::translation {

//===----------------------------------------------------------------------===//
// Translating
//===----------------------------------------------------------------------===//

static const char *severityName(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return "note";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  return "";
}

static LogicalResult runImportPhase(ModuleOp module) {
  PassManager manager(module->getName());
  manager.addNestedPass<func::FuncOp>(createFoldConstantsPass());
  manager.addNestedPass<func::FuncOp>(createBuildModuleTreePass());
  manager.addPass(createVerifyImportedPass());
  return manager.run(module);
}

Outcome translate(const pt2::ExportedModel &model, bool import) {
  MLIRContext context;
  Outcome outcome;
  ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) {
    auto add = [&](Diagnostic &entry) {
      outcome.diagnostics += severityName(entry.getSeverity());
      outcome.diagnostics += ": " + entry.str() + "\n";
    };
    add(diagnostic);
    for (Diagnostic &note : diagnostic.getNotes())
      add(note);
    return success();
  });
  FailureOr<OwningOpRef<ModuleOp>> module =
      translateExportedProgram(model, "model", context);
  outcome.succeeded =
      succeeded(module) && (!import || succeeded(runImportPhase(**module)));
  if (outcome.succeeded) {
    llvm::raw_string_ostream stream(outcome.module);
    (*module)->print(stream);
  }
  return outcome;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

static pt2::SymInt literal(int64_t value) {
  pt2::SymInt size;
  size.value = value;
  return size;
}

void ExportBuilder::addTensor(const Result &result, bool requiresGrad) {
  pt2::TensorMeta meta;
  meta.dtype = result.dtype;
  meta.requiresGrad = requiresGrad;
  int64_t stride = 1;
  for (size_t i = result.sizes.size(); i-- > 0;) {
    meta.sizes.insert(meta.sizes.begin(), literal(result.sizes[i]));
    meta.strides.insert(meta.strides.begin(), literal(stride));
    stride *= result.sizes[i];
  }
  model.program.graph.tensorValues[result.name] = meta;
}

void ExportBuilder::addPlaceholder(pt2::InputKind kind,
                                   const std::string &placeholder,
                                   const std::string &target,
                                   const Sizes &sizes, pt2::ScalarType dtype) {
  addTensor({placeholder, sizes, dtype}, kind == pt2::InputKind::Parameter);
  pt2::InputSpec spec;
  spec.kind = kind;
  spec.name = placeholder;
  spec.target = target;
  spec.argument = tensor(placeholder);
  model.program.signature.inputs.push_back(spec);
  model.program.graph.inputs.push_back(tensor(placeholder));
  model.program.verifiers = {"TRAINING"};
}

static std::string placeholderName(const char *prefix, std::string name) {
  std::replace(name.begin(), name.end(), '.', '_');
  return prefix + name;
}

ExportBuilder &ExportBuilder::input(const std::string &name, const Sizes &sizes,
                                    pt2::ScalarType dtype) {
  addPlaceholder(pt2::InputKind::UserInput, name, "", sizes, dtype);
  return *this;
}

ExportBuilder &ExportBuilder::parameter(const std::string &name,
                                        const Sizes &sizes,
                                        pt2::ScalarType dtype) {
  addPlaceholder(pt2::InputKind::Parameter, placeholderName("p_", name), name,
                 sizes, dtype);
  return *this;
}

ExportBuilder &ExportBuilder::buffer(const std::string &name,
                                     const Sizes &sizes,
                                     pt2::ScalarType dtype) {
  addPlaceholder(pt2::InputKind::Buffer, placeholderName("b_", name), name,
                 sizes, dtype);
  return *this;
}

ExportBuilder &ExportBuilder::constant(const std::string &name,
                                       const Sizes &sizes,
                                       pt2::ScalarType dtype) {
  addPlaceholder(pt2::InputKind::TensorConstant, placeholderName("c_", name),
                 name, sizes, dtype);
  return *this;
}

/// The frames of the modules "a", "a.b", … on the way to `path`.
static std::vector<pt2::ModuleFrame> moduleStack(const std::string &path) {
  std::vector<pt2::ModuleFrame> frames = {{"", 0, "__main__.Model"}};
  for (size_t end = 0; !path.empty() && end != std::string::npos;) {
    end = path.find('.', end + 1);
    frames.push_back({path.substr(0, end), 0, "__main__.Part"});
  }
  return frames;
}

ExportBuilder &ExportBuilder::node(
    const std::string &target,
    const std::vector<std::pair<std::string, pt2::Argument>> &inputs,
    const std::vector<Result> &results, const std::string &path, bool isList) {
  pt2::Node node;
  node.target = "torch.ops." + target;
  node.name = results.empty() ? target : results.front().name;
  node.moduleStack = moduleStack(path);
  for (const auto &[name, value] : inputs)
    node.inputs.push_back({name, value, pt2::ArgumentKind::Positional});
  pt2::TensorList list;
  for (const Result &result : results) {
    addTensor(result);
    list.push_back({result.name});
    if (!isList)
      node.outputs.push_back(tensor(result.name));
  }
  if (isList)
    node.outputs.push_back(argument(list));
  model.program.graph.nodes.push_back(std::move(node));
  return *this;
}

ExportBuilder &ExportBuilder::output(const std::string &name) {
  pt2::OutputSpec spec;
  spec.kind = pt2::OutputKind::UserOutput;
  spec.argument = tensor(name);
  model.program.signature.outputs.push_back(spec);
  model.program.graph.outputs.push_back(tensor(name));
  return *this;
}

ExportBuilder &ExportBuilder::sumOutput(const std::string &name) {
  node("aten.sum.default", {{"self", tensor(name)}}, {{"loss", {}}});
  return output("loss");
}

std::string ExportBuilder::translate() const {
  Outcome outcome = translation::translate(model);
  return outcome.succeeded ? outcome.module : outcome.diagnostics;
}

std::string ExportBuilder::diagnostics() const {
  Outcome outcome = translation::translate(model);
  return (outcome.succeeded ? "succeeded\n" : "") + outcome.diagnostics;
}

} // namespace shardc::translation
