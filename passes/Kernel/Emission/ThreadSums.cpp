//===- ThreadSums.cpp - Sums that several threads share -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Threads carry sums of their own terms, and combine them by shuffles within a
// warp and through shared memory between warps, always in the same order.
//
//   sum over c of x[r, c], 768 columns, 32 threads, vectors of 4
//
//   scf.for %step = 0 to 6 iter_args(%sum) {
//     %c = (%step * 32 + %member) * 4
//     %x = vector.load …                       four additions to %sum
//   }
//   sum += shuffle xor 16, 8, 4, 2, 1          every thread has the same bits
//
// Between warps only those who need a sum read its parts: all threads where
// each keeps it, else one for each.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Emission/ThreadSums.h"

#include "passes/Kernel/Schedule/ThreadSchedule.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace shardc::kernel {

//===----------------------------------------------------------------------===//
// Within a warp
//===----------------------------------------------------------------------===//

/// `value` of the lane whose number differs in the bits of `distance`.
Value ThreadSums::shuffle(Value value, int64_t distance) {
  Type type = value.getType(), i32 = state.builder.getI32Type();
  auto number = [&](int32_t bits) -> Value {
    return state.create<arith::ConstantOp>(
        state.builder.getI32IntegerAttr(bits));
  };
  auto exchange = [&](Value word) -> Value {
    return state.create<NVVM::ShflOp>(
        i32, group.groupLanes(), word, number(static_cast<int32_t>(distance)),
        number(warpThreads - 1), NVVM::ShflKind::bfly, UnitAttr());
  };
  const unsigned bits = type.getIntOrFloatBitWidth();
  Type integer = state.builder.getIntegerType(bits);
  Value word = value;
  if (isa<FloatType>(type))
    word = state.create<arith::BitcastOp>(integer, value);
  if (bits < 32) {
    word = state.create<arith::ExtUIOp>(i32, word);
    word = state.create<arith::TruncIOp>(integer, exchange(word));
  } else if (bits == 32) {
    word = exchange(word);
  } else {
    Value half = state.create<arith::ConstantOp>(
        state.builder.getIntegerAttr(integer, 32));
    Value high = state.create<arith::ShRUIOp>(word, half);
    auto part = [&](Value wide) -> Value {
      Value low = state.create<arith::TruncIOp>(i32, wide);
      return state.create<arith::ExtUIOp>(integer, exchange(low));
    };
    word = state.create<arith::OrIOp>(
        part(word), state.create<arith::ShLIOp>(part(high), half));
  }
  return isa<FloatType>(type)
             ? state.create<arith::BitcastOp>(type, word).getResult()
             : word;
}

Value ThreadSums::combine(Operation *combiner, Value first, Value second) {
  Operation *combined = state.builder.clone(*combiner);
  combined->setOperands({first, second});
  return combined->getResult(0);
}

/// Of the terms of a result, those that are in one warp: from this distance
/// between lanes to that.
std::pair<int64_t, int64_t> ThreadSums::lanesOfTerms() const {
  const StageThreads &threads = state.current->threads;
  if (threads.hasNeighbouringTerms)
    return {1, std::min(threads.terms, warpThreads)};
  return {threads.results, std::min(state.launch.group, warpThreads)};
}

/// How many sums of warps a result is made of.
int64_t ThreadSums::partsBetweenWarps() const {
  const auto [from, to] = lanesOfTerms();
  return state.current->threads.terms / std::max<int64_t>(1, to / from);
}

/// The sums of the warp's threads that have the same result, in each of them.
void ThreadSums::combineInWarp(Operation *combiner,
                               MutableArrayRef<Value> sums) {
  const auto [from, to] = lanesOfTerms();
  for (Value &sum : sums)
    for (int64_t distance = to / 2; distance >= from; distance /= 2)
      sum = combine(combiner, sum, shuffle(sum, distance));
}

//===----------------------------------------------------------------------===//
// Between warps
//===----------------------------------------------------------------------===//

/// From lane to lane of the sums of warps: of several, one row of results more
/// than there are, so that those who read a lane each meet different banks.
int64_t ThreadSums::laneStride() const {
  const StageThreads &threads = state.current->threads;
  const bool hasLanes = threads.vector > 1 && !threads.hasNeighbouringTerms;
  return (partsBetweenWarps() + (hasLanes ? 1 : 0)) * threads.results;
}

