//===- LaunchState.cpp - State that a launch is written with --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Counters, and the small computations on indices.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Emission/LaunchState.h"

#include "dialects/Aten/ElementBytes.h"
#include "passes/Kernel/Schedule/ThreadSchedule.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace shardc::kernel {

void LaunchState::beginStage(const ScheduledStage &scheduled) {
  current = &scheduled;
  counters.assign(stage().sizes.size(), Value());
  digits = counters;
  for (auto [loop, counter] :
       llvm::zip_equal(scheduled.launchLoops, launchCounters))
    counters[loop] = counter;
}

ArrayRef<StageAccess> LaunchState::writes() const {
  ArrayRef<StageAccess> accesses = stage().accesses;
  return accesses.drop_while(
      [](const StageAccess &access) { return !access.isWrite; });
}

bool LaunchState::isOfThread(int tensor) const {
  return kernel::isOfThread(schedule, launch, tensor);
}

/// offset + sum of strides[i] * counters[i]; null counters count as 0.
Value LaunchState::elementIndex(int64_t offset, ArrayRef<int64_t> strides,
                                ArrayRef<Value> steps) {
  SmallVector<OpFoldResult> operands;
  AffineExpr sum = builder.getAffineConstantExpr(offset);
  for (auto [stride, counter] : llvm::zip_equal(strides, steps)) {
    if (stride == 0 || !counter)
      continue;
    sum = sum + builder.getAffineDimExpr(operands.size()) * stride;
    operands.push_back(counter);
  }
  return getValueOrCreateConstantIndexOp(
      builder, location,
      affine::makeComposedFoldedAffineApply(
          builder, location, AffineMap::get(operands.size(), 0, sum),
          operands));
}

/// value / divisor and value % divisor, of a power of two.
std::pair<Value, Value> LaunchState::divide(Value value, int64_t divisor) {
  AffineExpr d0 = builder.getAffineDimExpr(0);
  auto apply = [&](AffineExpr expression) -> Value {
    return create<affine::AffineApplyOp>(AffineMap::get(1, 0, expression),
                                         value);
  };
  return {apply(d0.floorDiv(divisor)), apply(d0 % divisor)};
}

Value LaunchState::isLess(Value value, int64_t bound) {
  return create<arith::CmpIOp>(arith::CmpIPredicate::slt, value,
                               constantIndex(bound));
}

Value LaunchState::isZero(Value value) {
  return create<arith::CmpIOp>(arith::CmpIPredicate::eq, value,
                               constantIndex(0));
}

/// What `inside` writes, where `condition` holds, if there is one.
void LaunchState::writeIf(Value condition, function_ref<void()> inside) {
  if (!condition)
    return inside();
  OpBuilder::InsertionGuard guard(builder);
  auto branch = create<scf::IfOp>(condition,
                                  /*withElseRegion=*/false);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  inside();
}

/// A loop of `size` iterations, inside which the builder writes on; returns its
/// counter.
Value LaunchState::writeLoop(int64_t size) {
  auto loop = create<scf::ForOp>(constantIndex(0), constantIndex(size),
                                 constantIndex(1));
  builder.setInsertionPointToStart(loop.getBody());
  return loop.getInductionVar();
}

void LaunchState::countLoop(int loop, Value counter) {
  counters[loop] = digits[loop] = counter;
  if (const int blocked = current->blockedNumber(loop); blocked >= 0)
    counters[loop] = elementIndex(0, {1, 1}, {blockStarts[blocked], counter});
}

Value LaunchState::loopEnd(int loop) {
  const int blocked = current->blockedNumber(loop);
  return blocked < 0 ? constantIndex(stage().sizes[loop]) : blockEnds[blocked];
}

int64_t LaunchState::sharedStride(int64_t elements, Type element) {
  const int64_t each = 16 / getElementBytes(element);
  return launch.groups == 1 ? elements : (elements + each - 1) / each * each;
}

/// Where element `index` of this group's part of shared memory is.
Value LaunchState::inGroup(Value index, int64_t elements, Type element) {
  if (launch.groups == 1)
    return index;
  return elementIndex(0, {1, sharedStride(elements, element)},
                      ArrayRef<Value>{index, group});
}

} // namespace shardc::kernel
