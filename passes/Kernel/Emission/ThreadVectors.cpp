//===- ThreadVectors.cpp - What a thread moves at a time ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Accesses of up to 16 bytes where neighbouring iterations touch neighbouring
// elements, and the elements of each lane.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Emission/ThreadVectors.h"

#include "dialects/Aten/ElementBytes.h"
#include "passes/Kernel/Schedule/ThreadSchedule.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace shardc::kernel {

/// What the lanes of a vector read along `loop`, whose counter is at its first:
/// by vectors, once where all lanes read the same, or else lane by lane.
void ThreadVectors::readLanes(int loop, int64_t count) {
  state.lanes.clear();
  if (count == 1)
    return;
  for (const StageAccess &access : state.stage().accesses) {
    const bool isStored =
        state.problem.storages[access.tensor].kind != TensorStorage::Kind::Iota;
    if (access.isWrite || !isStored)
      continue;
    SmallVector<Value> values;
    if (access.strides[loop] == 0)
      values.assign(count, elements.load(access));
    else if (isVector(access, loop, count))
      values = loadVector(access, count);
    if (!values.empty())
      state.lanes[&access] = values;
  }
}

/// Whether `count` neighbours along `loop` are one access. What a thread has
/// for itself is in registers, which have no vectors.
bool ThreadVectors::isVector(const StageAccess &access, int loop,
                             int64_t count) const {
  return !state.isOfThread(access.tensor) &&
         isVectorAccess(state.schedule, state.stage(), access, loop, count);
}

/// Elements of one vector; a wider one is several.
int64_t ThreadVectors::vectorElements(const StageAccess &access,
                                      int64_t count) const {
  return std::min(
      count, 16 / state.schedule.merged.tensors[access.tensor].elementBytes);
}

/// A vector lies at a multiple of its bytes.
static llvm::MaybeAlign alignmentOf(VectorType type) {
  return llvm::MaybeAlign(type.getNumElements() *
                          getElementBytes(type.getElementType()));
}

SmallVector<Value> ThreadVectors::loadVector(const StageAccess &access,
                                             int64_t count) {
  SmallVector<Value> values;
  const int64_t each = vectorElements(access, count);
  auto type =
      VectorType::get(each, state.problem.storages[access.tensor].element);
  Value index = elements.accessIndex(access);
  requireAlignment(access, each);
  for (int64_t first = 0; first < count; first += each) {
    Value vector =
        state.create<vector::LoadOp>(type, state.buffers[access.tensor],
                                     state.elementIndex(first, {1}, {index}),
                                     /*nontemporal=*/false, alignmentOf(type));
    for (int64_t lane = 0; lane < each; ++lane)
      values.push_back(state.create<vector::ExtractOp>(vector, lane));
  }
  return values;
}

void ThreadVectors::storeVector(ArrayRef<Value> values,
                                const StageAccess &access) {
  const auto count = static_cast<int64_t>(values.size());
  const int64_t each = vectorElements(access, count);
  auto type = VectorType::get(each, values.front().getType());
  Value index = elements.accessIndex(access);
  requireAlignment(access, each);
  for (int64_t first = 0; first < count; first += each) {
    Value vector =
        state.create<vector::FromElementsOp>(type, values.slice(first, each));
    state.create<vector::StoreOp>(vector, state.buffers[access.tensor],
                                  state.elementIndex(first, {1}, {index}),
                                  /*nontemporal=*/false, alignmentOf(type));
  }
}

/// The operand's address must be a multiple of a vector's bytes.
void ThreadVectors::requireAlignment(const StageAccess &access,
                                     int64_t elements) {
  auto argument = dyn_cast<BlockArgument>(state.buffers[access.tensor]);
  if (!argument)
    return;
  const int64_t bytes =
      elements * state.schedule.merged.tensors[access.tensor].elementBytes;
  auto known = state.function.getArgAttrOfType<IntegerAttr>(
      argument.getArgNumber(), alignmentName);
  if (!known || known.getInt() < bytes)
    state.function.setArgAttr(argument.getArgNumber(), alignmentName,
                              state.builder.getI64IntegerAttr(bytes));
}

/// Moves the counter of `loop` by `lane`, from the place of the first lane.
void ThreadVectors::moveToLane(int loop, Value first, int64_t number) {
  state.lane = number;
  state.countLoop(loop, state.elementIndex(number, {1}, {first}));
}

/// Stores one result for each lane; what each thread has a copy of, it stores,
/// the rest where `isWriter` holds.
void ThreadVectors::storeLanes(ArrayRef<SmallVector<Value>> results, int loop,
                               Value first, Value isWriter) {
  const auto count = static_cast<int64_t>(results.size());
  for (auto [number, access] : llvm::enumerate(state.writes())) {
    SmallVector<Value> values;
    for (const SmallVector<Value> &lane : results)
      values.push_back(lane[number]);
    state.writeIf(state.isOfThread(access.tensor) ? Value() : isWriter, [&] {
      if (loop >= 0)
        moveToLane(loop, first, 0);
      if (isVector(access, loop, count))
        return storeVector(values, access);
      for (int64_t i = 0; i < count; ++i) {
        if (loop >= 0)
          moveToLane(loop, first, i);
        elements.store(values[i], access);
      }
    });
  }
}

} // namespace shardc::kernel
