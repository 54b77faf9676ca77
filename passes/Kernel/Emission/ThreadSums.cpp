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

#include "passes/Kernel/Emission/LaunchWriter.h"

#include "passes/Kernel/Schedule/ThreadSchedule.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace shardc::kernel {

//===----------------------------------------------------------------------===//
// Within a warp
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

/// Of the terms of a result, those that are in one warp: from this distance
/// between lanes to that.
std::pair<int64_t, int64_t> LaunchWriter::lanesOfTerms() const {
  const StageThreads &threads = current->threads;
  if (threads.hasNeighbouringTerms)
    return {1, std::min(threads.terms, warpThreads)};
  return {threads.results, std::min(launch.group, warpThreads)};
}

/// How many sums of warps a result is made of.
int64_t LaunchWriter::partsBetweenWarps() const {
  const auto [from, to] = lanesOfTerms();
  return current->threads.terms / std::max<int64_t>(1, to / from);
}

/// The sums of the warp's threads that have the same result, in each of them.
void LaunchWriter::combineInWarp(Operation *combiner,
                                 MutableArrayRef<Value> sums) {
  const auto [from, to] = lanesOfTerms();
  for (Value &sum : sums)
    for (int64_t distance = to / 2; distance >= from; distance /= 2)
      sum = combine(combiner, sum, shuffle(sum, distance));
}

//===----------------------------------------------------------------------===//
// Between warps
//===----------------------------------------------------------------------===//

/// Where the sums of warps are: by lane, warp and result.
struct LaunchWriter::WarpSums {
  Value memory;
  Type type;
  int64_t elements;
};

/// From lane to lane of the sums of warps: of several, one row of results more
/// than there are, so that those who read a lane each meet different banks.
int64_t LaunchWriter::laneStride() const {
  const StageThreads &threads = current->threads;
  const bool hasLanes = threads.vector > 1 && !threads.hasNeighbouringTerms;
  return (partsBetweenWarps() + (hasLanes ? 1 : 0)) * threads.results;
}

LaunchWriter::WarpSums LaunchWriter::writeWarpSums(ArrayRef<Value> sums) {
  const StageThreads &threads = current->threads;
  const auto [from, to] = lanesOfTerms();
  const int64_t termsInWarp = std::max<int64_t>(1, to / from);
  const int64_t ofLane = laneStride();
  WarpSums made;
  made.type = sums.front().getType();
  made.elements = ofLane * static_cast<int64_t>(sums.size());
  made.memory = allocateShared(made.elements, made.type);
  auto [part, place] = divide(term, termsInWarp);
  Value slot =
      elementIndex(0, {threads.results, 1}, ArrayRef<Value>{part, result});
  writeIf(termsInWarp == 1 ? Value() : isZero(place), [&] {
    for (auto [number, sum] : llvm::enumerate(sums)) {
      Value index =
          elementIndex(static_cast<int64_t>(number) * ofLane, {1}, {slot});
      memref::StoreOp::create(builder, location, sum, made.memory,
                              inGroup(index, made.elements, made.type));
    }
  });
  return made;
}

