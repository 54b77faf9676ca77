//===- RandomTensors.h - Data for programs without any --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A program without weights or inputs can still be executed, and two programs
// compared, on numbers that are drawn from a seed: the same ones for the same
// names, whatever the program's phase.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_REFERENCE_RANDOMTENSORS_H
#define SHARDC_DIALECTS_REFERENCE_RANDOMTENSORS_H

#include "dialects/Exec/Exec.h"
#include "dialects/Reference/Interpreter.h"

namespace shardc::reference {

/// Gives every parameter numbers in [-1, 1) over the root of its last
/// dimension, so that activations keep their size, and every buffer numbers in
/// [0.5, 1.5): variances are positive.
void setRandomState(ShardedState &state, uint64_t seed);

/// One tensor an argument of `function` and a rank. Floats lie in [-1, 1);
/// integers below the argument's `shardc.upper_bound`, or are 0 and 1 without
/// one.
llvm::SmallVector<RankTensors> randomInputs(mlir::func::FuncOp function,
                                            int64_t ranks, uint64_t seed);

/// The same for the inputs of a program of commands.
llvm::SmallVector<RankTensors>
randomInputs(llvm::ArrayRef<exec::InputOp> inputs, int64_t ranks,
             uint64_t seed);

} // namespace shardc::reference

#endif // SHARDC_DIALECTS_REFERENCE_RANDOMTENSORS_H
