//===- OneDnnSteps.h - Primitives that hand on their results --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Convolutions are fast only in oneDNN's own memory layouts, so one takes
// several primitives: reorder the operands, convolve, reorder the result. What
// they hand on lies in scratch memory, whose address is known when they run.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_ONEDNNSTEPS_H
#define SHARDC_RUNTIME_CPU_ONEDNNSTEPS_H

#include "runtime/cpu/OneDnn.h"

#include <algorithm>
#include <optional>

namespace shardc::runtime {

/// Where a tensor lies: at an address, or at an offset into scratch memory.
struct OneDnnPlace {
  enum class Kind { Fixed, Shared, Worker };
  Kind kind = Kind::Fixed;
  std::byte *address = nullptr;
  size_t offset = 0;
};

/// A tensor by layout and place.
struct OneDnnTensor {
  dnnl::memory::desc layout;
  OneDnnPlace place;
};

/// Hands out ranges of scratch memory.
class ScratchLayout {
public:
  explicit ScratchLayout(OneDnnPlace::Kind kind) : kind(kind) {}

  OneDnnTensor take(const dnnl::memory::desc &layout) {
    const size_t offset = bytes;
    bytes += alignScratch(layout.get_size());
    return {layout, {kind, nullptr, offset}};
  }
  size_t size() const { return bytes; }

private:
  OneDnnPlace::Kind kind;
  size_t bytes = 0;
};

/// A copy of `source` into the layout of `target` as copies of pieces, which
/// different threads can make: by samples, channels, or what else the layouts
/// can be cut by.
std::vector<std::pair<OneDnnTensor, OneDnnTensor>>
cutReorder(const OneDnnTensor &source, const OneDnnTensor &target);

/// Primitives that run one after the other on one thread. The memory of a
/// worker holds first what the steps hand on, then their scratchpad.
class OneDnnSteps {
public:
  using Argument = std::pair<int, OneDnnTensor>;

  /// Appends a primitive.
  template <typename Description>
  void add(const Description &description,
           const std::vector<Argument> &arguments) {
    std::vector<OneDnnPrimitive::Argument> list;
    for (const auto &[number, tensor] : arguments)
      list.push_back({number, tensor.layout, tensor.place.address});
    steps.push_back({OneDnnPrimitive(description, std::move(list)), arguments});
    scratchpad = std::max(scratchpad, steps.back().primitive->scratchBytes());
  }

  /// Appends zeros, in all of `target`, which is in scratch memory.
  void addZeros(const OneDnnTensor &target);

  /// Appends a copy of `source` into the layout of `target`.
  void addReorder(const OneDnnTensor &source, const OneDnnTensor &target);

  /// `tensor` itself if it has `layout`, else a copy made by an appended
  /// reorder in memory of `scratch`.
  OneDnnTensor reordered(const OneDnnTensor &tensor,
                         const dnnl::memory::desc &layout,
                         ScratchLayout &scratch);

  size_t scratchpadBytes() const { return scratchpad; }

  /// Runs the steps with `worker` bytes handed on from `scratch.worker(index)`
  /// and the scratchpad behind them; false on failure.
  bool run(const Scratch &scratch, int index, size_t workerBytes);

private:
  /// Without a primitive its argument becomes zeros.
  struct Step {
    std::optional<OneDnnPrimitive> primitive;
    std::vector<Argument> arguments;
  };
  std::vector<Step> steps;
  size_t scratchpad = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_ONEDNNSTEPS_H
