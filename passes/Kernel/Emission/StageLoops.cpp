//===- StageLoops.cpp - The loops of one stage ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Point-wise nests, reductions in a register, in lanes or over a block of
// neighbours, scans and scatters, each in an order that shapes alone decide.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Emission/LaunchWriter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace shardc::kernel {

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

ArrayRef<StageAccess> LaunchWriter::writes() const {
  ArrayRef<StageAccess> accesses = stage().accesses;
  return accesses.drop_while(
      [](const StageAccess &access) { return !access.isWrite; });
}

void LaunchWriter::storeAll(ValueRange values) {
  for (auto [value, access] : llvm::zip_equal(values, writes()))
    store(value, access);
}

SmallVector<Value> LaunchWriter::startValues() {
  return llvm::map_to_vector(code().starts,
                             [&](TypedAttr start) { return constant(start); });
}

void LaunchWriter::countLoop(int loop, Value counter) {
  counters[loop] = digits[loop] = counter;
  if (const int blocked = current->blockedNumber(loop); blocked >= 0)
    counters[loop] = elementIndex(0, {1, 1}, {blockStarts[blocked], counter});
}

Value LaunchWriter::loopEnd(int loop) {
  const int blocked = current->blockedNumber(loop);
  return blocked < 0 ? constantIndex(stage().sizes[loop]) : blockEnds[blocked];
}

/// A loop of `size` iterations, inside which the builder writes on; returns its
/// counter.
Value LaunchWriter::writeLoop(int64_t size) {
  auto loop = scf::ForOp::create(builder, location, constantIndex(0),
                                 constantIndex(size), constantIndex(1));
  builder.setInsertionPointToStart(loop.getBody());
  return loop.getInductionVar();
}

/// `loops` around what `inside` writes.
void LaunchWriter::writeLoops(ArrayRef<int> loops,
                              function_ref<void()> inside) {
  if (loops.empty())
    return inside();
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, location, constantIndex(0),
                                 loopEnd(loops.front()), constantIndex(1));
  builder.setInsertionPointToStart(loop.getBody());
  countLoop(loops.front(), loop.getInductionVar());
  writeLoops(loops.drop_front(), inside);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static constexpr int64_t laneCount = 16;

SmallVector<Value> LaunchWriter::writeReduction(ArrayRef<int> loops) {
  bool hasLanes = !schedule.hasBlocks && !loops.empty() &&
                  stage().sizes[loops.back()] >= 2 * laneCount;
  for (unsigned i = 0; i < writes().size() && hasLanes; ++i)
    hasLanes = combinerOf(code(), i) != nullptr;
  return hasLanes ? writeLaneReduction(loops)
                  : writeSerialReduction(loops, startValues());
}

