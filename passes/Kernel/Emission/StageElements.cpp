//===- StageElements.cpp - Elements and bodies of a stage -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One load or store at a time, at the counters of the current iteration.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Emission/StageElements.h"

#include "passes/Kernel/Schedule/ThreadSchedule.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace shardc::kernel {

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Where the element of the current iteration is in the tile of `access`.
Value StageElements::tileIndex(const StageAccess &access) {
  const int number = state.accessNumber(access);
  Value index = state.elementIndex(
      0, {tilePitch(state.schedule, state.launch, *state.current, number), 1},
      ArrayRef<Value>{state.digits[state.current->innerLoops.back()],
                      state.digits[tileLineLoop(*state.current)]});
  return state.inGroup(
      index, tileElements(state.schedule, state.launch, *state.current, number),
      state.problem.storages[access.tensor].element);
}

/// A private tensor is addressed inside the iteration: launch counters do not
/// count, and blocked loops count from their block's start.
Value StageElements::accessIndex(const StageAccess &access) {
  if (!state.isPrivate(access.tensor))
    return state.elementIndex(access.offset, access.strides, state.counters);
  const TensorPlacement &placement = state.schedule.placements[access.tensor];
  if (placement.ofThread)
    return state.constantIndex(state.step * state.current->threads.vector +
                               state.lane);
  SmallVector<int64_t> strides;
  SmallVector<Value> inside(state.counters);
  for (int64_t stride : access.strides)
    strides.push_back(placement.privateStride(stride));
  for (int loop : state.current->launchLoops)
    strides[loop] = 0;
  for (int loop : state.current->blockedLoops)
    inside[loop] = state.digits[loop];
  Value index = state.elementIndex(placement.privateOffset(access.offset),
                                   strides, inside);
  return state.isOfThread(access.tensor)
             ? index
             : state.inGroup(index, placement.elements,
                             state.problem.storages[access.tensor].element);
}

/// Element `index` of a tensor.
Value StageElements::readElement(int tensor, Value index) {
  const TensorStorage &storage = state.problem.storages[tensor];
  if (storage.kind == TensorStorage::Kind::Iota)
    return state.create<arith::IndexCastOp>(storage.element, index);
  return state.create<memref::LoadOp>(state.buffers[tensor], index);
}

Value StageElements::load(const StageAccess &access) {
  if (auto known = state.lanes.find(&access); known != state.lanes.end())
    return known->second[state.lane];
  if (auto tile = state.tiles.find(&access); tile != state.tiles.end())
    return state.create<memref::LoadOp>(tile->second, tileIndex(access));
  return readElement(access.tensor, accessIndex(access));
}

void StageElements::store(Value value, const StageAccess &access) {
  state.create<memref::StoreOp>(value, state.buffers[access.tensor],
                                accessIndex(access));
}

void StageElements::storeAll(ValueRange values) {
  for (auto [value, access] : llvm::zip_equal(values, state.writes()))
    store(value, access);
}

/// `index`, inside of `size` elements.
Value StageElements::held(Value index, int64_t size) {
  Value min = state.create<arith::MaxSIOp>(index, state.constantIndex(0));
  return state.create<arith::MinSIOp>(min, state.constantIndex(size - 1));
}

Value StageElements::gather(tensor::ExtractOp extract,
                            const IRMapping &values) {
  const TensorPlace &place = state.problem.places.at(extract.getTensor());
  if (place.splat)
    return state.constant(place.splat);
  // What the data says must not lead out of the tensor, whatever it says: the
  // runtime checks the inputs, but it trusts the artifact's bounds for them.
  SmallVector<Value> indices;
  for (auto [index, size] : llvm::zip_equal(
           extract.getIndices(), extract.getTensor().getType().getShape()))
    indices.push_back(held(values.lookupOrDefault(index), size));
  return readElement(place.tensor,
                     state.elementIndex(place.offset, place.strides, indices));
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

void StageElements::writeOperation(Operation *op, IRMapping &values) {
  for (Value operand : op->getOperands())
    if (auto outside = operand.getDefiningOp<arith::ConstantOp>();
        outside && !values.contains(operand))
      values.map(operand, state.constant(outside.getValue()));
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    int loop = state.code().loops[index.getDim()];
    values.map(
        index,
        loop < 0
            ? state.constantIndex(0)
            : state.counters[state.schedule
                                 .loopNumbers[state.current->stage][loop]]);
    return;
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    values.map(extract, gather(extract, values));
    return;
  }
  state.builder.clone(*op, values);
}

/// Maps the body's arguments to elements of the current iteration.
void StageElements::readInputs(IRMapping &values) {
  for (auto [i, access] : llvm::enumerate(state.code().reads)) {
    BlockArgument argument = state.code().body->getArgument(i);
    if (access >= 0)
      values.map(argument, load(state.stage().accesses[access]));
    else if (!argument.use_empty())
      values.map(argument,
                 state.constant(
                     state.problem.places.at(state.code().inputs[i]).splat));
  }
}

/// The values that the body yields, from elements of the current iteration and
/// the values that a reduction carries.
SmallVector<Value> StageElements::writeBody(ValueRange carried) {
  if (!state.code().body)
    return {state.code().fill ? state.constant(state.code().fill)
                              : load(state.stage().accesses.front())};
  Block &body = *state.code().body;
  IRMapping values;
  readInputs(values);
  for (auto [argument, value] : llvm::zip(
           body.getArguments().drop_front(state.code().inputs.size()), carried))
    values.map(argument, value);
  for (Operation &op : body.without_terminator())
    writeOperation(&op, values);
  SmallVector<Value> yielded;
  for (Value value : body.getTerminator()->getOperands()) {
    auto outside = value.getDefiningOp<arith::ConstantOp>();
    yielded.push_back(outside && !values.contains(value)
                          ? state.constant(outside.getValue())
                          : values.lookup(value));
  }
  return yielded;
}

/// The terms of one iteration, of each output.
SmallVector<Value> StageElements::writeTerms() {
  IRMapping values;
  readInputs(values);
  const auto outputs = static_cast<unsigned>(state.writes().size());
  llvm::SmallPtrSet<Operation *, 4> combiners;
  for (unsigned number = 0; number < outputs; ++number)
    combiners.insert(combinerOf(state.code(), number));
  for (Operation &op : state.code().body->without_terminator())
    if (!combiners.contains(&op))
      writeOperation(&op, values);
  SmallVector<Value> terms;
  for (unsigned number = 0; number < outputs; ++number) {
    Value term = termOf(state.code(), number);
    auto outside = term.getDefiningOp<arith::ConstantOp>();
    terms.push_back(outside && !values.contains(term)
                        ? state.constant(outside.getValue())
                        : values.lookup(term));
  }
  return terms;
}

SmallVector<Value> StageElements::startValues() {
  return llvm::map_to_vector(state.code().starts, [&](TypedAttr start) {
    return state.constant(start);
  });
}

/// What 15 of the lanes start with. The reduction's start counts once, unless
/// combining it with itself changes nothing.
Value StageElements::startOfFurtherLanes(Operation *combiner, Value start) {
  if (!isa<arith::AddFOp, arith::AddIOp, arith::MulFOp>(combiner))
    return start;
  return state.create<arith::ConstantOp>(*arith::getNeutralElement(combiner));
}

} // namespace shardc::kernel
