//===- KernelLowering.h - Kernel functions in the llvm dialect ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What all targets share on the way from loops on memrefs to LLVM: elementary
// functions and bf16 conversions become arithmetic, index expressions become
// integers.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_TARGET_KERNELLOWERING_H
#define SHARDC_PASSES_TARGET_KERNELLOWERING_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace shardc::target {

/// Expands elementary functions of f32 (KernelMath.h) in `kernels`.
void expandKernelMath(mlir::Operation *kernels);

/// Moves allocas to the start of their function: in the loop that they were
/// written in they would take new stack in every iteration.
void hoistAllocas(mlir::Operation *kernels);

/// Appends the passes that leave `scf`, `memref`, `arith`, `math` and `func`
/// only: bf16 conversions in integer arithmetic, affine expressions expanded.
void addArithmeticLowering(mlir::OpPassManager &passes);

/// Turns functions on flat memrefs into functions on bare pointers in the
/// `llvm` dialect, to run on a processor: parallel loops become serial.
llvm::LogicalResult lowerKernelsToLlvm(mlir::ModuleOp kernels);

} // namespace shardc::target

#endif // SHARDC_PASSES_TARGET_KERNELLOWERING_H
