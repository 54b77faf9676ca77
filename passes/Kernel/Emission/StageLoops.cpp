//===- StageLoops.cpp - The loops of one stage ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Point-wise nests, reductions in a register, in lanes or over a block of
// neighbours, scans and scatters, each in an order that shapes alone decide.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Emission/StageLoops.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace shardc::kernel {

/// `loops` around what `inside` writes.
void StageLoops::writeLoops(ArrayRef<int> loops, function_ref<void()> inside) {
  if (loops.empty())
    return inside();
  OpBuilder::InsertionGuard guard(state.builder);
  auto loop = state.create<scf::ForOp>(state.constantIndex(0),
                                       state.loopEnd(loops.front()),
                                       state.constantIndex(1));
  state.builder.setInsertionPointToStart(loop.getBody());
  state.countLoop(loops.front(), loop.getInductionVar());
  writeLoops(loops.drop_front(), inside);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static constexpr int64_t laneCount = 16;

SmallVector<Value> StageLoops::writeReduction(ArrayRef<int> loops) {
  bool hasLanes = !state.schedule.hasBlocks && !loops.empty() &&
                  state.stage().sizes[loops.back()] >= 2 * laneCount;
  for (unsigned i = 0; i < state.writes().size() && hasLanes; ++i)
    hasLanes = combinerOf(state.code(), i) != nullptr;
  return hasLanes ? writeLaneReduction(loops)
                  : writeSerialReduction(loops, elements.startValues());
}

/// Short loops, which carry their values in registers.
SmallVector<Value> StageLoops::writeSerialReduction(ArrayRef<int> loops,
                                                    ValueRange carried) {
  if (loops.empty())
    return elements.writeBody(carried);
  OpBuilder::InsertionGuard guard(state.builder);
  auto loop = state.create<scf::ForOp>(state.constantIndex(0),
                                       state.loopEnd(loops.front()),
                                       state.constantIndex(1), carried);
  state.builder.setInsertionPointToStart(loop.getBody());
  state.countLoop(loops.front(), loop.getInductionVar());
  SmallVector<Value> next =
      writeSerialReduction(loops.drop_front(), loop.getRegionIterArgs());
  state.create<scf::YieldOp>(next);
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
SmallVector<Value> StageLoops::allocateTerms() {
  constexpr size_t fewOperations = 8;
  bool isNarrow = false;
  bool isLong = state.code().body->getOperations().size() > fewOperations ||
                llvm::any_of(*state.code().body, [](Operation &op) {
                  return isa<math::MathDialect>(op.getDialect());
                });
  SmallVector<Value> terms;
  for (unsigned number = 0; number < state.writes().size(); ++number) {
    Type term = termOf(state.code(), number).getType();
    Type sum = state.code().starts[number].getType();
    isNarrow |= term.getIntOrFloatBitWidth() < sum.getIntOrFloatBitWidth();
  }
  for (unsigned number = 0;
       number < state.writes().size() && isNarrow && isLong; ++number)
    terms.push_back(state.create<memref::AllocaOp>(
        MemRefType::get(laneCount, termOf(state.code(), number).getType())));
  return terms;
}

/// Iterations chunk * 16 + [0, count) of `loop`, each into its lane.
void StageLoops::writeLanes(ArrayRef<Value> lanes, ArrayRef<Value> terms,
                            int loop, Value chunk, int64_t count) {
  if (!terms.empty()) {
    OpBuilder::InsertionGuard guard(state.builder);
    Value lane = state.writeLoop(count);
    state.counters[loop] = state.elementIndex(0, {laneCount, 1}, {chunk, lane});
    for (auto [term, memory] : llvm::zip_equal(elements.writeTerms(), terms))
      state.create<memref::StoreOp>(term, memory, lane);
  }
  OpBuilder::InsertionGuard guard(state.builder);
  Value lane = state.writeLoop(count);
  state.counters[loop] = state.elementIndex(0, {laneCount, 1}, {chunk, lane});
  for (unsigned number = 0; number < terms.size(); ++number) {
    Operation *combiner = combinerOf(state.code(), number);
    Value carried =
        state.code().body->getArgument(state.code().inputs.size() + number);
    Value sum = state.create<memref::LoadOp>(lanes[number], lane);
    Value term = state.create<memref::LoadOp>(terms[number], lane);
    if (term.getType() != sum.getType())
      term = state.create<arith::ExtFOp>(sum.getType(), term);
    bool isFirst = combiner->getOperand(0) == carried;
    Operation *combined = state.builder.clone(*combiner);
    combined->setOperands({isFirst ? sum : term, isFirst ? term : sum});
    state.create<memref::StoreOp>(combined->getResult(0), lanes[number], lane);
  }
  if (!terms.empty())
    return;
  SmallVector<Value> carried;
  for (Value values : lanes)
    carried.push_back(state.create<memref::LoadOp>(values, lane));
  for (auto [value, values] :
       llvm::zip_equal(elements.writeBody(carried), lanes))
    state.create<memref::StoreOp>(value, values, lane);
}

/// Lanes 0 and 8, 1 and 9, …; then 0 and 4, …, until lane 0 holds all.
void StageLoops::combineLanes(Operation *combiner, Value lanes) {
  for (int64_t half = laneCount / 2; half > 0; half /= 2) {
    OpBuilder::InsertionGuard guard(state.builder);
    Value lane = state.writeLoop(half);
    Value other = state.elementIndex(half, {1}, lane);
    Value low = state.create<memref::LoadOp>(lanes, lane);
    Value high = state.create<memref::LoadOp>(lanes, other);
    Operation *combined = state.builder.clone(*combiner);
    combined->setOperands({low, high});
    state.create<memref::StoreOp>(combined->getResult(0), lanes, lane);
  }
}

/// One buffer of lanes an output.
SmallVector<Value> StageLoops::startLanes() {
  SmallVector<Value> lanes;
  for (auto [number, start] : llvm::enumerate(elements.startValues())) {
    auto type = MemRefType::get(laneCount, start.getType());
    Value memory = state.create<memref::AllocaOp>(type);
    lanes.push_back(memory);
    Value further =
        elements.startOfFurtherLanes(combinerOf(state.code(), number), start);
    {
      OpBuilder::InsertionGuard guard(state.builder);
      Value lane = state.writeLoop(laneCount);
      state.create<memref::StoreOp>(further, memory, lane);
    }
    state.create<memref::StoreOp>(start, memory, state.constantIndex(0));
  }
  return lanes;
}

SmallVector<Value> StageLoops::writeLaneReduction(ArrayRef<int> loops) {
  SmallVector<Value> lanes = startLanes(), terms = allocateTerms();
  int last = loops.back();
  int64_t chunks = state.stage().sizes[last] / laneCount;
  int64_t rest = state.stage().sizes[last] % laneCount;
  writeLoops(loops.drop_back(), [&] {
    {
      OpBuilder::InsertionGuard guard(state.builder);
      Value chunk = state.writeLoop(chunks);
      writeLanes(lanes, terms, last, chunk, laneCount);
    }
    if (rest != 0)
      writeLanes(lanes, terms, last, state.constantIndex(chunks), rest);
  });
  SmallVector<Value> results;
  for (auto [number, memory] : llvm::enumerate(lanes)) {
    combineLanes(combinerOf(state.code(), number), memory);
    results.push_back(
        state.create<memref::LoadOp>(memory, state.constantIndex(0)));
  }
  return results;
}

/// Sums of a block of neighbours, which stay in the output while `reduced`
/// loops run outside the loops `after`.
void StageLoops::writeBlockReduction(ArrayRef<int> reduced,
                                     ArrayRef<int> after) {
  writeLoops(after, [&] { elements.storeAll(elements.startValues()); });
  SmallVector<int> loops(reduced);
  llvm::append_range(loops, after);
  writeLoops(loops, [&] {
    SmallVector<Value> sums;
    for (const StageAccess &access : state.writes())
      sums.push_back(elements.load(access));
    elements.storeAll(elements.writeBody(sums));
  });
}

/// A loop that carries its values in registers and stores them each time.
void StageLoops::writeScan(ArrayRef<int> loops) {
  if (loops.empty()) // A dimension of one element.
    return elements.storeAll(elements.writeBody(elements.startValues()));
  int scanned = loops.front();
  OpBuilder::InsertionGuard guard(state.builder);
  auto loop =
      state.create<scf::ForOp>(state.constantIndex(0), state.loopEnd(scanned),
                               state.constantIndex(1), elements.startValues());
  state.builder.setInsertionPointToStart(loop.getBody());
  state.countLoop(scanned, loop.getInductionVar());
  SmallVector<Value> next = elements.writeBody(loop.getRegionIterArgs());
  elements.storeAll(next);
  state.create<scf::YieldOp>(next);
}

/// A scan outside of loops over neighbours, whose values stay in the output:
/// the first iteration begins with the starts, each other one with what the one
/// before it stored.
void StageLoops::writeBlockScan(int scanned, ArrayRef<int> after) {
  state.counters[scanned] = state.constantIndex(0);
  writeLoops(after, [&] {
    elements.storeAll(elements.writeBody(elements.startValues()));
  });
  OpBuilder::InsertionGuard guard(state.builder);
  auto loop = state.create<scf::ForOp>(
      state.constantIndex(1), state.loopEnd(scanned), state.constantIndex(1));
  state.builder.setInsertionPointToStart(loop.getBody());
  Value counter = loop.getInductionVar();
  Value before = state.elementIndex(-1, {1}, counter);
  writeLoops(after, [&] {
    SmallVector<Value> carried;
    state.counters[scanned] = before;
    for (const StageAccess &access : state.writes())
      carried.push_back(elements.load(access));
    state.counters[scanned] = counter;
    elements.storeAll(elements.writeBody(carried));
  });
}

/// Changes the element of one iteration.
void StageLoops::writeScatter() {
  Block &body = *state.code().body;
  SmallVector<Operation *> independent, dependent;
  cast<exec::ScatterOp>(body.getParentOp()).partition(independent, dependent);
  IRMapping values;
  elements.readInputs(values);
  for (Operation *op : independent)
    elements.writeOperation(op, values);
  auto valueOf = [&](Value value) {
    auto outside = value.getDefiningOp<arith::ConstantOp>();
    return outside && !values.contains(value)
               ? state.constant(outside.getValue())
               : values.lookup(value);
  };
  // The computed indices stand behind the loops' counters.
  StageAccess access = state.writes().front();
  SmallVector<Value> loops(state.counters);
  Operation *yield = body.getTerminator();
  for (auto [value, index] :
       llvm::zip(yield->getOperands().drop_back(), access.computed)) {
    access.strides.push_back(index.stride);
    state.counters.push_back(elements.held(valueOf(value), index.size));
  }
  values.map(body.getArguments().back(), elements.load(access));
  for (Operation *op : dependent)
    elements.writeOperation(op, values);
  elements.store(valueOf(yield->getOperands().back()), access);
  state.counters = loops;
}

void StageLoops::writeStage(const ScheduledStage &scheduled) {
  state.beginStage(scheduled);
  ArrayRef<int> loops = scheduled.innerLoops;
  if (state.stage().scatters)
    return writeLoops(loops, [&] { writeScatter(); });
  auto isReduced = [&](int loop) { return state.stage().reduced[loop]; };
  ArrayRef<int> before = loops.take_until(isReduced);
  ArrayRef<int> reduced = loops.drop_front(before.size()).take_while(isReduced);
  ArrayRef<int> after = loops.drop_front(before.size() + reduced.size());
  writeLoops(before, [&] {
    if (state.stage().scans && !reduced.empty() && !after.empty())
      writeBlockScan(reduced.front(), after);
    else if (state.stage().scans)
      writeScan(reduced);
    else if (after.empty())
      elements.storeAll(writeReduction(reduced));
    else
      writeBlockReduction(reduced, after);
  });
}

} // namespace shardc::kernel
