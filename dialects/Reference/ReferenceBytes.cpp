//===- ReferenceBytes.cpp - Tensors in the bytes of a rank ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Strided elements are gathered into a row-major run of bytes and back.
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Layout.h"
#include "dialects/Reference/ProgramExecution.h"
#include "dialects/Reference/TensorBytes.h"

#include "llvm/Support/ErrorHandling.h"

#include <cstring>

using namespace mlir;

namespace shardc::reference {

static const RankBytes::Bytes &spaceOf(const RankBytes &memory,
                                       const exec::Reference &reference) {
  size_t index = reference.index;
  switch (reference.space) {
  case exec::Space::arena:
    return memory.arena;
  case exec::Space::state:
    return memory.states[index];
  case exec::Space::input:
    return memory.inputs[index];
  case exec::Space::scalar:
    return memory.scalars[index];
  }
  llvm_unreachable("every space is named");
}

static int64_t elementBytes(const exec::Reference &reference) {
  return getElementBytes(reference.type.getElementType());
}

/// Whether the elements lie one after the other, in row-major order.
static bool isContiguous(const exec::Reference &reference) {
  return exec::isRowMajor(reference.type.getShape(),
                          exec::getStrides(reference.type));
}

/// The first byte of each element, in row-major order.
static std::vector<int64_t> elementPlaces(const RankBytes &memory,
                                          const exec::Reference &reference) {
  std::vector<int64_t> places;
  SmallVector<int64_t> strides = exec::getStrides(reference.type);
  int64_t size = elementBytes(reference), begin = reference.getBegin(memory.at);
  for (IndexWalk walk(reference.type.getShape()); walk; ++walk)
    places.push_back(begin + dot(*walk, strides) * size);
  return places;
}

Tensor readReference(const RankBytes &memory,
                     const exec::Reference &reference) {
  const RankBytes::Bytes &space = spaceOf(memory, reference);
  int64_t size = elementBytes(reference);
  auto type = RankedTensorType::get(reference.type.getShape(),
                                    reference.type.getElementType());
  if (isContiguous(reference))
    return fromBytes(type,
                     std::span(space).subspan(reference.getBegin(memory.at),
                                              size * type.getNumElements()));
  RankBytes::Bytes bytes;
  for (int64_t place : elementPlaces(memory, reference))
    bytes.insert(bytes.end(), space.begin() + place,
                 space.begin() + place + size);
  return fromBytes(type, bytes);
}

void writeReference(RankBytes &memory, const exec::Reference &reference,
                    const Tensor &tensor) {
  auto &space = const_cast<RankBytes::Bytes &>(spaceOf(memory, reference));
  int64_t size = elementBytes(reference);
  RankBytes::Bytes bytes = toBytes(tensor);
  if (isContiguous(reference)) {
    llvm::copy(bytes, space.begin() + reference.getBegin(memory.at));
    return;
  }
  for (auto [i, place] : llvm::enumerate(elementPlaces(memory, reference)))
    std::memcpy(space.data() + place, bytes.data() + i * size, size);
}

void poisonReference(RankBytes &memory, const exec::Reference &reference) {
  auto &space = const_cast<RankBytes::Bytes &>(spaceOf(memory, reference));
  for (int64_t place : elementPlaces(memory, reference))
    for (int64_t i = place; i < place + elementBytes(reference); ++i)
      space[i] = std::byte(i % 2 ? 0x7F : 0xF4);
}

} // namespace shardc::reference
