//===- KernelLoops.h - Launches as functions ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Writes the functions of a scheduled kernel: one `scf.parallel` over the
// launch's iterations, inside which every stage is a nest of `scf.for` on flat
// memrefs. On a GPU the iteration is that of the thread's group.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_EMISSION_KERNELLOOPS_H
#define SHARDC_PASSES_KERNEL_EMISSION_KERNELLOOPS_H

#include "passes/Kernel/Emission/KernelStages.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::kernel {

/// Creates `@name(operands…, %begin: index, %end: index)` in `kernels` for one
/// launch; without the range where launches have blocks. `tensors` lists the
/// tensors that become operands, in order: inputs, results and scratch, each as
/// a flat memref; `accesses` what the launch does with each. The function's
/// attributes are its signature: `exec.extent` has the iterations of the
/// launch, or its blocks, `exec.threads` the threads of a block, an operand's
/// `exec.access` is the word of an exec::Access, read where there is none, and
/// its `exec.alignment` the bytes that its address is a multiple of, where that
/// is more than an element.
mlir::func::FuncOp
createLaunchFunction(mlir::ModuleOp kernels, mlir::Location location,
                     llvm::StringRef name, const KernelProblem &problem,
                     const KernelSchedule &schedule, const Launch &launch,
                     llvm::ArrayRef<int> tensors,
                     llvm::ArrayRef<exec::Access> accesses);

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_EMISSION_KERNELLOOPS_H
