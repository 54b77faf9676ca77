//===- Planning.cpp - From an export to plans -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// All phases but the last, which makes machine code, on copies of the model.
//===----------------------------------------------------------------------===//

#include "compiler/Planning.h"

#include "compiler/Artifact/ArtifactBuilder.h"
#include "compiler/Diagnostics.h"
#include "compiler/ModelInput.h"
#include "compiler/Pipelines.h"

using namespace mlir;

namespace shardc {

struct PlanCompiler::State {
  State() : diagnostics(context) {}

  MLIRContext context;
  DiagnosticPrinter diagnostics;
  std::optional<ModelInput> model;

  std::optional<format::Artifact> compile(Options options,
                                          const format::Machine &machine) {
    options.target = machine.target;
    OwningOpRef<ModuleOp> module = model->module->clone();
    if (failed(runPhases(*module, options, /*last=*/"memory")))
      return std::nullopt;
    return buildArtifact(*module, options);
  }
};

PlanCompiler::PlanCompiler() : state(std::make_unique<State>()) {}
PlanCompiler::~PlanCompiler() = default;

int PlanCompiler::read(const std::string &input, const Options &options) {
  enableRemarks(state->context, options.remarks);
  state->model = readModel(input, options.input, /*keepOutputs=*/false,
                           state->context, state->diagnostics);
  return state->model
             ? 0
             : exitCodeOr(state->diagnostics, exitCode(ErrorCode::E0108));
}

int PlanCompiler::compile(const Options &options,
                          const format::Machine &machine,
                          format::Artifact &artifact) {
  std::optional<format::Artifact> compiled = state->compile(options, machine);
  if (!compiled)
    return exitCodeOr(state->diagnostics, 70);
  artifact = std::move(*compiled);
  return 0;
}

std::optional<format::Artifact>
PlanCompiler::tryToCompile(const Options &options,
                           const format::Machine &machine) {
  ScopedDiagnosticHandler silence(&state->context,
                                  [](Diagnostic &) { return success(); });
  state->context.setRemarkEngine(nullptr);
  return state->compile(options, machine);
}

} // namespace shardc
