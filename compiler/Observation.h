//===- Observation.h - What a program computes ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The numbers that some steps of training leave, by name and in order, for two
// programs that should compute the same.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_OBSERVATION_H
#define SHARDC_COMPILER_OBSERVATION_H

#include "dialects/Reference/ProgramExecution.h"

#include <map>

namespace shardc {

/// By name ("loss of step 1", "gradient fc.weight of step 2"), one tensor a
/// rank or one for all.
using Observation = std::map<std::string, reference::RankTensors>;

/// Some training steps on drawn data.
struct ObservedRun {
  uint64_t seed = 1;
  int64_t steps = 1;
};

/// The runs that programs are compared in: three steps, so that what a step
/// leaves behind is read, and other data.
llvm::ArrayRef<ObservedRun> observedRuns();

/// The module of the one function in `op`, or around it; null where the program
/// is commands, or not there yet.
mlir::ModuleOp findTensorProgram(mlir::Operation *op);

/// Executes the tensor program of `module` in all runs.
llvm::FailureOr<Observation> observeTensors(mlir::ModuleOp module,
                                            int64_t ranks);

/// Executes the commands of `module`, which keeps its kernels, in all runs;
/// streams run in an order drawn from `order`.
llvm::FailureOr<Observation> observeCommands(mlir::ModuleOp module,
                                             std::optional<uint64_t> order);

/// The sum of gradients times `directions`, and the difference quotient of the
/// summed losses along them, of a program with gradients.
struct DirectionalDerivative {
  double fromGradients = 0;
  double fromLosses = 0;
  /// The sum of magnitudes in `fromGradients`, and of the losses.
  double magnitude = 0;
  double loss = 0;
};
llvm::FailureOr<DirectionalDerivative>
differentiateNumerically(mlir::ModuleOp module, int64_t ranks, uint64_t seed);

} // namespace shardc

#endif // SHARDC_COMPILER_OBSERVATION_H
