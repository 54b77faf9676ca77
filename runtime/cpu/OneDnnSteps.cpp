//===- OneDnnSteps.cpp - primitives that hand on their results ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Reorders, and resolving places when the steps run.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/OneDnnSteps.h"

#include <cstring>

namespace shardc::runtime {

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
