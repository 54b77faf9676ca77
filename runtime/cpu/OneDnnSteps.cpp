//===- OneDnnSteps.cpp - primitives that hand on their results ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Reorders, and resolving places when the steps run.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/OneDnnSteps.h"

namespace shardc::runtime {

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
  for (Step &step : steps) {
    for (const auto &[number, tensor] : step.arguments) {
      const OneDnnPlace &place = tensor.place;
      if (place.kind == OneDnnPlace::Kind::Shared)
        step.primitive.setData(number, scratch.shared() + place.offset);
      else if (place.kind == OneDnnPlace::Kind::Worker)
        step.primitive.setData(number, scratch.worker(index) + place.offset);
    }
    if (!step.primitive.run(scratch.worker(index) + workerBytes))
      return false;
  }
  return true;
}

} // namespace shardc::runtime
