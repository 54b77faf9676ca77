//===- ThreadShares.cpp - The iterations that a thread takes --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Counters of each step, and loops over them.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Emission/ThreadShares.h"

#include "passes/Kernel/Schedule/ThreadSchedule.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace shardc::kernel {

ThreadShare ThreadShares::makeShare(ArrayRef<int> loops, int64_t threads,
                                    Value thread, int64_t vector) {
  ThreadShare share{loops, threads, thread, vector};
  for (int loop : loops)
    share.iterations *=
        iterationsWithin(state.launch, *state.current, state.stage(), loop);
  const int64_t together = threads * vector;
  share.steps = (share.iterations + together - 1) / together;
  return share;
}

/// Sets the counters of step `step` to the first of its iterations, and returns
/// whether they exist; null where they always do, and for a whole step.
Value ThreadShares::beginStep(const ThreadShare &share, Value step,
                              bool isWhole) {
  AffineExpr d0 = state.builder.getAffineDimExpr(0),
             d1 = state.builder.getAffineDimExpr(1);
  Value first = affine::makeComposedAffineApply(
      state.builder, state.location,
      AffineMap::get(2, 0, (d0 * share.threads + d1) * share.vector),
      ArrayRef<OpFoldResult>{step, share.thread});
  SmallVector<int64_t> sizes;
  for (int loop : share.loops)
    sizes.push_back(
        iterationsWithin(state.launch, *state.current, state.stage(), loop));
  SmallVector<Value> digits = {first};
  if (sizes.size() > 1)
    digits = llvm::to_vector_of<Value>(
        state.create<affine::AffineDelinearizeIndexOp>(first, sizes)
            .getResults());
  Value exists;
  if (!isWhole && share.iterations % (share.threads * share.vector) != 0)
    exists = state.isLess(first, share.iterations);
  for (auto [loop, digit] : llvm::zip(share.loops, digits)) {
    state.countLoop(loop, digit);
    const int blocked = state.current->blockedNumber(loop);
    if (isWhole || blocked < 0 || state.launch.blocked[blocked].isEven())
      continue;
    Value inside = state.create<arith::CmpIOp>(arith::CmpIPredicate::slt, digit,
                                               state.blockEnds[blocked]);
    exists = exists ? state.create<arith::AndIOp>(exists, inside).getResult()
                    : inside;
  }
  return exists;
}

/// Whether a thread keeps elements of each step for itself.
bool ThreadShares::keepsSteps() const {
  return llvm::any_of(state.stage().accesses, [&](const StageAccess &access) {
    return state.isOfThread(access.tensor) &&
           state.schedule.placements[access.tensor].elements > 1;
  });
}

/// The steps of `share`, one after the other. `inside` gets whether the step's
/// iterations exist. Steps are apart where a thread keeps elements of each, so
/// that these are registers.
void ThreadShares::writeSteps(const ThreadShare &share,
                              function_ref<void(Value)> inside) {
  const bool areApart = keepsSteps();
  for (state.step = 0; areApart && state.step < share.steps; ++state.step)
    inside(beginStep(share, state.constantIndex(state.step)));
  if (areApart)
    return;
  OpBuilder::InsertionGuard guard(state.builder);
  Value counter =
      share.steps == 1 ? state.constantIndex(0) : state.writeLoop(share.steps);
  inside(beginStep(share, counter));
}

/// How many of the first steps exist for every thread, whatever the block.
int64_t ThreadShares::countWholeSteps(const ThreadShare &share) const {
  const bool mayEndEarly = llvm::any_of(share.loops, [&](int loop) {
    const int blocked = state.current->blockedNumber(loop);
    return blocked >= 0 && !state.launch.blocked[blocked].isEven();
  });
  return mayEndEarly ? 0 : share.iterations / (share.threads * share.vector);
}

/// The steps from `first` on, with values that are carried on. Steps that exist
/// for all threads are a loop without a branch, in which several loads can be
/// on their way.
SmallVector<Value> ThreadShares::writeCarryingSteps(
    const ThreadShare &share, int64_t first, ValueRange carried,
    function_ref<SmallVector<Value>(ValueRange)> inside) {
  auto oneStep = [&](Value step, ValueRange before, bool isWhole) {
    Value exists = beginStep(share, step, isWhole);
    if (!exists)
      return inside(before);
    auto branch = state.create<scf::IfOp>(before.getTypes(), exists,
                                          /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(state.builder);
    state.builder.setInsertionPointToStart(&branch.getThenRegion().front());
    state.create<scf::YieldOp>(inside(before));
    state.builder.setInsertionPointToStart(&branch.getElseRegion().front());
    state.create<scf::YieldOp>(before);
    return llvm::to_vector_of<Value>(branch.getResults());
  };
  auto steps = [&](int64_t begin, int64_t end, ValueRange before,
                   bool areWhole) {
    if (end - begin == 1)
      return oneStep(state.constantIndex(begin), before, areWhole);
    auto loop = state.create<scf::ForOp>(state.constantIndex(begin),
                                         state.constantIndex(end),
                                         state.constantIndex(1), before);
    OpBuilder::InsertionGuard guard(state.builder);
    state.builder.setInsertionPointToStart(loop.getBody());
    state.create<scf::YieldOp>(
        oneStep(loop.getInductionVar(), loop.getRegionIterArgs(), areWhole));
    return llvm::to_vector_of<Value>(loop.getResults());
  };
  SmallVector<Value> values = llvm::to_vector(carried);
  const int64_t whole = countWholeSteps(share);
  if (whole > first)
    values = steps(first, whole, values, true);
  if (std::max(whole, first) < share.steps)
    values = steps(std::max(whole, first), share.steps, values, false);
  return values;
}

} // namespace shardc::kernel
