//===- ShardedState.cpp - parameters and buffers of simulated ranks -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Declarations, shards, and the optimizers of torch.optim written plainly.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/ShardedState.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace shardc::reference {

ShardedState::ShardedState(ModuleOp module, int64_t ranks) : ranks(ranks) {
  for (Operation &op : *module.getBody()) {
    RankedTensorType type;
    StringRef name;
    if (auto parameter = dyn_cast<fsdp::ParameterOp>(op)) {
      type = cast<RankedTensorType>(parameter.getType());
      name = parameter.getSymName();
    } else if (auto buffer = dyn_cast<fsdp::BufferOp>(op)) {
      type = cast<RankedTensorType>(buffer.getType());
      name = buffer.getSymName();
      buffers.insert(name);
    } else {
      continue;
    }
    names.push_back(name.str());
    types[name] = type;
    whole[name].assign(isa<fsdp::BufferOp>(op) ? ranks : 1, Tensor(type));
  }
  for (auto group : module.getOps<fsdp::GroupOp>())
    addSegments(group);
}

void ShardedState::addSegments(fsdp::GroupOp group) {
  for (auto segment : group.getBody().getOps<fsdp::SegmentOp>()) {
    Type master;
    for (auto member : segment.getBody().getOps<fsdp::MemberOp>()) {
      places[member.getParameter()] = {
          static_cast<unsigned>(segments.size()),
          static_cast<int64_t>(*member.getOffset())};
      master = types.lookup(member.getParameter()).getElementType();
    }
    Tensor zeros(RankedTensorType::get({int64_t(segment.getShard())}, master));
    segments.push_back({segment, 0, {}});
    segments.back().shards.assign(segment.getElements() / segment.getShard(),
                                  Shard{zeros, zeros, zeros, zeros});
  }
}

RankedTensorType ShardedState::getType(StringRef name) const {
  return types.lookup(name);
}

bool ShardedState::isTrained(StringRef name) const {
  auto place = places.find(name);
  if (place == places.end())
    return false;
  fsdp::SegmentOp segment = segments[place->second.segment].op;
  return !segment.getFrozen();
}

FloatType ShardedState::getGradientType(StringRef name) const {
  fsdp::SegmentOp segment = segments[places.lookup(name).segment].op;
  auto used = cast<FloatType>(segment.getDtype());
  auto reduced = cast<FloatType>(segment.getReduce());
  return used.getWidth() < reduced.getWidth() ? used : reduced;
}

SmallVector<ShardedState::Run> ShardedState::runsOf(Place place,
                                                    int64_t elements) const {
  fsdp::SegmentOp segment = segments[place.segment].op;
  int64_t size = segment.getShard();
  SmallVector<Run> runs;
  for (int64_t done = 0; done < elements; done += runs.back().count) {
    int64_t flat = place.offset + done;
    runs.push_back({static_cast<size_t>(flat / size), flat % size, done,
                    std::min(elements - done, size - flat % size)});
  }
  return runs;
}

void ShardedState::set(StringRef name, const Tensor &tensor) {
  auto place = places.find(name);
  if (place == places.end()) {
    for (Tensor &value : whole[name])
      value = tensor;
    return;
  }
  setKept(Kept::Parameter, name, tensor);
}

Tensor ShardedState::get(StringRef name, int64_t rank) const {
  auto place = places.find(name);
  if (place == places.end()) {
    const auto &values = whole.find(name)->second;
    return values[values.size() == 1 ? 0 : rank];
  }
  return getKept(Kept::Parameter, name);
}

Tensor ShardedState::Shard::*ShardedState::memberOf(Kept kept) {
  switch (kept) {
  case Kept::Parameter:
    return &Shard::parameter;
  case Kept::Gradient:
    return &Shard::gradient;
  case Kept::FirstMoment:
    return &Shard::firstMoment;
  case Kept::SecondMoment:
    return &Shard::secondMoment;
  }
  llvm_unreachable("every kind is named");
}

Tensor ShardedState::getKept(Kept kept, StringRef name) const {
  Place place = places.lookup(name);
  Tensor result(types.lookup(name));
  MutableArrayRef<double> target = result.mutableFloats();
  for (Run run : runsOf(place, result.getNumElements())) {
    const Tensor &shard =
        segments[place.segment].shards[run.shard].*memberOf(kept);
    llvm::copy(shard.floats().slice(run.inShard, run.count),
               target.begin() + run.inParameter);
  }
  return result;
}

void ShardedState::setKept(Kept kept, StringRef name, const Tensor &tensor) {
  Place place = places.lookup(name);
  for (Run run : runsOf(place, tensor.getNumElements())) {
    Tensor &shard = segments[place.segment].shards[run.shard].*memberOf(kept);
    llvm::copy(tensor.floats().slice(run.inParameter, run.count),
               shard.mutableFloats().begin() + run.inShard);
  }
}