ThreadSums::WarpSums ThreadSums::writeWarpSums(ArrayRef<Value> sums) {
  const StageThreads &threads = state.current->threads;
  const auto [from, to] = lanesOfTerms();
  const int64_t termsInWarp = std::max<int64_t>(1, to / from);
  const int64_t ofLane = laneStride();
  WarpSums made;
  made.type = sums.front().getType();
  made.elements = ofLane * static_cast<int64_t>(sums.size());
  made.memory = group.allocateShared(made.elements, made.type);
  auto [part, place] = state.divide(state.term, termsInWarp);
  Value slot = state.elementIndex(0, {threads.results, 1},
                                  ArrayRef<Value>{part, state.result});
  state.writeIf(termsInWarp == 1 ? Value() : state.isZero(place), [&] {
    for (auto [number, sum] : llvm::enumerate(sums)) {
      Value index = state.elementIndex(static_cast<int64_t>(number) * ofLane,
                                       {1}, {slot});
      state.create<memref::StoreOp>(
          sum, made.memory, state.inGroup(index, made.elements, made.type));
    }
  });
  return made;
}

/// The sums of this thread's result in `lanes`, each of its warps' in order.
SmallVector<Value> ThreadSums::addWarpSums(Operation *combiner,
                                           const WarpSums &made,
                                           ArrayRef<Value> lanes) {
  const int64_t results = state.current->threads.results;
  const int64_t parts = partsBetweenWarps();
  auto load = [&](Value lane, Value part) -> Value {
    Value index = state.elementIndex(0, {laneStride(), results, 1},
                                     ArrayRef<Value>{lane, part, state.result});
    return state.create<memref::LoadOp>(
        made.memory, state.inGroup(index, made.elements, made.type));
  };
  auto firsts = llvm::map_to_vector(
      lanes, [&](Value lane) { return load(lane, state.constantIndex(0)); });
  auto loop = state.create<scf::ForOp>(state.constantIndex(1),
                                       state.constantIndex(parts),
                                       state.constantIndex(1), firsts);
  OpBuilder::InsertionGuard guard(state.builder);
  state.builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next;
  for (auto [lane, sum] : llvm::zip_equal(lanes, loop.getRegionIterArgs()))
    next.push_back(combine(combiner, sum, load(lane, loop.getInductionVar())));
  state.create<scf::YieldOp>(next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

/// One thread for each lane adds the sums of warps and stores, where `exists`.
void ThreadSums::storeByLane(ArrayRef<WarpSums> made, int loop, Value first,
                             int64_t lanes, Value exists) {
  Value isWriter = state.isLess(state.term, lanes);
  if (exists)
    isWriter = state.create<arith::AndIOp>(exists, isWriter);
  state.writeIf(isWriter, [&] {
    Value own = lanes == 1 ? state.constantIndex(0) : state.term;
    SmallVector<Value> sums;
    for (auto [output, each] : llvm::enumerate(made)) {
      const auto number = static_cast<int64_t>(output);
      sums.push_back(withStart(
          number,
          addWarpSums(combinerOf(state.code(), number), each, own).front()));
    }
    state.lane = 0;
    if (loop >= 0)
      state.countLoop(
          loop, state.elementIndex(0, {1, 1}, ArrayRef<Value>{first, own}));
    elements.storeAll(sums);
  });
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// How many steps are added in f32 before they go to a sum in f64: the terms of
/// a vector, or of four steps. Only where what is summed is made of 16-bit
/// elements, beside whose rounding that of f32 is nothing; 0 elsewhere.
/// Conversions to f64 take four times as long as its additions.
int64_t ThreadSums::narrowSteps(const ThreadShare &terms,
                                int64_t resultLanes) const {
  constexpr int64_t neighbours = 4, bytesOfNarrow = 2;
  for (unsigned number = 0; number < state.writes().size(); ++number) {
    auto sum =
        dyn_cast_if_present<arith::AddFOp>(combinerOf(state.code(), number));
    if (!sum || !sum.getType().isF64() ||
        !termOf(state.code(), number).getType().isF32())
      return 0;
  }
  int64_t max = 0, bytes = 0;
  for (const StageAccess &access : state.stage().accesses) {
    int64_t elements = 1;
    for (auto [size, stride] :
         llvm::zip_equal(state.stage().sizes, access.strides))
      elements *= stride == 0 ? 1 : size;
    if (access.isWrite || elements < max)
      continue;
    const int64_t own =
        state.schedule.merged.tensors[access.tensor].elementBytes;
    bytes = elements > max ? own : std::max(bytes, own);
    max = elements;
  }
  if (bytes != bytesOfNarrow)
    return 0;
  return resultLanes == 1 && terms.vector > 1 ? 1 : neighbours;
}

/// Adds the terms of a step to sums in f32, which are null before the first.
void ThreadSums::addTerms(const ThreadShare &terms, int resultLoop,
                          Value firstResult, MutableArrayRef<Value> sums) {
  const size_t outputs = state.writes().size();
  const auto resultLanes = static_cast<int64_t>(sums.size() / outputs);
  const int termLoop = terms.loops.back();
  Value firstTerm = state.digits[termLoop];
  vectors.readLanes(resultLanes > 1 ? resultLoop : termLoop,
                    std::max(resultLanes, terms.vector));
  for (int64_t i = 0; i < resultLanes; ++i)
    for (int64_t j = 0; j < terms.vector; ++j) {
      if (resultLanes > 1)
        vectors.moveToLane(resultLoop, firstResult, i);
      else
        vectors.moveToLane(termLoop, firstTerm, j);
      for (auto [sum, term] : llvm::zip_equal(sums.slice(i * outputs, outputs),
                                              elements.writeTerms()))
        sum = sum ? state.create<arith::AddFOp>(sum, term).getResult() : term;
    }
  state.lanes.clear();
  if (resultLanes > 1)
    vectors.moveToLane(resultLoop, firstResult, 0);
}

/// `groups` times `together` steps, which all exist.
SmallVector<Value> ThreadSums::writeNarrowSums(const ThreadShare &terms,
                                               int resultLoop,
                                               Value firstResult,
                                               int64_t groups, int64_t together,
                                               ValueRange starts) {
  auto writeGroup = [&](Value number, ValueRange before) {
    SmallVector<Value> sums(before.size());
    for (int64_t i = 0; i < together; ++i) {
      (void)shares.beginStep(terms, state.elementIndex(i, {together}, {number}),
                             /*isWhole=*/true);
      addTerms(terms, resultLoop, firstResult, sums);
    }
    for (auto [i, sum] : llvm::enumerate(sums)) {
      Value wide = state.create<arith::ExtFOp>(before[i].getType(), sum);
      sum = combine(combinerOf(state.code(), i % state.writes().size()),
                    before[i], wide);
    }
    return sums;
  };
  if (groups == 0)
    return llvm::to_vector(starts);
  if (groups == 1)
    return writeGroup(state.constantIndex(0), starts);
  auto loop = state.create<scf::ForOp>(state.constantIndex(0),
                                       state.constantIndex(groups),
                                       state.constantIndex(1), starts);
  OpBuilder::InsertionGuard guard(state.builder);
  state.builder.setInsertionPointToStart(loop.getBody());
  state.create<scf::YieldOp>(
      writeGroup(loop.getInductionVar(), loop.getRegionIterArgs()));
  return llvm::to_vector_of<Value>(loop.getResults());
}

/// Partial sums of the terms that this thread takes, one for each lane of its
/// results and each output, lanes first.
SmallVector<Value> ThreadSums::writePartialSums(const ThreadShare &terms,
                                                int resultLoop,
                                                Value firstResult,
                                                int64_t resultLanes) {
  SmallVector<Value> starts;
  for (int64_t i = 0; i < resultLanes; ++i)
    for (auto [number, start] : llvm::enumerate(elements.startValues()))
      starts.push_back(elements.startOfFurtherLanes(
          combinerOf(state.code(), number), start));
  const auto outputs = static_cast<int64_t>(state.writes().size());
  const int termLoop = terms.loops.back();
  int64_t begin = 0;
  if (const int64_t together = narrowSteps(terms, resultLanes)) {
    const int64_t groups = shares.countWholeSteps(terms) / together;
    starts = writeNarrowSums(terms, resultLoop, firstResult, groups, together,
                             starts);
    begin = groups * together;
  }
  return shares.writeCarryingSteps(
      terms, begin, starts, [&](ValueRange carried) {
        SmallVector<Value> sums(carried);
        Value firstTerm = state.digits[termLoop];
        vectors.readLanes(resultLanes > 1 ? resultLoop : termLoop,
                          std::max(resultLanes, terms.vector));
        for (int64_t i = 0; i < resultLanes; ++i) {
          for (int64_t j = 0; j < terms.vector; ++j) {
            if (resultLanes > 1)
              vectors.moveToLane(resultLoop, firstResult, i);
            else
              vectors.moveToLane(termLoop, firstTerm, j);
            auto part = MutableArrayRef(sums).slice(i * outputs, outputs);
            llvm::copy(elements.writeBody(ValueRange(part)), part.begin());
          }
        }
        state.lanes.clear();
        if (resultLanes > 1)
          vectors.moveToLane(resultLoop, firstResult, 0);
        return sums;
      });
}

/// Sums whose terms several threads share.
void ThreadSums::writeSharedSums(const ThreadShare &results,
                                 ArrayRef<int> reduced, int64_t termVector) {
  const int last = results.loops.empty() ? -1 : results.loops.back();
  const auto outputs = static_cast<int64_t>(state.writes().size());
  shares.writeSteps(results, [&](Value exists) {
    Value first = last < 0 ? Value() : state.digits[last];
    ThreadShare terms = shares.makeShare(reduced, state.current->threads.terms,
                                         state.term, termVector);
    auto write = [&] {
      return writePartialSums(terms, last, first, results.vector);
    };
    SmallVector<Value> sums =
        exists ? writeWhere(exists, write, results.vector) : write();
    SmallVector<SmallVector<Value>> ofOutputs(outputs);
    for (int64_t output = 0; output < outputs; ++output) {
      for (int64_t i = 0; i < results.vector; ++i)
        ofOutputs[output].push_back(sums[i * outputs + output]);
      combineInWarp(combinerOf(state.code(), output), ofOutputs[output]);
    }
    storeSharedSums(ofOutputs, last, first, exists);
    // The next step's sums go the same way between warps.
    if (results.steps > 1 && state.launch.group > warpThreads)
      group.meet();
  });
}

/// Combines the sums of warps, of each output and lane, and stores them where
/// `exists`.
void ThreadSums::storeSharedSums(MutableArrayRef<SmallVector<Value>> ofOutputs,
                                 int loop, Value first, Value exists) {
  const auto lanes = static_cast<int64_t>(ofOutputs.front().size());
  SmallVector<WarpSums> made;
  if (partsBetweenWarps() > 1) {
    for (ArrayRef<Value> sums : ofOutputs)
      made.push_back(writeWarpSums(sums));
    group.meet();
  }
  const bool hasCopies =
      llvm::any_of(state.writes(), [&](const StageAccess &access) {
        return state.isOfThread(access.tensor);
      });
  if (!made.empty() && !hasCopies && state.current->threads.terms >= lanes)
    return storeByLane(made, loop, first, lanes, exists);
  SmallVector<SmallVector<Value>> values(lanes);
  for (auto [output, sums] : llvm::enumerate(ofOutputs)) {
    const auto number = static_cast<int64_t>(output);
    SmallVector<Value> all;
    for (int64_t i = 0; i < lanes && !made.empty(); ++i)
      all.push_back(state.constantIndex(i));
    if (!made.empty())
      sums = addWarpSums(combinerOf(state.code(), number), made[output], all);
    for (int64_t i = 0; i < lanes; ++i)
      values[i].push_back(withStart(number, sums[i]));
  }
  Value isWriter =
      state.current->threads.terms == 1 ? Value() : state.isZero(state.term);
  if (exists && isWriter)
    isWriter = state.create<arith::AndIOp>(exists, isWriter);
  vectors.storeLanes(values, loop, first, isWriter ? isWriter : exists);
}

/// `write` where `exists` holds, the starts elsewhere.
SmallVector<Value>
ThreadSums::writeWhere(Value exists, function_ref<SmallVector<Value>()> write,
                       int64_t resultLanes) {
  SmallVector<Value> others;
  for (int64_t i = 0; i < resultLanes; ++i)
    llvm::append_range(others, elements.startValues());
  auto branch = state.create<scf::IfOp>(ValueRange(others).getTypes(), exists,
                                        /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(state.builder);
  state.builder.setInsertionPointToStart(&branch.getElseRegion().front());
  state.create<scf::YieldOp>(others);
  state.builder.setInsertionPointToStart(&branch.getThenRegion().front());
  state.create<scf::YieldOp>(write());
  return llvm::to_vector_of<Value>(branch.getResults());
}

/// The reduction's start counts once, in the sum of all threads.
Value ThreadSums::withStart(int64_t output, Value sum) {
  Operation *combiner = combinerOf(state.code(), output);
  TypedAttr start = state.code().starts[output];
  if (!isa<arith::AddFOp, arith::AddIOp, arith::MulFOp>(combiner) ||
      arith::getNeutralElement(combiner) == start)
    return sum;
  if (auto zero = dyn_cast<FloatAttr>(start);
      zero && isa<arith::AddFOp>(combiner) && zero.getValue().isZero())
    return sum;
  return combine(combiner, state.constant(start), sum);
}

} // namespace shardc::kernel
