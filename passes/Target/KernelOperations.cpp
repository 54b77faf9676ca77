//===- KernelOperations.cpp - What kernels of a GPU compute ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Counts on a copy whose elementary functions are expanded, so that exp costs
// what it will cost.
//===----------------------------------------------------------------------===//

#include "passes/Target/KernelOperations.h"

#include "passes/Target/KernelLowering.h"

#include "mlir/Dialect/Affine/Analysis/LoopAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <algorithm>

using namespace mlir;

namespace shardc::target {

static OperationCount countIn(Region &region);

static bool isFloat(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

static bool isF64(Type type) { return getElementTypeOrSelf(type).isF64(); }

static int64_t elementsOf(Operation &op) {
  auto vector = op.getNumResults() == 1
                    ? dyn_cast<VectorType>(op.getResult(0).getType())
                    : nullptr;
  return vector ? vector.getNumElements() : 1;
}

/// What an operation without regions computes.
static OperationCount countAlone(Operation &op) {
  if (!isa<arith::ArithDialect, math::MathDialect>(op.getDialect()) ||
      isa<arith::ConstantOp, arith::SelectOp, arith::BitcastOp>(op))
    return {};
  const bool hasF64 = llvm::any_of(op.getOperandTypes(), isF64) ||
                      llvm::any_of(op.getResultTypes(), isF64);
  const bool hasFloat = llvm::any_of(op.getOperandTypes(), isFloat) ||
                        llvm::any_of(op.getResultTypes(), isFloat);
  const int64_t count = elementsOf(op) * (isa<math::FmaOp>(op) ? 2 : 1);
  if (hasF64)
    return {0, count};
  // Between f32 and bf16 a conversion is integer arithmetic.
  if (!hasFloat || isa<arith::ExtFOp, arith::TruncFOp>(op))
    return {};
  return {count, 0};
}

/// Of a loop over all of its extent, or a vector's worth at a time.
static int64_t iterationsOf(affine::AffineForOp loop) {
  return static_cast<int64_t>(affine::getConstantTripCount(loop).value_or(1));
}

static int64_t iterationsOf(scf::ForOp loop) {
  const std::optional<int64_t> lower =
      getConstantIntValue(loop.getLowerBound());
  const std::optional<int64_t> upper =
      getConstantIntValue(loop.getUpperBound());
  const std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (!lower || !upper || !step)
    return 1;
  return std::max<int64_t>(0, llvm::divideCeilSigned(*upper - *lower, *step));
}

static OperationCount countLoop(Region &body, int64_t iterations) {
  const OperationCount once = countIn(body);
  return {iterations * once.f32, iterations * once.f64};
}

static OperationCount countOf(Operation &op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return countLoop(loop.getRegion(), iterationsOf(loop));
  if (auto loop = dyn_cast<affine::AffineForOp>(op))
    return countLoop(loop.getRegion(), iterationsOf(loop));
  if (isa<scf::IfOp, affine::AffineIfOp>(op)) {
    const OperationCount first = countIn(op.getRegion(0));
    const OperationCount second = countIn(op.getRegion(1));
    return {std::max(first.f32, second.f32), std::max(first.f64, second.f64)};
  }
  OperationCount count = countAlone(op);
  for (Region &region : op.getRegions()) {
    const OperationCount inner = countIn(region);
    count.f32 += inner.f32;
    count.f64 += inner.f64;
  }
  return count;
}

static OperationCount countIn(Region &region) {
  OperationCount count;
  for (Block &block : region)
    for (Operation &op : block) {
      const OperationCount each = countOf(op);
      count.f32 += each.f32;
      count.f64 += each.f64;
    }
  return count;
}

llvm::StringMap<OperationCount> countOperations(ModuleOp kernels) {
  OwningOpRef<ModuleOp> copy = kernels.clone();
  expandKernelMath(*copy);
  llvm::StringMap<OperationCount> counts;
  for (auto kernel : copy->getOps<func::FuncOp>()) {
    const OperationCount ofThread = countIn(kernel.getBody());
    auto threads = kernel->getAttrOfType<IntegerAttr>("exec.threads");
    const int64_t count = threads ? threads.getInt() : 1;
    counts[kernel.getName()] = {count * ofThread.f32, count * ofThread.f64};
  }
  return counts;
}

} // namespace shardc::target