void ShardedState::setSteps(int64_t steps) {
  for (Segment &segment : segments)
    segment.steps = steps;
}

void ShardedState::setBuffer(StringRef name, int64_t rank,
                             const Tensor &tensor) {
  whole[name][rank] = tensor;
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

void ShardedState::reduceScatter(StringRef group, ArrayAttr parameters,
                                 ArrayRef<SmallVector<Tensor, 1>> gradients) {
  for (auto [parameter, byRank] : llvm::zip_equal(parameters, gradients)) {
    Place place = places.lookup(cast<FlatSymbolRefAttr>(parameter).getValue());
    Rounding master(cast<FloatType>(
        segments[place.segment].shards[0].gradient.getElementType()));
    // In rank order, rounded after every addition: the order and the type of
    // the sums are part of the result.
    for (const Tensor &gradient : byRank)
      for (Run run : runsOf(place, gradient.getNumElements())) {
        MutableArrayRef<double> sums = segments[place.segment]
                                           .shards[run.shard]
                                           .gradient.mutableFloats()
                                           .slice(run.inShard, run.count);
        for (auto [sum, term] : llvm::zip_equal(
                 sums, gradient.floats().slice(run.inParameter, run.count)))
          sum = master.round(sum + term);
      }
  }
}

double ShardedState::sumOfGradientSquares() const {
  double sum = 0;
  for (const Segment &segment : segments)
    for (const Shard &shard : segment.shards)
      for (double value : shard.gradient.floats())
        sum += value * value;
  return sum;
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

namespace {
/// The elements of a shard and what the optimizer keeps of them. Gradients are
/// means.
struct Elements {
  MutableArrayRef<double> parameter, gradient, first, second;
};
} // namespace

/// torch.optim.SGD with dampening 0; the first momentum is the gradient.
static void stepSgd(fsdp::SgdAttr sgd, Elements x, int64_t step, double rate) {
  double momentum = sgd.getMomentum().getValueAsDouble();
  double weightDecay = sgd.getWeightDecay().getValueAsDouble();
  for (size_t i = 0; i < x.parameter.size(); ++i) {
    double gradient = x.gradient[i] + weightDecay * x.parameter[i];
    if (momentum != 0)
      gradient = x.first[i] =
          step == 1 ? gradient : momentum * x.first[i] + gradient;
    x.parameter[i] -= rate * gradient;
  }
}

/// torch.optim.AdamW. Moments are rounded before they are used: what overflows
/// there makes no step.
static void stepAdamW(fsdp::AdamWAttr adam, Elements x, int64_t step,
                      double rate, const Rounding &rounding) {
  double beta1 = adam.getBeta1().getValueAsDouble();
  double beta2 = adam.getBeta2().getValueAsDouble();
  double kept = 1 - rate * adam.getWeightDecay().getValueAsDouble();
  double epsilon = adam.getEpsilon().getValueAsDouble();
  double correction1 = 1 - std::pow(beta1, step);
  double correction2 = 1 - std::pow(beta2, step);
  for (size_t i = 0; i < x.parameter.size(); ++i) {
    double gradient = x.gradient[i], &first = x.first[i], &second = x.second[i];
    first = rounding.round(beta1 * first + (1 - beta1) * gradient);
    second = rounding.round(beta2 * second + (1 - beta2) * gradient * gradient);
    double deviation = std::sqrt(second / correction2);
    x.parameter[i] = kept * x.parameter[i] -
                     rate * (first / correction1) / (deviation + epsilon);
  }
}

void ShardedState::update(fsdp::UpdateOp op) {
  for (Segment &segment : segments) {
    auto group = cast<fsdp::GroupOp>(segment.op->getParentOp());
    if (segment.op.getFrozen() || group.getSymName() != op.getGroup())
      continue;
    ++segment.steps;
    for (Shard &shard : segment.shards) {
      Elements x{shard.parameter.mutableFloats(),
                 shard.gradient.mutableFloats(),
                 shard.firstMoment.mutableFloats(),
                 shard.secondMoment.mutableFloats()};
      for (double &gradient : x.gradient)
        gradient /= static_cast<double>(ranks * microBatches);
      llvm::TypeSwitch<Attribute>(op.getOptimizer())
          .Case([&](fsdp::SgdAttr sgd) {
            stepSgd(sgd, x, segment.steps, learningRate);
          })
          .Case([&](fsdp::AdamWAttr adam) {
            Rounding rounding(
                cast<FloatType>(shard.parameter.getElementType()));
            stepAdamW(adam, x, segment.steps, learningRate, rounding);
          });
      llvm::fill(x.gradient, 0);
      for (Tensor *tensor :
           {&shard.parameter, &shard.firstMoment, &shard.secondMoment})
        tensor->round();
    }
  }
}

} // namespace shardc::reference
