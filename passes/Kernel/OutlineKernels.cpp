//===- OutlineKernels.cpp - Kernels get their functions -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   exec.kernel "relu" (%x) {…}  ->  module @kernels {
//                                      func.func @kernel_relu(%x, %y, %begin,
//                                                             %end) {…} }
//
// Inputs have the layouts that their values have, results are row-major.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Passes.h"

#include "dialects/Exec/Layout.h"
#include "passes/Kernel/KernelOutliner.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#define DEBUG_TYPE "shardc-outline-kernels"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "passes/Kernel/Passes.h.inc"

namespace {
struct OutlineKernelsPass : impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  using impl::OutlineKernelsPassBase<
      OutlineKernelsPass>::OutlineKernelsPassBase;
  void runOnOperation() override;
};
} // namespace

static SmallVector<MemRefType> layoutsOf(exec::KernelOp kernel) {
  SmallVector<Value> tensors(kernel.getInputs());
  llvm::append_range(tensors, kernel.getResults());
  return llvm::map_to_vector(tensors, [](Value tensor) {
    auto type = cast<RankedTensorType>(tensor.getType());
    return MemRefType::get(
        type.getShape(), type.getElementType(),
        StridedLayoutAttr::get(type.getContext(), 0, exec::getStrides(tensor)));
  });
}

void OutlineKernelsPass::runOnOperation() {
  OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
  auto kernels = ModuleOp::create(builder, getOperation().getLoc(), "kernels");
  kernel::LoopPreferences preferences;
  preferences.pointwiseBlock = pointwiseBlock;
  preferences.reductionBlock = reductionBlock;
  kernel::KernelOutliner outliner(kernels, preferences);
  WalkResult result = getOperation().walk([&](exec::KernelOp kernel) {
    return WalkResult(outliner.outline(kernel, layoutsOf(kernel)));
  });
  if (result.wasInterrupted())
    signalPassFailure();
}

} // namespace shardc
