//===- ThreadVectors.cpp - What a thread reads and stores at a time -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Accesses of up to 16 bytes where neighbouring iterations touch neighbouring
// elements, and the elements of each lane.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/LaunchWriter.h"

#include "dialects/Aten/ElementBytes.h"
#include "passes/Kernel/ThreadSchedule.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace shardc::kernel {

/// What the lanes of a vector read along `loop`, whose counter is at its first:
/// by vectors, once where all lanes read the same, or else lane by lane.
void LaunchWriter::readLanes(int loop, int64_t count) {
  lanes.clear();
  if (count == 1)
    return;
  for (const StageAccess &access : stage().accesses) {
    const bool isStored =
        problem.storages[access.tensor].kind != TensorStorage::Kind::Iota;
    if (access.isWrite || !isStored)
      continue;
    SmallVector<Value> values;
    if (access.strides[loop] == 0)
      values.assign(count, load(access));
    else if (isVector(access, loop, count))
      values = loadVector(access, count);
    if (!values.empty())
      lanes[&access] = values;
  }
}

/// Whether `count` neighbours along `loop` are one access. What a thread has
/// for itself is in registers, which have no vectors.
bool LaunchWriter::isVector(const StageAccess &access, int loop,
                            int64_t count) const {
  return !isOfThread(access.tensor) &&
         isVectorAccess(schedule, stage(), access, loop, count);
}

/// Elements of one vector; a wider one is several.
int64_t LaunchWriter::vectorElements(const StageAccess &access,
                                     int64_t count) const {
  return std::min(count,
                  16 / schedule.merged.tensors[access.tensor].elementBytes);
}

/// A vector lies at a multiple of its bytes.
static llvm::MaybeAlign alignmentOf(VectorType type) {
  return llvm::MaybeAlign(type.getNumElements() *
                          getElementBytes(type.getElementType()));
}

SmallVector<Value> LaunchWriter::loadVector(const StageAccess &access,
                                            int64_t count) {
  SmallVector<Value> values;
  const int64_t each = vectorElements(access, count);
  auto type = VectorType::get(each, problem.storages[access.tensor].element);
  Value index = accessIndex(access);
  requireAlignment(access, each);
  for (int64_t first = 0; first < count; first += each) {
    Value vector =
        vector::LoadOp::create(builder, location, type, buffers[access.tensor],
                               elementIndex(first, {1}, {index}),
                               /*nontemporal=*/false, alignmentOf(type));
    for (int64_t lane = 0; lane < each; ++lane)
      values.push_back(
          vector::ExtractOp::create(builder, location, vector, lane));
  }
  return values;
}

void LaunchWriter::storeVector(ArrayRef<Value> values,
                               const StageAccess &access) {
  const auto count = static_cast<int64_t>(values.size());
  const int64_t each = vectorElements(access, count);
  auto type = VectorType::get(each, values.front().getType());
  Value index = accessIndex(access);
  requireAlignment(access, each);
  for (int64_t first = 0; first < count; first += each) {
    Value vector = vector::FromElementsOp::create(builder, location, type,
                                                  values.slice(first, each));
    vector::StoreOp::create(builder, location, vector, buffers[access.tensor],
                            elementIndex(first, {1}, {index}),
                            /*nontemporal=*/false, alignmentOf(type));
  }
}

/// The operand's address must be a multiple of a vector's bytes.
void LaunchWriter::requireAlignment(const StageAccess &access,
                                    int64_t elements) {
  auto argument = dyn_cast<BlockArgument>(buffers[access.tensor]);
  if (!argument)
    return;
  const int64_t bytes =
      elements * schedule.merged.tensors[access.tensor].elementBytes;
  auto known = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                      alignmentName);
  if (!known || known.getInt() < bytes)
    function.setArgAttr(argument.getArgNumber(), alignmentName,
                        builder.getI64IntegerAttr(bytes));
}

/// Moves the counter of `loop` by `lane`, from the place of the first lane.
void LaunchWriter::moveToLane(int loop, Value first, int64_t number) {
  lane = number;
  countLoop(loop, elementIndex(number, {1}, {first}));
}

/// Stores one result for each lane; what each thread has a copy of, it stores,
/// the rest where `isWriter` holds.
void LaunchWriter::storeLanes(ArrayRef<SmallVector<Value>> results, int loop,
                              Value first, Value isWriter) {
  const auto count = static_cast<int64_t>(results.size());
  for (auto [number, access] : llvm::enumerate(writes())) {
    SmallVector<Value> values;
    for (const SmallVector<Value> &lane : results)
      values.push_back(lane[number]);
    writeIf(isOfThread(access.tensor) ? Value() : isWriter, [&] {
      if (loop >= 0)
        moveToLane(loop, first, 0);
      if (isVector(access, loop, count))
        return storeVector(values, access);
      for (int64_t i = 0; i < count; ++i) {
        if (loop >= 0)
          moveToLane(loop, first, i);
        store(values[i], access);
      }
    });
  }
}

} // namespace shardc::kernel
