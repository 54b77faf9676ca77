//===- ReferenceTraining.h - what a program should compute ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Trains a program in the reference interpreter, on as many simulated ranks as
// there are ranks times micro-batches, so that every slice of the data has a
// rank of its own.
//
// How far a correct execution may be from it is measured, not guessed: Monte
// Carlo arithmetic (Parker, 1997) runs the program again with every value moved
// by some units in the last place, at random. What moves then is what rounding
// may decide: sums that cancel, the sign of a gradient that is zero but for
// rounding, the larger of two numbers that are nearly equal.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_FUZZ_PROGRAMS_REFERENCETRAINING_H
#define SHARDC_TEST_FUZZ_PROGRAMS_REFERENCETRAINING_H

#include "test/fuzz/programs/ProgramTraining.h"
#include "test/fuzz/programs/TrainingPolicy.h"

#include "mlir/IR/OwningOpRef.h"

#include <optional>

namespace shardc::fuzz {

/// Numbers by name, as in Observations: "loss 1", "parameter w", "buffer b of
/// rank 0".
using ReferenceNumbers = std::map<std::string, std::vector<double>>;

class ReferenceTraining {
public:
  /// Prepares `program`. Fails after an error.
  static llvm::FailureOr<std::unique_ptr<ReferenceTraining>>
  create(mlir::ModuleOp program, const TrainingPolicy &policy);

  /// Parameters, buffers and inputs, drawn from the policy's seed.
  ProgramData drawData() const;

  /// What the program computes; fails after an error.
  llvm::FailureOr<ReferenceNumbers> train() const;

  /// The first difference of `actual` from `expected`, this program's numbers,
  /// that rounding does not explain, in words; empty without one.
  llvm::FailureOr<std::string> compare(const Observations &actual,
                                       const ReferenceNumbers &expected) const;

private:
  ReferenceTraining(mlir::OwningOpRef<mlir::ModuleOp> step,
                    const TrainingPolicy &policy)
      : step(std::move(step)), policy(policy) {}

  mlir::OwningOpRef<mlir::ModuleOp> step;
  TrainingPolicy policy;

  int64_t slices() const {
    return policy.options.worldSize * policy.microBatches;
  }
  llvm::FailureOr<ReferenceNumbers> train(mlir::ModuleOp module) const;
};

} // namespace shardc::fuzz

#endif // SHARDC_TEST_FUZZ_PROGRAMS_REFERENCETRAINING_H
