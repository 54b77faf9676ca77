//===- KernelLoops.h - Launches as functions ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Writes the functions of a scheduled kernel: one `scf.parallel` over the
// launch's iterations, inside which every stage is a nest of `scf.for` on flat
// memrefs.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_KERNELLOOPS_H
#define SHARDC_PASSES_KERNEL_KERNELLOOPS_H

#include "passes/Kernel/KernelStages.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::kernel {

/// Creates `@name(operands…, %begin: index, %end: index)` in `kernels` for one
/// launch. `tensors` lists the tensors that become operands, in order: inputs,
/// results and scratch, each as a flat memref; `accesses` what the launch does
/// with each. The function's attributes are its signature: `exec.extent` has
/// the iterations of the launch, `exec.threads` those of a block where that is
/// not one, an operand's `exec.access` is the word of an
/// exec::Access, read where there is none.
mlir::func::FuncOp
createLaunchFunction(mlir::ModuleOp kernels, mlir::Location location,
                     llvm::StringRef name, const KernelProblem &problem,
                     const KernelSchedule &schedule, const Launch &launch,
                     llvm::ArrayRef<int> tensors,
                     llvm::ArrayRef<exec::Access> accesses);

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_KERNELLOOPS_H
