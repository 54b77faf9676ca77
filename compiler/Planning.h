//===- Planning.h - From an export to plans -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compiles steps up to their commands and places in memory, which needs neither
// weights nor a GPU: what plans are made of. The model is read once for any
// number of them, as long as its sizes stay.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PLANNING_H
#define SHARDC_COMPILER_PLANNING_H

#include "compiler/Options.h"
#include "compiler/Plan/PlanReport.h"
#include "compiler/Plan/StepGraphBuilder.h"
#include "runtime/format/Artifact.h"
#include "runtime/format/Machine.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardc {

struct PlannedStep {
  /// Without machine code and weights.
  format::Artifact artifact;
  /// Floating-point operations of the products, convolutions and attention of a
  /// micro-batch on one rank, whether libraries or kernels compute them.
  double operations = 0;
  std::vector<PlannedUnit> units;
  /// Modules that backward computes again, by path: a word of --recompute.
  std::map<std::string, std::string> recomputed;
  /// Of a short step: what was taken out.
  RepeatedGroups repeated;
  /// Modules whose parameters are in the root's group.
  std::vector<std::string> rootModules;
  /// Options::runtime.
  std::string runtime;
  /// Of a micro-batch, where --micro-batch says it; else the inputs do.
  std::optional<int64_t> samples;
};

/// The report of a step of `microBatches`.
PlanReport reportStep(const PlannedStep &step, const format::Machine &machine,
                      int64_t microBatches);

class PlanCompiler {
public:
  PlanCompiler();
  ~PlanCompiler();

  /// Reads the model at `input`. Prints an error and returns its exit code when
  /// that is not possible; 0 otherwise. Of a model whose graph cannot be
  /// translated it says what a rank keeps between steps.
  int read(const std::string &input, const Options &options);

  /// Compiles the model for ranks of `machine`, whose kind of processor takes
  /// the place of the options' target. Prints what is wrong and returns its
  /// exit code; 0 otherwise.
  int compile(const Options &options, const format::Machine &machine,
              PlannedStep &step);

  /// The same without a word, and no remarks from then on; what is wrong is
  /// what it fails with.
  StatusOr<PlannedStep> tryToCompile(const Options &options,
                                     const format::Machine &machine);

  /// The same of a step with few layers that stand for all of a row of equal
  /// ones (RepeatedLayers.h), which is to be measured, not run.
  StatusOr<PlannedStep> tryToCompileShort(const Options &options,
                                          const format::Machine &machine);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace shardc

#endif // SHARDC_COMPILER_PLANNING_H