/// The sums of this thread's result in `lanes`, each of its warps' in order.
SmallVector<Value> LaunchWriter::addWarpSums(Operation *combiner,
                                             const WarpSums &made,
                                             ArrayRef<Value> lanes) {
  const int64_t results = current->threads.results;
  const int64_t parts = partsBetweenWarps();
  auto load = [&](Value lane, Value part) -> Value {
    Value index = elementIndex(0, {laneStride(), results, 1},
                               ArrayRef<Value>{lane, part, result});
    return memref::LoadOp::create(builder, location, made.memory,
                                  inGroup(index, made.elements, made.type));
  };
  auto firsts = llvm::map_to_vector(
      lanes, [&](Value lane) { return load(lane, constantIndex(0)); });
  auto loop =
      scf::ForOp::create(builder, location, constantIndex(1),
                         constantIndex(parts), constantIndex(1), firsts);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next;
  for (auto [lane, sum] : llvm::zip_equal(lanes, loop.getRegionIterArgs()))
    next.push_back(combine(combiner, sum, load(lane, loop.getInductionVar())));
  scf::YieldOp::create(builder, location, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

/// One thread for each lane adds the sums of warps and stores, where `exists`.
void LaunchWriter::storeByLane(ArrayRef<WarpSums> made, int loop, Value first,
                               int64_t lanes, Value exists) {
  Value isWriter = isLess(term, lanes);
  if (exists)
    isWriter = arith::AndIOp::create(builder, location, exists, isWriter);
  writeIf(isWriter, [&] {
    Value own = lanes == 1 ? constantIndex(0) : term;
    SmallVector<Value> sums;
    for (auto [output, each] : llvm::enumerate(made)) {
      const auto number = static_cast<int64_t>(output);
      sums.push_back(withStart(
          number, addWarpSums(combinerOf(code(), number), each, own).front()));
    }
    lane = 0;
    if (loop >= 0)
      countLoop(loop, elementIndex(0, {1, 1}, ArrayRef<Value>{first, own}));
    storeAll(sums);
  });
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// How many steps are added in f32 before they go to a sum in f64: the terms of
/// a vector, or of four steps. Only where what is summed is made of 16-bit
/// elements, beside whose rounding that of f32 is nothing; 0 elsewhere.
/// Conversions to f64 take four times as long as its additions.
int64_t LaunchWriter::narrowSteps(const Share &terms,
                                  int64_t resultLanes) const {
  constexpr int64_t neighbours = 4, bytesOfNarrow = 2;
  for (unsigned number = 0; number < writes().size(); ++number) {
    auto sum = dyn_cast_if_present<arith::AddFOp>(combinerOf(code(), number));
    if (!sum || !sum.getType().isF64() ||
        !termOf(code(), number).getType().isF32())
      return 0;
  }
  int64_t most = 0, bytes = 0;
  for (const StageAccess &access : stage().accesses) {
    int64_t elements = 1;
    for (auto [size, stride] : llvm::zip_equal(stage().sizes, access.strides))
      elements *= stride == 0 ? 1 : size;
    if (access.isWrite || elements < most)
      continue;
    const int64_t own = schedule.merged.tensors[access.tensor].elementBytes;
    bytes = elements > most ? own : std::max(bytes, own);
    most = elements;
  }
  if (bytes != bytesOfNarrow)
    return 0;
  return resultLanes == 1 && terms.vector > 1 ? 1 : neighbours;
}

/// Adds the terms of a step to sums in f32, which are null before the first.
void LaunchWriter::addTerms(const Share &terms, int resultLoop,
                            Value firstResult, MutableArrayRef<Value> sums) {
  const size_t outputs = writes().size();
  const auto resultLanes = static_cast<int64_t>(sums.size() / outputs);
  const int termLoop = terms.loops.back();
  Value firstTerm = digits[termLoop];
  readLanes(resultLanes > 1 ? resultLoop : termLoop,
            std::max(resultLanes, terms.vector));
  for (int64_t i = 0; i < resultLanes; ++i)
    for (int64_t j = 0; j < terms.vector; ++j) {
      if (resultLanes > 1)
        moveToLane(resultLoop, firstResult, i);
      else
        moveToLane(termLoop, firstTerm, j);
      for (auto [sum, term] :
           llvm::zip_equal(sums.slice(i * outputs, outputs), writeTerms()))
        sum = sum ? arith::AddFOp::create(builder, location, sum, term)
                        .getResult()
                  : term;
    }
  lanes.clear();
  if (resultLanes > 1)
    moveToLane(resultLoop, firstResult, 0);
}

/// `groups` times `together` steps, which all exist.
SmallVector<Value>
LaunchWriter::writeNarrowSums(const Share &terms, int resultLoop,
                              Value firstResult, int64_t groups,
                              int64_t together, ValueRange starts) {
  auto writeGroup = [&](Value number, ValueRange before) {
    SmallVector<Value> sums(before.size());
    for (int64_t i = 0; i < together; ++i) {
      (void)beginStep(terms, elementIndex(i, {together}, {number}),
                      /*isWhole=*/true);
      addTerms(terms, resultLoop, firstResult, sums);
    }
    for (auto [i, sum] : llvm::enumerate(sums)) {
      Value wide =
          arith::ExtFOp::create(builder, location, before[i].getType(), sum);
      sum = combine(combinerOf(code(), i % writes().size()), before[i], wide);
    }
    return sums;
  };
  if (groups == 0)
    return llvm::to_vector(starts);
  if (groups == 1)
    return writeGroup(constantIndex(0), starts);
  auto loop =
      scf::ForOp::create(builder, location, constantIndex(0),
                         constantIndex(groups), constantIndex(1), starts);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(
      builder, location,
      writeGroup(loop.getInductionVar(), loop.getRegionIterArgs()));
  return llvm::to_vector_of<Value>(loop.getResults());
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
  int64_t begin = 0;
  if (const int64_t together = narrowSteps(terms, resultLanes)) {
    const int64_t groups = countWholeSteps(terms) / together;
    starts = writeNarrowSums(terms, resultLoop, firstResult, groups, together,
                             starts);
    begin = groups * together;
  }
  return writeCarryingSteps(terms, begin, starts, [&](ValueRange carried) {
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
    auto write = [&] {
      return writePartialSums(terms, last, first, results.vector);
    };
    SmallVector<Value> sums =
        exists ? writeWhere(exists, write, results.vector) : write();
    SmallVector<SmallVector<Value>> ofOutputs(outputs);
    for (int64_t output = 0; output < outputs; ++output) {
      for (int64_t i = 0; i < results.vector; ++i)
        ofOutputs[output].push_back(sums[i * outputs + output]);
      combineInWarp(combinerOf(code(), output), ofOutputs[output]);
    }
    storeSharedSums(ofOutputs, last, first, exists);
    // The next step's sums go the same way between warps.
    if (results.steps > 1 && launch.group > warpThreads)
      meet();
  });
}

/// Combines the sums of warps, of each output and lane, and stores them where
/// `exists`.
void LaunchWriter::storeSharedSums(
    MutableArrayRef<SmallVector<Value>> ofOutputs, int loop, Value first,
    Value exists) {
  const auto lanes = static_cast<int64_t>(ofOutputs.front().size());
  SmallVector<WarpSums> made;
  if (partsBetweenWarps() > 1) {
    for (ArrayRef<Value> sums : ofOutputs)
      made.push_back(writeWarpSums(sums));
    meet();
  }
  const bool hasCopies = llvm::any_of(writes(), [&](const StageAccess &access) {
    return isOfThread(access.tensor);
  });
  if (!made.empty() && !hasCopies && current->threads.terms >= lanes)
    return storeByLane(made, loop, first, lanes, exists);
  SmallVector<SmallVector<Value>> values(lanes);
  for (auto [output, sums] : llvm::enumerate(ofOutputs)) {
    const auto number = static_cast<int64_t>(output);
    SmallVector<Value> all;
    for (int64_t i = 0; i < lanes && !made.empty(); ++i)
      all.push_back(constantIndex(i));
    if (!made.empty())
      sums = addWarpSums(combinerOf(code(), number), made[output], all);
    for (int64_t i = 0; i < lanes; ++i)
      values[i].push_back(withStart(number, sums[i]));
  }
  Value isWriter = current->threads.terms == 1 ? Value() : isZero(term);
  if (exists && isWriter)
    isWriter = arith::AndIOp::create(builder, location, exists, isWriter);
  storeLanes(values, loop, first, isWriter ? isWriter : exists);
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

} // namespace shardc::kernel
