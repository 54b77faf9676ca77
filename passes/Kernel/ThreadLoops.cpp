//===- ThreadLoops.cpp - The loops of one stage, divided over threads -----===//
// SPDX-License-Identifier: Apache-2.0
//
// What StageLoops.cpp is for a processor: the threads of a group take vectors
// of a stage's iterations in turns, carry sums of their own, and combine them
// by shuffles within a warp and through shared memory between warps, always in
// the same order.
//
//   sum over c of x[r, c], 768 columns, 32 threads, vectors of 4
//
//   scf.for %step = 0 to 6 iter_args(%sum) {
//     %c = (%step * 32 + %member) * 4
//     %x = vector.load …                       four additions to %sum
//   }
//   sum += shuffle xor 16, 8, 4, 2, 1          every thread has the same bits
//===----------------------------------------------------------------------===//

#include "passes/Kernel/LaunchWriter.h"

#include "dialects/Aten/ElementBytes.h"
#include "passes/Kernel/ThreadSchedule.h"

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
static std::pair<Value, Value> divide(OpBuilder &builder, Location location,
                                      Value value, int64_t divisor) {
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
  std::tie(group, member) = divide(builder, location, thread, launch.group);
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
  Value lane = divide(builder, location, thread, warpThreads).second;
  Value first = elementIndex(
      0, {launch.group}, {divide(builder, location, lane, launch.group).first});
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

/// The same, with values that are carried on. Steps that exist for all threads
/// are a loop without a branch, in which several loads can be on their way.
SmallVector<Value> LaunchWriter::writeCarryingSteps(
    const Share &share, ValueRange carried,
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
  if (whole > 0)
    values = steps(0, whole, values, true);
  if (whole < share.steps)
    values = steps(whole, share.steps, values, false);
  return values;
}

//===----------------------------------------------------------------------===//
// Sums of several threads
//===----------------------------------------------------------------------===//

/// `value` of the lane whose number differs in the bits of `distance`.
Value LaunchWriter::shuffle(Value value, int64_t distance) {
  Type type = value.getType(), i32 = builder.getI32Type();
  auto number = [&](int32_t bits) -> Value {
    return arith::ConstantOp::create(builder, location,
                                     builder.getI32IntegerAttr(bits));
  };
  auto exchange = [&](Value word) -> Value {
    return NVVM::ShflOp::create(builder, location, i32, groupLanes(), word,
                                number(static_cast<int32_t>(distance)),
                                number(warpThreads - 1), NVVM::ShflKind::bfly,
                                UnitAttr());
  };
  const unsigned bits = type.getIntOrFloatBitWidth();
  Type integer = builder.getIntegerType(bits);
  Value word = value;
  if (isa<FloatType>(type))
    word = arith::BitcastOp::create(builder, location, integer, value);
  if (bits < 32) {
    word = arith::ExtUIOp::create(builder, location, i32, word);
    word = arith::TruncIOp::create(builder, location, integer, exchange(word));
  } else if (bits == 32) {
    word = exchange(word);
  } else {
    Value half = arith::ConstantOp::create(builder, location,
                                           builder.getIntegerAttr(integer, 32));
    Value high = arith::ShRUIOp::create(builder, location, word, half);
    auto part = [&](Value wide) -> Value {
      Value low = arith::TruncIOp::create(builder, location, i32, wide);
      return arith::ExtUIOp::create(builder, location, integer, exchange(low));
    };
    word = arith::OrIOp::create(
        builder, location, part(word),
        arith::ShLIOp::create(builder, location, part(high), half));
  }
  return isa<FloatType>(type)
             ? arith::BitcastOp::create(builder, location, type, word)
                   .getResult()
             : word;
}

Value LaunchWriter::combine(Operation *combiner, Value first, Value second) {
  Operation *combined = builder.clone(*combiner);
  combined->setOperands({first, second});
  return combined->getResult(0);
}

/// The sums of the group's threads that have the same result, in every one of
/// them: within warps by shuffles, then between warps in their order.
void LaunchWriter::combineThreads(Operation *combiner,
                                  MutableArrayRef<Value> sums) {
  const StageThreads &threads = current->threads;
  const int64_t inWarp = std::min(launch.group, warpThreads);
  const bool neighbours = threads.hasNeighbouringTerms;
  const int64_t from = neighbours ? 1 : threads.results;
  const int64_t to = neighbours ? std::min(threads.terms, warpThreads) : inWarp;
  for (Value &sum : sums)
    for (int64_t distance = to / 2; distance >= from; distance /= 2)
      sum = combine(combiner, sum, shuffle(sum, distance));
  const int64_t termsInWarp = std::max<int64_t>(1, to / from);
  const int64_t parts = threads.terms / termsInWarp;
  if (parts == 1)
    return;
  Type type = sums.front().getType();
  const int64_t partElements = parts * threads.results;
  const int64_t elements = partElements * static_cast<int64_t>(sums.size());
  Value memory = allocateShared(elements, type);
  auto [part, place] = divide(builder, location, term, termsInWarp);
  Value slot =
      elementIndex(0, {threads.results, 1}, ArrayRef<Value>{part, result});
  writeIf(termsInWarp == 1 ? Value() : isZero(place), [&] {
    for (auto [number, sum] : llvm::enumerate(sums)) {
      Value index = elementIndex(static_cast<int64_t>(number) * partElements,
                                 {1}, {slot});
      memref::StoreOp::create(builder, location, sum, memory,
                              inGroup(index, elements, type));
    }
  });
  meet();
  auto load = [&](int64_t number, Value part) -> Value {
    Value index = elementIndex(number * partElements, {threads.results, 1},
                               ArrayRef<Value>{part, result});
    return memref::LoadOp::create(builder, location, memory,
                                  inGroup(index, elements, type));
  };
  SmallVector<Value> firsts;
  for (size_t number = 0; number < sums.size(); ++number)
    firsts.push_back(load(static_cast<int64_t>(number), constantIndex(0)));
  auto loop =
      scf::ForOp::create(builder, location, constantIndex(1),
                         constantIndex(parts), constantIndex(1), firsts);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next;
  for (auto [number, sum] : llvm::enumerate(loop.getRegionIterArgs()))
    next.push_back(
        combine(combiner, sum,
                load(static_cast<int64_t>(number), loop.getInductionVar())));
  scf::YieldOp::create(builder, location, next);
  llvm::copy(loop.getResults(), sums.begin());
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

/// Partial sums of the terms that this thread takes, one for each lane of its
/// results and each output, lanes first.
SmallVector<Value> LaunchWriter::writePartialSums(const Share &terms,
                                                  int resultLoop,
                                                  Value firstResult,
                                                  int64_t resultLanes) {
  SmallVector<Value> starts;
  for (int64_t i = 0; i < resultLanes; ++i)
    for (auto [number, start] : llvm::enumerate(startValues()))
      starts.push_back(startOfFurtherLanes(combinerOf(code(), number), start));
  const auto outputs = static_cast<int64_t>(writes().size());
  const int termLoop = terms.loops.back();
  return writeCarryingSteps(terms, starts, [&](ValueRange carried) {
    SmallVector<Value> sums(carried);
    Value firstTerm = digits[termLoop];
    readLanes(resultLanes > 1 ? resultLoop : termLoop,
              std::max(resultLanes, terms.vector));
    for (int64_t i = 0; i < resultLanes; ++i) {
      for (int64_t j = 0; j < terms.vector; ++j) {
        if (resultLanes > 1)
          moveToLane(resultLoop, firstResult, i);
        else
          moveToLane(termLoop, firstTerm, j);
        auto part = MutableArrayRef(sums).slice(i * outputs, outputs);
        llvm::copy(writeBody(ValueRange(part)), part.begin());
      }
    }
    lanes.clear();
    if (resultLanes > 1)
      moveToLane(resultLoop, firstResult, 0);
    return sums;
  });
}

/// Sums whose terms several threads share.
void LaunchWriter::writeSharedSums(const Share &results, ArrayRef<int> reduced,
                                   int64_t termVector) {
  const int last = results.loops.empty() ? -1 : results.loops.back();
  const auto outputs = static_cast<int64_t>(writes().size());
  writeSteps(results, [&](Value exists) {
    Value first = last < 0 ? Value() : digits[last];
    Share terms = makeShare(reduced, current->threads.terms, term, termVector);
    SmallVector<Value> sums;
    auto write = [&] {
      return writePartialSums(terms, last, first, results.vector);
    };
    sums = exists ? writeWhere(exists, write, results.vector) : write();
    for (int64_t output = 0; output < outputs; ++output) {
      SmallVector<Value> ofOutput;
      for (int64_t i = 0; i < results.vector; ++i)
        ofOutput.push_back(sums[i * outputs + output]);
      combineThreads(combinerOf(code(), output), ofOutput);
      for (int64_t i = 0; i < results.vector; ++i)
        sums[i * outputs + output] = withStart(output, ofOutput[i]);
    }
    SmallVector<SmallVector<Value>> values;
    for (int64_t i = 0; i < results.vector; ++i)
      values.push_back(
          llvm::to_vector(ArrayRef(sums).slice(i * outputs, outputs)));
    Value isWriter = current->threads.terms == 1 ? Value() : isZero(term);
    if (exists && isWriter)
      isWriter = arith::AndIOp::create(builder, location, exists, isWriter);
    storeLanes(values, last, first, isWriter ? isWriter : exists);
    // The next step's sums go the same way between warps.
    if (results.steps > 1 && launch.group > warpThreads)
      meet();
  });
}

/// `write` where `exists` holds, the starts elsewhere.
SmallVector<Value>
LaunchWriter::writeWhere(Value exists, function_ref<SmallVector<Value>()> write,
                         int64_t resultLanes) {
  SmallVector<Value> others;
  for (int64_t i = 0; i < resultLanes; ++i)
    llvm::append_range(others, startValues());
  auto branch =
      scf::IfOp::create(builder, location, ValueRange(others).getTypes(),
                        exists, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&branch.getElseRegion().front());
  scf::YieldOp::create(builder, location, others);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  scf::YieldOp::create(builder, location, write());
  return llvm::to_vector_of<Value>(branch.getResults());
}

/// The reduction's start counts once, in the sum of all threads.
Value LaunchWriter::withStart(int64_t output, Value sum) {
  Operation *combiner = combinerOf(code(), output);
  TypedAttr start = code().starts[output];
  if (!isa<arith::AddFOp, arith::AddIOp, arith::MulFOp>(combiner) ||
      arith::getNeutralElement(combiner) == start)
    return sum;
  if (auto zero = dyn_cast<FloatAttr>(start);
      zero && isa<arith::AddFOp>(combiner) && zero.getValue().isZero())
    return sum;
  return combine(combiner, constant(start), sum);
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
  auto [high, low] =
      divide(builder, location, member,
             threads.hasNeighbouringTerms ? threads.terms : threads.results);
  term = threads.hasNeighbouringTerms ? low : high;
  result = threads.hasNeighbouringTerms ? high : low;
  const bool ofTerms = threads.hasNeighbouringTerms;
  writeSharedSums(
      makeShare(results, threads.results, result, ofTerms ? 1 : threads.vector),
      reduced, ofTerms ? threads.vector : 1);
}

} // namespace shardc::kernel
