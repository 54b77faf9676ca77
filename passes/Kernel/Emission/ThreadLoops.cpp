//===- ThreadLoops.cpp - The loops of one stage, divided over threads -----===//
// SPDX-License-Identifier: Apache-2.0
//
// What StageLoops.cpp is for a processor: the threads of a group take vectors
// of a stage's iterations in turns. ThreadSums.cpp has what several of them add
// to one result.
//
//   y[i] = f(x[i]), 2048 elements, 256 threads, vectors of 4
//
//   %i = (%step * 256 + %member) * 4,  %step = 0, 1
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Emission/LaunchWriter.h"

#include "dialects/Aten/ElementBytes.h"
#include "passes/Kernel/Schedule/ThreadSchedule.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace shardc::kernel {

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

/// value / divisor and value % divisor, of a power of two.
std::pair<Value, Value> LaunchWriter::divide(Value value, int64_t divisor) {
  AffineExpr d0 = builder.getAffineDimExpr(0);
  auto apply = [&](AffineExpr expression) -> Value {
    return affine::AffineApplyOp::create(
        builder, location, AffineMap::get(1, 0, expression), value);
  };
  return {apply(d0.floorDiv(divisor)), apply(d0 % divisor)};
}

Value LaunchWriter::isLess(Value value, int64_t bound) {
  return arith::CmpIOp::create(builder, location, arith::CmpIPredicate::slt,
                               value, constantIndex(bound));
}

Value LaunchWriter::isZero(Value value) {
  return arith::CmpIOp::create(builder, location, arith::CmpIPredicate::eq,
                               value, constantIndex(0));
}

/// What `inside` writes, where `condition` holds, if there is one.
void LaunchWriter::writeIf(Value condition, function_ref<void()> inside) {
  if (!condition)
    return inside();
  OpBuilder::InsertionGuard guard(builder);
  auto branch = scf::IfOp::create(builder, location, condition,
                                  /*withElseRegion=*/false);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  inside();
}

/// The iteration of this thread, and its number in the group; what follows is
/// written where the iteration exists.
Value LaunchWriter::beginThread() {
  Value block = gpu::BlockIdOp::create(builder, location, gpu::Dimension::x);
  Value thread = gpu::ThreadIdOp::create(builder, location, gpu::Dimension::x);
  if (launch.group > 1 && launch.group < warpThreads)
    groupMask = makeGroupMask(thread);
  if (launch.groups == 1) {
    member = launch.group == 1 ? constantIndex(0) : thread;
    return block;
  }
  std::tie(group, member) = divide(thread, launch.group);
  Value iteration =
      elementIndex(0, {launch.groups, 1}, ArrayRef<Value>{block, group});
  if (launch.extent() % launch.groups == 0)
    return iteration;
  auto exists =
      scf::IfOp::create(builder, location, isLess(iteration, launch.extent()),
                        /*withElseRegion=*/false);
  builder.setInsertionPointToStart(&exists.getThenRegion().front());
  return iteration;
}

/// The lanes that meet: where all groups of a warp have an iteration or none
/// has, they do so together, which costs less than masks that a thread
/// computes; else those of this thread's group.
Value LaunchWriter::makeGroupMask(Value thread) {
  Type i32 = builder.getI32Type();
  auto firstLanes = [&](int64_t count) -> Value {
    const uint64_t lanes = (uint64_t(1) << count) - 1;
    return arith::ConstantOp::create(
        builder, location,
        builder.getI32IntegerAttr(static_cast<int32_t>(lanes)));
  };
  const int64_t together = std::min(launch.blockThreads(), warpThreads);
  if (launch.extent() % (together / launch.group) == 0)
    return firstLanes(together);
  Value lane = divide(thread, warpThreads).second;
  Value first =
      elementIndex(0, {launch.group}, {divide(lane, launch.group).first});
  Value shift = arith::IndexCastOp::create(builder, location, i32, first);
  return arith::ShLIOp::create(builder, location, firstLanes(launch.group),
                               shift);
}

Value LaunchWriter::groupLanes() {
  return groupMask ? groupMask
                   : arith::ConstantOp::create(builder, location,
                                               builder.getI32IntegerAttr(-1))
                         .getResult();
}

/// All threads of the group come here before one goes on, and see what the
/// others have written.
void LaunchWriter::meet() {
  if (launch.group > warpThreads)
    gpu::BarrierOp::create(builder, location);
  else if (launch.group > 1)
    NVVM::SyncWarpOp::create(builder, location, groupLanes());
}

//===----------------------------------------------------------------------===//
// Memory that threads share
//===----------------------------------------------------------------------===//

bool LaunchWriter::isOfThread(int tensor) const {
  return kernel::isOfThread(schedule, launch, tensor);
}