/// Short loops, which carry their values in registers.
SmallVector<Value> LaunchWriter::writeSerialReduction(ArrayRef<int> loops,
                                                      ValueRange carried) {
  if (loops.empty())
    return writeBody(carried);
  OpBuilder::InsertionGuard guard(builder);
  auto loop =
      scf::ForOp::create(builder, location, constantIndex(0),
                         loopEnd(loops.front()), constantIndex(1), carried);
  builder.setInsertionPointToStart(loop.getBody());
  countLoop(loops.front(), loop.getInductionVar());
  SmallVector<Value> next =
      writeSerialReduction(loops.drop_front(), loop.getRegionIterArgs());
  scf::YieldOp::create(builder, location, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

Value termOf(const StageBody &code, unsigned number) {
  Operation *combiner = combinerOf(code, number);
  Value carried = code.body->getArgument(code.inputs.size() + number);
  Value term = combiner->getOperand(combiner->getOperand(0) == carried ? 1 : 0);
  if (auto wide = term.getDefiningOp<arith::ExtFOp>())
    term = wide.getIn();
  return term;
}

/// Memory for the terms of 16 lanes where they are to have a loop of their own:
/// a vector holds more numbers of their type than of the sum's, and they take
/// long enough to compute. Else nothing.
SmallVector<Value> LaunchWriter::allocateTerms() {
  constexpr size_t fewOperations = 8;
  bool isNarrow = false;
  bool isLong = code().body->getOperations().size() > fewOperations ||
                llvm::any_of(*code().body, [](Operation &op) {
                  return isa<math::MathDialect>(op.getDialect());
                });
  SmallVector<Value> terms;
  for (unsigned number = 0; number < writes().size(); ++number) {
    Type term = termOf(code(), number).getType();
    Type sum = code().starts[number].getType();
    isNarrow |= term.getIntOrFloatBitWidth() < sum.getIntOrFloatBitWidth();
  }
  for (unsigned number = 0; number < writes().size() && isNarrow && isLong;
       ++number)
    terms.push_back(memref::AllocaOp::create(
        builder, location,
        MemRefType::get(laneCount, termOf(code(), number).getType())));
  return terms;
}

/// The terms of one iteration, of each output.
SmallVector<Value> LaunchWriter::writeTerms() {
  IRMapping values;
  readInputs(values);
  const auto outputs = static_cast<unsigned>(writes().size());
  llvm::SmallPtrSet<Operation *, 4> combiners;
  for (unsigned number = 0; number < outputs; ++number)
    combiners.insert(combinerOf(code(), number));
  for (Operation &op : code().body->without_terminator())
    if (!combiners.contains(&op))
      writeOperation(&op, values);
  SmallVector<Value> terms;
  for (unsigned number = 0; number < outputs; ++number) {
    Value term = termOf(code(), number);
    auto outside = term.getDefiningOp<arith::ConstantOp>();
    terms.push_back(outside && !values.contains(term)
                        ? constant(outside.getValue())
                        : values.lookup(term));
  }
  return terms;
}

/// Iterations chunk * 16 + [0, count) of `loop`, each into its lane.
void LaunchWriter::writeLanes(ArrayRef<Value> lanes, ArrayRef<Value> terms,
                              int loop, Value chunk, int64_t count) {
  if (!terms.empty()) {
    OpBuilder::InsertionGuard guard(builder);
    Value lane = writeLoop(count);
    counters[loop] = elementIndex(0, {laneCount, 1}, {chunk, lane});
    for (auto [term, memory] : llvm::zip_equal(writeTerms(), terms))
      memref::StoreOp::create(builder, location, term, memory, lane);
  }
  OpBuilder::InsertionGuard guard(builder);
  Value lane = writeLoop(count);
  counters[loop] = elementIndex(0, {laneCount, 1}, {chunk, lane});
  for (unsigned number = 0; number < terms.size(); ++number) {
    Operation *combiner = combinerOf(code(), number);
    Value carried = code().body->getArgument(code().inputs.size() + number);
    Value sum = memref::LoadOp::create(builder, location, lanes[number], lane);
    Value term = memref::LoadOp::create(builder, location, terms[number], lane);
    if (term.getType() != sum.getType())
      term = arith::ExtFOp::create(builder, location, sum.getType(), term);
    bool isFirst = combiner->getOperand(0) == carried;
    Operation *combined = builder.clone(*combiner);
    combined->setOperands({isFirst ? sum : term, isFirst ? term : sum});
    memref::StoreOp::create(builder, location, combined->getResult(0),
                            lanes[number], lane);
  }
  if (!terms.empty())
    return;
  SmallVector<Value> carried;
  for (Value values : lanes)
    carried.push_back(memref::LoadOp::create(builder, location, values, lane));
  for (auto [value, values] : llvm::zip_equal(writeBody(carried), lanes))
    memref::StoreOp::create(builder, location, value, values, lane);
}

/// Lanes 0 and 8, 1 and 9, …; then 0 and 4, …, until lane 0 holds all.
void LaunchWriter::combineLanes(Operation *combiner, Value lanes) {
  for (int64_t half = laneCount / 2; half > 0; half /= 2) {
    OpBuilder::InsertionGuard guard(builder);
    Value lane = writeLoop(half);
    Value other = elementIndex(half, {1}, lane);
    Value low = memref::LoadOp::create(builder, location, lanes, lane);
    Value high = memref::LoadOp::create(builder, location, lanes, other);
    Operation *combined = builder.clone(*combiner);
    combined->setOperands({low, high});
    memref::StoreOp::create(builder, location, combined->getResult(0), lanes,
                            lane);
  }
}

/// What 15 of the lanes start with. The reduction's start counts once, unless
/// combining it with itself changes nothing.
Value LaunchWriter::startOfFurtherLanes(Operation *combiner, Value start) {
  if (!isa<arith::AddFOp, arith::AddIOp, arith::MulFOp>(combiner))
    return start;
  return arith::ConstantOp::create(builder, location,
                                   *arith::getNeutralElement(combiner));
}

/// One buffer of lanes an output.
SmallVector<Value> LaunchWriter::startLanes() {
  SmallVector<Value> lanes;
  for (auto [number, start] : llvm::enumerate(startValues())) {
    auto type = MemRefType::get(laneCount, start.getType());
    Value memory = memref::AllocaOp::create(builder, location, type);
    lanes.push_back(memory);
    Value further = startOfFurtherLanes(combinerOf(code(), number), start);
    {
      OpBuilder::InsertionGuard guard(builder);
      Value lane = writeLoop(laneCount);
      memref::StoreOp::create(builder, location, further, memory, lane);
    }
    memref::StoreOp::create(builder, location, start, memory, constantIndex(0));
  }
  return lanes;
}

SmallVector<Value> LaunchWriter::writeLaneReduction(ArrayRef<int> loops) {
  SmallVector<Value> lanes = startLanes(), terms = allocateTerms();
  int last = loops.back();
  int64_t chunks = stage().sizes[last] / laneCount;
  int64_t rest = stage().sizes[last] % laneCount;
  writeLoops(loops.drop_back(), [&] {
    {
      OpBuilder::InsertionGuard guard(builder);
      Value chunk = writeLoop(chunks);
      writeLanes(lanes, terms, last, chunk, laneCount);
    }
    if (rest != 0)
      writeLanes(lanes, terms, last, constantIndex(chunks), rest);
  });
  SmallVector<Value> results;
  for (auto [number, memory] : llvm::enumerate(lanes)) {
    combineLanes(combinerOf(code(), number), memory);
    results.push_back(
        memref::LoadOp::create(builder, location, memory, constantIndex(0)));
  }
  return results;
}

/// Sums of a block of neighbours, which stay in the output while `reduced`
/// loops run outside the loops `after`.
void LaunchWriter::writeBlockReduction(ArrayRef<int> reduced,
                                       ArrayRef<int> after) {
  writeLoops(after, [&] { storeAll(startValues()); });
  SmallVector<int> loops(reduced);
  llvm::append_range(loops, after);
  writeLoops(loops, [&] {
    SmallVector<Value> sums;
    for (const StageAccess &access : writes())
      sums.push_back(load(access));
    storeAll(writeBody(sums));
  });
}

/// A loop that carries its values in registers and stores them each time.
void LaunchWriter::writeScan(ArrayRef<int> loops) {
  if (loops.empty()) // A dimension of one element.
    return storeAll(writeBody(startValues()));
  int scanned = loops.front();
  OpBuilder::InsertionGuard guard(builder);
  auto loop =
      scf::ForOp::create(builder, location, constantIndex(0), loopEnd(scanned),
                         constantIndex(1), startValues());
  builder.setInsertionPointToStart(loop.getBody());
  countLoop(scanned, loop.getInductionVar());
  SmallVector<Value> next = writeBody(loop.getRegionIterArgs());
  storeAll(next);
  scf::YieldOp::create(builder, location, next);
}

/// A scan outside of loops over neighbours, whose values stay in the output:
/// the first iteration begins with the starts, each other one with what the one
/// before it stored.
void LaunchWriter::writeBlockScan(int scanned, ArrayRef<int> after) {
  counters[scanned] = constantIndex(0);
  writeLoops(after, [&] { storeAll(writeBody(startValues())); });
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, location, constantIndex(1),
                                 loopEnd(scanned), constantIndex(1));
  builder.setInsertionPointToStart(loop.getBody());
  Value counter = loop.getInductionVar();
  Value before = elementIndex(-1, {1}, counter);
  writeLoops(after, [&] {
    SmallVector<Value> carried;
    counters[scanned] = before;
    for (const StageAccess &access : writes())
      carried.push_back(load(access));
    counters[scanned] = counter;
    storeAll(writeBody(carried));
  });
}

/// Changes the element of one iteration.
void LaunchWriter::writeScatter() {
  Block &body = *code().body;
  SmallVector<Operation *> independent, dependent;
  cast<exec::ScatterOp>(body.getParentOp()).partition(independent, dependent);
  IRMapping values;
  readInputs(values);
  for (Operation *op : independent)
    writeOperation(op, values);
  auto valueOf = [&](Value value) {
    auto outside = value.getDefiningOp<arith::ConstantOp>();
    return outside && !values.contains(value) ? constant(outside.getValue())
                                              : values.lookup(value);
  };
  // The computed indices stand behind the loops' counters.
  StageAccess access = writes().front();
  SmallVector<Value> loops(counters);
  Operation *yield = body.getTerminator();
  for (auto [value, index] :
       llvm::zip(yield->getOperands().drop_back(), access.computed)) {
    access.strides.push_back(index.stride);
    counters.push_back(held(valueOf(value), index.size));
  }
  values.map(body.getArguments().back(), load(access));
  for (Operation *op : dependent)
    writeOperation(op, values);
  store(valueOf(yield->getOperands().back()), access);
  counters = loops;
}

void LaunchWriter::writeStage(const ScheduledStage &scheduled) {
  current = &scheduled;
  counters.assign(stage().sizes.size(), Value());
  digits = counters;
  for (auto [loop, counter] :
       llvm::zip_equal(scheduled.launchLoops, launchCounters))
    counters[loop] = counter;
  ArrayRef<int> loops = scheduled.innerLoops;
  if (stage().scatters)
    return writeLoops(loops, [&] { writeScatter(); });
  auto isReduced = [&](int loop) { return stage().reduced[loop]; };
  ArrayRef<int> before = loops.take_until(isReduced);
  ArrayRef<int> reduced = loops.drop_front(before.size()).take_while(isReduced);
  ArrayRef<int> after = loops.drop_front(before.size() + reduced.size());
  writeLoops(before, [&] {
    if (stage().scans && !reduced.empty() && !after.empty())
      writeBlockScan(reduced.front(), after);
    else if (stage().scans)
      writeScan(reduced);
    else if (after.empty())
      storeAll(writeReduction(reduced));
    else
      writeBlockReduction(reduced, after);
  });
}

} // namespace shardc::kernel
