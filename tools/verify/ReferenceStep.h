//===- ReferenceStep.h - The unsharded step in the interpreter ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The training step compiled for one rank up to the differentiate phase, which
// is where sharding, schedules, kernels and memory begin, executed on the
// micro-batches of all ranks. Every rank has its own buffers, as PyTorch's
// ranks do; parameters are whole.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_VERIFY_REFERENCESTEP_H
#define SHARDC_TOOLS_VERIFY_REFERENCESTEP_H

#include "tools/verify/StepInputs.h"

#include <map>

namespace shardc::verify {

/// What one execution gives, by what it is: "loss" of each rank, "gradient
/// fc.weight" of all ranks together (rank -1), "buffer bn.running_mean" of each
/// rank. Order is that of the comparison.
struct Observed {
  std::string what;
  int64_t rank = -1;
  std::vector<double> values;
  /// Of the dtype it is kept in; 0 for integers.
  double unitRoundoff = 0;
  /// Of a narrower dtype that its terms are rounded to, or 0.
  double narrowRoundoff = 0;
};

/// Whether some number of a step, or its square, which norms and scores compute
/// on the way, is beyond f32.
bool hasDiverged(llvm::ArrayRef<Observed> tensors);

class ReferenceStep {
public:
  /// `module` has passed the differentiate phase for one rank, and outlives the
  /// object.
  ReferenceStep(mlir::ModuleOp module, int64_t ranks, int64_t microBatches,
                double learningRate, uint64_t seed);

  /// The state that a step starts from.
  reference::ShardedState &getState() { return interpreter.getState(); }

  /// Forward and backward of every micro-batch, from the present state, which
  /// is left as it was. Fails after a diagnostic.
  llvm::FailureOr<std::vector<Observed>>
  accumulate(const StepInputs &inputs,
             std::optional<reference::Perturbation> perturbation);

  /// The losses of an evaluation of every micro-batch. The module has one.
  llvm::FailureOr<std::vector<Observed>>
  evaluate(const StepInputs &inputs,
           std::optional<reference::Perturbation> perturbation);

  /// The optimizer's step on the state's gradients. Fails after a diagnostic.
  llvm::LogicalResult update();

  /// Parameters that the optimizer steps by whole matrices, whose sums have no
  /// order of their own; in the order of groups.
  llvm::ArrayRef<std::string> getMatrices() const { return matrices; }

  /// The parameters `getMatrices()` after a step from the present state, which
  /// is left as it was. Fails after a diagnostic.
  llvm::FailureOr<std::vector<Observed>>
  updateMatrices(std::optional<reference::Perturbation> perturbation);

private:
  using Run = llvm::function_ref<llvm::FailureOr<reference::Execution>(
      llvm::ArrayRef<reference::RankTensors>)>;
  llvm::FailureOr<std::vector<Observed>>
  sumLosses(const StepInputs &inputs, llvm::StringRef name, Run run);

  reference::Interpreter interpreter;
  int64_t ranks;
  std::vector<std::string> matrices;
};

} // namespace shardc::verify

#endif // SHARDC_TOOLS_VERIFY_REFERENCESTEP_H