/// `elements` elements for each group of the block; groups begin at multiples
/// of 16 bytes.
Value LaunchWriter::allocateShared(int64_t elements, Type element) {
  auto space = gpu::AddressSpaceAttr::get(builder.getContext(),
                                          gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get(sharedStride(elements, element) * launch.groups,
                              element, MemRefLayoutAttrInterface(), space);
  OpBuilder::InsertionGuard guard(builder);
  Block *entry = &function.getBody().front();
  builder.setInsertionPointToStart(entry);
  return memref::AllocaOp::create(builder, location, type,
                                  builder.getI64IntegerAttr(16));
}

int64_t LaunchWriter::sharedStride(int64_t elements, Type element) {
  const int64_t each = 16 / getElementBytes(element);
  return launch.groups == 1 ? elements : (elements + each - 1) / each * each;
}

/// Where element `index` of this group's part of shared memory is.
Value LaunchWriter::inGroup(Value index, int64_t elements, Type element) {
  if (launch.groups == 1)
    return index;
  return elementIndex(0, {1, sharedStride(elements, element)},
                      ArrayRef<Value>{index, group});
}

//===----------------------------------------------------------------------===//
// Shares
//===----------------------------------------------------------------------===//

LaunchWriter::Share LaunchWriter::makeShare(ArrayRef<int> loops,
                                            int64_t threads, Value thread,
                                            int64_t vector) {
  Share share{loops, threads, thread, vector};
  for (int loop : loops)
    share.iterations *= iterationsWithin(launch, *current, stage(), loop);
  const int64_t together = threads * vector;
  share.steps = (share.iterations + together - 1) / together;
  return share;
}

/// Sets the counters of step `step` to the first of its iterations, and returns
/// whether they exist; null where they always do, and for a whole step.
Value LaunchWriter::beginStep(const Share &share, Value step, bool isWhole) {
  AffineExpr d0 = builder.getAffineDimExpr(0), d1 = builder.getAffineDimExpr(1);
  Value first = affine::makeComposedAffineApply(
      builder, location,
      AffineMap::get(2, 0, (d0 * share.threads + d1) * share.vector),
      ArrayRef<OpFoldResult>{step, share.thread});
  SmallVector<int64_t> sizes;
  for (int loop : share.loops)
    sizes.push_back(iterationsWithin(launch, *current, stage(), loop));
  SmallVector<Value> digits = {first};
  if (sizes.size() > 1)
    digits = llvm::to_vector_of<Value>(affine::AffineDelinearizeIndexOp::create(
                                           builder, location, first, sizes)
                                           .getResults());
  Value exists;
  if (!isWhole && share.iterations % (share.threads * share.vector) != 0)
    exists = isLess(first, share.iterations);
  for (auto [loop, digit] : llvm::zip(share.loops, digits)) {
    countLoop(loop, digit);
    const int blocked = current->blockedNumber(loop);
    if (isWhole || blocked < 0 || launch.blocked[blocked].isEven())
      continue;
    Value inside =
        arith::CmpIOp::create(builder, location, arith::CmpIPredicate::slt,
                              digit, blockEnds[blocked]);
    exists = exists ? arith::AndIOp::create(builder, location, exists, inside)
                          .getResult()
                    : inside;
  }
  return exists;
}

/// Whether a thread keeps elements of each step for itself.
bool LaunchWriter::keepsSteps() const {
  return llvm::any_of(stage().accesses, [&](const StageAccess &access) {
    return isOfThread(access.tensor) &&
           schedule.placements[access.tensor].elements > 1;
  });
}

/// The steps of `share`, one after the other. `inside` gets whether the step's
/// iterations exist. Steps are apart where a thread keeps elements of each, so
/// that these are registers.
void LaunchWriter::writeSteps(const Share &share,
                              function_ref<void(Value)> inside) {
  const bool areApart = keepsSteps();
  for (step = 0; areApart && step < share.steps; ++step)
    inside(beginStep(share, constantIndex(step)));
  if (areApart)
    return;
  OpBuilder::InsertionGuard guard(builder);
  Value counter = share.steps == 1 ? constantIndex(0) : writeLoop(share.steps);
  inside(beginStep(share, counter));
}

/// How many of the first steps exist for every thread, whatever the block.
int64_t LaunchWriter::countWholeSteps(const Share &share) const {
  const bool mayEndEarly = llvm::any_of(share.loops, [&](int loop) {
    const int blocked = current->blockedNumber(loop);
    return blocked >= 0 && !launch.blocked[blocked].isEven();
  });
  return mayEndEarly ? 0 : share.iterations / (share.threads * share.vector);
}

/// The steps from `first` on, with values that are carried on. Steps that exist
/// for all threads are a loop without a branch, in which several loads can be
/// on their way.
SmallVector<Value> LaunchWriter::writeCarryingSteps(
    const Share &share, int64_t first, ValueRange carried,
    function_ref<SmallVector<Value>(ValueRange)> inside) {
  auto oneStep = [&](Value step, ValueRange before, bool isWhole) {
    Value exists = beginStep(share, step, isWhole);
    if (!exists)
      return inside(before);
    auto branch = scf::IfOp::create(builder, location, before.getTypes(),
                                    exists, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    scf::YieldOp::create(builder, location, inside(before));
    builder.setInsertionPointToStart(&branch.getElseRegion().front());
    scf::YieldOp::create(builder, location, before);
    return llvm::to_vector_of<Value>(branch.getResults());
  };
  auto steps = [&](int64_t begin, int64_t end, ValueRange before,
                   bool areWhole) {
    if (end - begin == 1)
      return oneStep(constantIndex(begin), before, areWhole);
    auto loop =
        scf::ForOp::create(builder, location, constantIndex(begin),
                           constantIndex(end), constantIndex(1), before);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(
        builder, location,
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

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// Each thread computes whole results.
void LaunchWriter::writeResults(const Share &share, ArrayRef<int> reduced) {
  const int last = share.loops.empty() ? -1 : share.loops.back();
  if (const int64_t steps = stepsAhead(share, reduced); steps > 1)
    return writeStepsAhead(share, steps);
  auto inside = [&](Value isWriter) {
    Value first = last < 0 ? Value() : digits[last];
    if (stage().scatters)
      return writeIf(isWriter,
                     [&] { writeLoops(reduced, [&] { writeScatter(); }); });
    if (stage().scans)
      return writeIf(isWriter, [&] { writeScan(reduced); });
    if (last >= 0)
      readLanes(last, share.vector);
    SmallVector<SmallVector<Value>> results;
    for (int64_t i = 0; i < share.vector; ++i) {
      if (last >= 0)
        moveToLane(last, first, i);
      results.push_back(writeSerialReduction(reduced, startValues()));
    }
    if (isWriter && writesWhatItReads())
      meet();
    storeLanes(results, last, first, isWriter);
    lanes.clear();
  };
  if (share.iterations > 1)
    return writeSteps(share, [&](Value exists) {
      writeIf(exists, [&] { inside(Value()); });
    });
  // One result: every thread has it, and one stores it for all.
  Value isFirst = launch.group == 1 ? Value() : isZero(member);
  bool hasCopies = llvm::any_of(writes(), [&](const StageAccess &access) {
    return isOfThread(access.tensor);
  });
  if (!share.loops.empty())
    (void)beginStep({share.loops, 1, constantIndex(0), 1}, constantIndex(0));
  if (hasCopies && !stage().scatters && !stage().scans)
    return inside(isFirst);
  writeIf(isFirst, [&] { inside(Value()); });
}

/// Whether a stage of one result stores over what all threads have read.
bool LaunchWriter::writesWhatItReads() const {
  return llvm::any_of(writes(), [&](const StageAccess &write) {
    return !isOfThread(write.tensor) &&
           llvm::any_of(stage().accesses, [&](const StageAccess &read) {
             return !read.isWrite && read.tensor == write.tensor;
           });
  });
}

void LaunchWriter::writeThreadStage(const ScheduledStage &scheduled) {
  current = &scheduled;
  counters.assign(stage().sizes.size(), Value());
  digits = counters;
  for (auto [loop, counter] :
       llvm::zip_equal(scheduled.launchLoops, launchCounters))
    counters[loop] = counter;
  const StageThreads &threads = scheduled.threads;
  if (threads.meetsBefore)
    meet();
  writeTiles();
  std::vector<int> results = resultLoops(stage(), scheduled);
  std::vector<int> reduced = reducedLoops(stage(), scheduled);
  if (!dividesTerms(stage(), scheduled))
    return writeResults(
        makeShare(results, threads.results, member, threads.vector), reduced);
  if (launch.group == 1)
    return writeResults(makeShare(results, 1, member, /*vector=*/1), reduced);
  auto [high, low] = divide(
      member, threads.hasNeighbouringTerms ? threads.terms : threads.results);
  term = threads.hasNeighbouringTerms ? low : high;
  result = threads.hasNeighbouringTerms ? high : low;
  const bool ofTerms = threads.hasNeighbouringTerms;
  writeSharedSums(
      makeShare(results, threads.results, result, ofTerms ? 1 : threads.vector),
      reduced, ofTerms ? threads.vector : 1);
}

} // namespace shardc::kernel
