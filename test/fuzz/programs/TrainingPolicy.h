//===- TrainingPolicy.h - How a random program is trained -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The options of the compiler and of the run, drawn from a seed, and their
// spelling as a command line, by which a failure is repeated.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_FUZZ_PROGRAMS_TRAININGPOLICY_H
#define SHARDC_TEST_FUZZ_PROGRAMS_TRAININGPOLICY_H

#include "compiler/Options.h"
#include "test/fuzz/programs/RandomSource.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace shardc::fuzz {

/// The check that needs another compilation, if any.
enum class FurtherCheck : int { none, fusion, ranks };

struct TrainingPolicy {
  Options options;
  int64_t microBatches = 1;
  int64_t steps = 1;
  int threads = 1;
  double learningRate = 0.01;
  /// Seeds parameters, buffers and inputs.
  uint64_t dataSeed = 1;
  FurtherCheck further = FurtherCheck::none;
};

/// A policy for `program`, which wraps modules that it has and compiles for a
/// processor that this machine can be.
TrainingPolicy randomPolicy(mlir::ModuleOp program, RandomSource &random);

/// Whether `program` has no operator that is a library call of processors
/// alone.
bool runsOnGpus(mlir::ModuleOp program);

/// Compiles for `target`, cpu or cuda; a GPU's threads are emulated.
void setTarget(TrainingPolicy &policy, llvm::StringRef target);

/// "--world-size 2 --wrap blocks … --micro-batches 2 --steps 1": the options
/// that are not the defaults, of `shardc compile` and, as far as it has them,
/// of `shardrun`.
std::string describe(const TrainingPolicy &policy);

/// The policy that `describe` says. Fails for anything else.
llvm::FailureOr<TrainingPolicy> parsePolicy(llvm::StringRef text);

} // namespace shardc::fuzz

#endif // SHARDC_TEST_FUZZ_PROGRAMS_TRAININGPOLICY_H
