//===- OneDnnSteps.cpp - Primitives that hand on their results ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reorders, and resolving places when the steps run.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/OneDnnSteps.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {

/// Where a layout can be cut: at multiples of this along `dim`.
static int64_t blockOf(const dnnl::memory::desc &layout, int dim) {
  const dnnl_blocking_desc_t &blocking = layout.data.format_desc.blocking;
  int64_t block = 1;
  for (int i = 0; i < blocking.inner_nblks; ++i)
    if (blocking.inner_idxs[i] == dim)
      block *= blocking.inner_blks[i];
  return block;
}

std::vector<std::pair<OneDnnTensor, OneDnnTensor>>
cutReorder(const OneDnnTensor &source, const OneDnnTensor &target) {
  // Some 50 microseconds of a thread.
  constexpr int64_t bytesOfPiece = 1 << 19, max = 16;
  const auto bytes = static_cast<int64_t>(target.layout.get_size());
  const int64_t wanted = std::min(max, bytes / bytesOfPiece);
  if (wanted < 2 || target.layout.data.format_kind != dnnl_blocked)
    return {{source, target}};
  const dnnl::memory::dims dims = source.layout.dims();
  // The first dimension that can be cut into enough pieces, or else the one
  // that can be cut into most.
  int64_t best = 0, blocks = 0, block = 1;
  for (int dim = 0; dim < source.layout.data.ndims && blocks < wanted; ++dim) {
    const int64_t its = blockOf(target.layout, dim);
    const int64_t count = (dims[static_cast<size_t>(dim)] + its - 1) / its;
    if (count > blocks) {
      best = dim;
      blocks = count;
      block = its;
    }
  }
  const auto dim = static_cast<size_t>(best);
  const int64_t size = (blocks + wanted - 1) / wanted * block;
  std::vector<std::pair<OneDnnTensor, OneDnnTensor>> pieces;
  for (int64_t first = 0; first < dims[dim]; first += size) {
    dnnl::memory::dims extents = dims, offsets(dims.size(), 0);
    extents[dim] = std::min(size, dims[dim] - first);
    offsets[dim] = first;
    auto of = [&](const OneDnnTensor &tensor) {
      return OneDnnTensor{tensor.layout.submemory_desc(extents, offsets),
                          tensor.place};
    };
    pieces.emplace_back(of(source), of(target));
  }
  return pieces;
}

void OneDnnSteps::addZeros(const OneDnnTensor &target) {
  steps.push_back({std::nullopt, {{DNNL_ARG_TO, target}}});
}

void OneDnnSteps::addReorder(const OneDnnTensor &source,
                             const OneDnnTensor &target) {
  add(dnnl::reorder::primitive_desc(oneDnnEngine(), source.layout,
                                    oneDnnEngine(), target.layout,
                                    oneDnnAttributes()),
      {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, target}});
}

OneDnnTensor OneDnnSteps::reordered(const OneDnnTensor &tensor,
                                    const dnnl::memory::desc &layout,
                                    ScratchLayout &scratch) {
  if (tensor.layout == layout)
    return tensor;
  const OneDnnTensor copy = scratch.take(layout);
  addReorder(tensor, copy);
  return copy;
}

bool OneDnnSteps::run(const Scratch &scratch, int index, size_t workerBytes) {
  auto addressOf = [&](const OneDnnPlace &place) -> std::byte * {
    switch (place.kind) {
    case OneDnnPlace::Kind::Shared:
      return scratch.shared() + place.offset;
    case OneDnnPlace::Kind::Worker:
      return scratch.worker(index) + place.offset;
    case OneDnnPlace::Kind::Fixed:
      return place.address;
    }
    return nullptr;
  };
  for (Step &step : steps) {
    if (!step.primitive) {
      const OneDnnTensor &target = step.arguments.front().second;
      std::memset(addressOf(target.place), 0, target.layout.get_size());
      continue;
    }
    for (const auto &[number, tensor] : step.arguments)
      if (tensor.place.kind != OneDnnPlace::Kind::Fixed)
        step.primitive->setData(number, addressOf(tensor.place));
    if (!step.primitive->run(scratch.worker(index) + workerBytes))
      return false;
  }
  return true;
}

} // namespace shardc::runtime
