//===- ReferenceBytes.cpp - tensors in the bytes of a rank ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Strided elements are gathered into a row-major run of bytes and back.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/ProgramExecution.h"
#include "dialects/Reference/TensorBytes.h"

#include "llvm/Support/ErrorHandling.h"

#include <cstring>

using namespace mlir;

namespace shardc::reference {

static const RankBytes::Bytes &spaceOf(const RankBytes &memory,
                                       exec::RefAttr reference) {
  size_t index = reference.getIndex();
  switch (reference.getSpace()) {
  case exec::Space::arena:
    return memory.arena;
  case exec::Space::state:
    return memory.states[index];
  case exec::Space::input:
    return memory.inputs[index];
  case exec::Space::scalar:
    return memory.scalars[index];
  case exec::Space::constant:
    break;
  }
  llvm::reportFatalInternalError("programs have no constant space");
}

static int64_t elementBytes(exec::RefAttr reference) {
  return std::max<int64_t>(reference.getType().getElementTypeBitWidth() / 8, 1);
}

static int64_t beginOf(exec::RefAttr reference, int64_t rank) {
  return reference.getOffset() + rank * reference.getRankStride();
}

static SmallVector<int64_t> stridesOf(exec::RefAttr reference) {
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (failed(reference.getType().getStridesAndOffset(strides, offset)))
    llvm::reportFatalInternalError("references have static strides");
  return strides;
}

/// Whether the elements lie one after the other, in row-major order.
static bool isContiguous(exec::RefAttr reference) {
  ArrayRef<int64_t> shape = reference.getType().getShape();
  return llvm::all_of_zip(shape, stridesOf(reference), rowMajorStrides(shape),
                          [](int64_t size, int64_t stride, int64_t rowMajor) {
                            return size == 1 || stride == rowMajor;
                          });
}

/// The first byte of each element, in row-major order.
static std::vector<int64_t> elementPlaces(exec::RefAttr reference,
                                          int64_t rank) {
  std::vector<int64_t> places;
  SmallVector<int64_t> strides = stridesOf(reference);
  int64_t size = elementBytes(reference), begin = beginOf(reference, rank);
  for (IndexWalk walk(reference.getType().getShape()); walk; ++walk)
    places.push_back(begin + dot(*walk, strides) * size);
  return places;
}

Tensor readReference(const RankBytes &memory, exec::RefAttr reference,
                     int64_t rank) {
  const RankBytes::Bytes &space = spaceOf(memory, reference);
  int64_t size = elementBytes(reference);
  auto type = RankedTensorType::get(reference.getType().getShape(),
                                    reference.getType().getElementType());
  if (isContiguous(reference))
    return fromBytes(type,
                     std::span(space).subspan(beginOf(reference, rank),
                                              size * type.getNumElements()));
  RankBytes::Bytes bytes;
  for (int64_t place : elementPlaces(reference, rank))
    bytes.insert(bytes.end(), space.begin() + place,
                 space.begin() + place + size);
  return fromBytes(type, bytes);
}

void writeReference(RankBytes &memory, exec::RefAttr reference, int64_t rank,
                    const Tensor &tensor) {
  auto &space = const_cast<RankBytes::Bytes &>(spaceOf(memory, reference));
  int64_t size = elementBytes(reference);
  RankBytes::Bytes bytes = toBytes(tensor);
  if (isContiguous(reference)) {
    llvm::copy(bytes, space.begin() + beginOf(reference, rank));
    return;
  }
  for (auto [i, place] : llvm::enumerate(elementPlaces(reference, rank)))
    std::memcpy(space.data() + place, bytes.data() + i * size, size);
}

void poisonReference(RankBytes &memory, exec::RefAttr reference, int64_t rank) {
  auto &space = const_cast<RankBytes::Bytes &>(spaceOf(memory, reference));
  for (int64_t place : elementPlaces(reference, rank))
    for (int64_t i = place; i < place + elementBytes(reference); ++i)
      space[i] = std::byte(i % 2 ? 0x7F : 0xF4);
}

SmallVector<CommandOperand> operandsOf(Operation *command) {
  SmallVector<CommandOperand> operands;
  auto add = [&](ArrayAttr references, exec::Access access) {
    for (Attribute reference : references)
      operands.push_back({cast<exec::RefAttr>(reference), access});
  };
  if (auto launch = dyn_cast<exec::LaunchOp>(command))
    for (auto [i, reference] : llvm::enumerate(launch.getOperandsAttr()))
      operands.push_back({cast<exec::RefAttr>(reference), launch.getAccess(i)});
  if (auto call = dyn_cast<exec::CallOp>(command)) {
    add(call.getOperandsAttr(), exec::Access::read);
    add(call.getOutputsAttr(), exec::Access::write);
  }
  if (auto gather = dyn_cast<exec::AllGatherOp>(command))
    operands.push_back({gather.getBuffer(), exec::Access::read_write});
  if (auto reduction = dyn_cast<exec::ReduceScatterOp>(command)) {
    operands.push_back({reduction.getBuffer(), exec::Access::read});
    operands.push_back({reduction.getOutput(), exec::Access::read_write});
  }
  if (auto reduction = dyn_cast<exec::AllReduceOp>(command))
    operands.push_back({reduction.getBuffer(), exec::Access::read_write});
  if (auto copy = dyn_cast<exec::CopyOp>(command)) {
    operands.push_back({copy.getSource(), exec::Access::read});
    operands.push_back({copy.getTarget(), exec::Access::write});
  }
  if (auto fill = dyn_cast<exec::FillOp>(command))
    operands.push_back({fill.getTarget(), exec::Access::write});
  return operands;
}

} // namespace shardc::reference
