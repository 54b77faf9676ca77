//===- OutlineKernels.cpp - Kernels get their functions -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   exec.run "relu" (%x) -> (%y) {…}
//   ->  exec.launch @kernel_relu "relu" extent 4 (%x, write %y)
//       module @kernels { func.func @kernel_relu(%x, %y, %begin, %end) {…} }
//
// What passes from one launch to the next is a buffer of the program.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Passes.h"

#include "dialects/Exec/Layout.h"
#include "dialects/Exec/Memory.h"
#include "passes/Kernel/Emission/KernelOutliner.h"
#include "passes/Kernel/Models/ImageOrder.h"
#include "passes/Kernel/TargetOf.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#define DEBUG_TYPE "shardc-outline-kernels"

#include <numeric>

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

/// Pairs of an input and an output that are the same memory.
static SmallVector<kernel::SharedStorage> findShared(exec::RunOp run) {
  SmallVector<kernel::SharedStorage> shared;
  for (auto [i, output] : llvm::enumerate(run.getOutputs()))
    for (auto [j, input] : llvm::enumerate(run.getInputs()))
      if (input == output) {
        shared.push_back({static_cast<unsigned>(j), static_cast<unsigned>(i)});
        break;
      }
  return shared;
}

static LogicalResult verifySharing(exec::RunOp run,
                                   ArrayRef<kernel::SharedStorage> shared) {
  if (shared.empty())
    return success();
  SmallVector<kernel::SharedStorage> shareable =
      kernel::getShareableStorage(run);
  for (const kernel::SharedStorage &pair : shared)
    if (!llvm::is_contained(shareable, pair))
      return run.emitError("expected input ")
             << pair.first << " to be complete before output " << pair.second
             << " is written over it";
  return success();
}

/// States, inputs and buffers begin at multiples of more than a vector, in
/// bytes.
static constexpr int64_t alignmentOfWholes = 64;

/// What the addresses of the operands of `run` are multiples of, in bytes, on
/// every rank.
static SmallVector<int64_t> alignmentsOf(exec::RunOp run) {
  SmallVector<Value> memory(run.getInputs());
  llvm::append_range(memory, run.getOutputs());
  return llvm::map_to_vector(memory, [](Value value) {
    exec::Place place = exec::getPlace(value);
    if (place.whole.getDefiningOp<exec::ScalarOp>())
      return int64_t(1);
    int64_t element =
        getElementBytes(cast<MemRefType>(value.getType()).getElementType());
    int64_t alignment = std::gcd(alignmentOfWholes, place.offset * element);
    for (const exec::AxisStride &axis : place.strides)
      alignment = std::gcd(alignment, axis.stride * element);
    return alignment;
  });
}

/// Puts launches in the place of `run`; with `keepKernels` after an
/// `exec.compute`.
static LogicalResult outline(exec::RunOp run, kernel::KernelOutliner &outliner,
                             bool keepKernels) {
  SmallVector<Value> memory(run.getInputs());
  llvm::append_range(memory, run.getOutputs());
  SmallVector<MemRefType> layouts = llvm::map_to_vector(
      memory, [](Value value) { return cast<MemRefType>(value.getType()); });
  SmallVector<kernel::SharedStorage> shared = findShared(run);
  if (failed(verifySharing(run, shared)))
    return failure();
  FailureOr<kernel::KernelFunction> function =
      outliner.outline(run, layouts, shared, alignmentsOf(run));
  if (failed(function))
    return failure();
  OpBuilder builder(run);
  Location location = run.getLoc();
  SmallVector<Value> scratch;
  for (MemRefType type : function->scratch)
    scratch.push_back(
        exec::BufferOp::create(builder, location, type, IntegerAttr()));
  if (keepKernels) {
    auto compute = exec::ComputeOp::create(builder, location, run.getLabel(),
                                           function->launches.size(),
                                           run.getInputs(), run.getOutputs());
    compute.getBody().takeBody(run.getBody());
  }
  for (const kernel::KernelLaunch &launch : function->launches) {
    SmallVector<Value> arguments;
    SmallVector<int32_t> accesses;
    for (const kernel::KernelOperand &operand : launch.operands) {
      using Kind = kernel::KernelOperand::Kind;
      arguments.push_back(
          operand.kind == Kind::Input    ? run.getInputs()[operand.index]
          : operand.kind == Kind::Result ? run.getOutputs()[operand.index]
                                         : scratch[operand.index]);
      accesses.push_back(static_cast<int32_t>(operand.access));
    }
    exec::createCommand<exec::LaunchOp>(builder, location, run.getStream(),
                                        launch.symbol, run.getLabel(),
                                        launch.extent, arguments, accesses);
  }
  run.erase();
  return success();
}

void OutlineKernelsPass::runOnOperation() {
  const Target *target = targetOf(getOperation());
  if (!target)
    return signalPassFailure();
  OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
  auto kernels = ModuleOp::create(builder, getOperation().getLoc(), "kernels");
  kernel::LoopPreferences preferences = kernel::preferencesOf(*target);
  if (pointwiseBlock)
    preferences.pointwiseBlock = pointwiseBlock;
  kernel::KernelOutliner outliner(kernels, preferences);
  WalkResult result = getOperation().walk([&](Operation *op) {
    if (auto run = dyn_cast<exec::RunOp>(op))
      return WalkResult(outline(run, outliner, keepKernels));
    if (auto kernel = dyn_cast<exec::KernelOp>(op))
      return WalkResult(outliner.outline(
          kernel, kernel::getLayouts(kernel), /*shared=*/{},
          SmallVector<int64_t>(kernel.getNumOperands() + kernel.getNumResults(),
                               alignmentOfWholes)));
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    signalPassFailure();
}

} // namespace shardc
