//===- CommandTime.cpp - How long a command takes -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A roofline with rates that depend on sizes.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/CommandTime.h"

#include <algorithm>

namespace shardc {

using format::Machine;
using format::Processor;
using format::Work;
using format::WorkKind;

/// Operations a second of products of `dtype`; integers, which no product has,
/// as f32.
static double productRate(const Processor &processor, format::Dtype dtype) {
  auto found = processor.productRates.find(dtype);
  if (found == processor.productRates.end())
    found = processor.productRates.find(format::Dtype::F32);
  return found->second.value;
}

/// What is reached of it.
static const format::Efficiency &efficiencyOf(const Work &work,
                                              const Processor &processor) {
  if (work.kind == WorkKind::Convolution)
    return processor.convolutions;
  if (work.kind != WorkKind::Attention)
    return processor.products;
  return work.isBackward ? processor.attentionBackward : processor.attention;
}

static double callSeconds(const Work &work, const Processor &processor) {
  const auto operations =
      static_cast<double>(work.callOperations - work.hiddenOperations);
  if (operations <= 0)
    return 0;
  // Factorizations are no products: they run on what kernels run on.
  if (work.kind == WorkKind::Factorization)
    return operations / (work.dtype == format::Dtype::F64
                             ? processor.f64Rate.value
                             : processor.f32Rate.value);
  return operations /
         (productRate(processor, work.dtype) *
          efficiencyOf(work, processor)
              .curve.at(operations / static_cast<double>(work.groups)));
}

double commandSeconds(const Work &work, const Machine &machine, int64_t ranks) {
  const auto bytes = static_cast<double>(work.movedBytes());
  auto move = [&](const format::Efficiency &efficiency) {
    return bytes > 0 ? bytes / (machine.memory.bytesPerSecond.value *
                                efficiency.curve.at(bytes))
                     : 0;
  };
  const double moving = move(machine.memory.efficiency);
  const Processor &processor = machine.processor;
  const double calling = work.isDepthwise && machine.memory.depthwise
                             ? move(*machine.memory.depthwise)
                             : callSeconds(work, processor);
  const double inF32 =
      static_cast<double>(work.f32Operations) / processor.f32Rate.value;
  const double inF64 =
      static_cast<double>(work.f64Operations) / processor.f64Rate.value;
  // A GPU has pipelines for each, which warps keep busy at one time.
  const double computing = std::max(
      calling, machine.isGpu() ? std::max(inF32, inF64) : inF32 + inF64);
  return static_cast<double>(ranks) * std::max(moving, computing) +
         processor.commandSeconds.value;
}

double minSeconds(const Work &work, const Machine &machine) {
  const Processor &processor = machine.processor;
  const auto operations =
      static_cast<double>(work.callOperations - work.hiddenOperations);
  return std::max(
      {static_cast<double>(work.movedBytes()) /
           machine.memory.bytesPerSecond.value,
       operations / productRate(processor, work.dtype),
       static_cast<double>(work.f32Operations) / processor.f32Rate.value,
       static_cast<double>(work.f64Operations) / processor.f64Rate.value});
}

int64_t ranksOnProcessor(const Machine &machine, int64_t worldSize) {
  if (machine.isGpu())
    return 1;
  const int64_t ofNode = machine.levels.front().ranks;
  return ofNode == 0 ? worldSize : std::min(ofNode, worldSize);
}

} // namespace shardc
