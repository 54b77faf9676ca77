//===- ShardedState.cpp - Parameters and buffers of simulated ranks -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Declarations, shards and the sums of gradients.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/ShardedState.h"

#include "dialects/Fsdp/Groups.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/Sequence.h"

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
  meshSize = getRanks(module);
  shards = shardc::getShards(module);
  for (auto group : module.getOps<fsdp::GroupOp>())
    addSegments(group);
  for (auto state : module.getOps<fsdp::StateOp>())
    addState(state);
}

void ShardedState::addState(fsdp::StateOp state) {
  optimizerStates[state.getSymName()] = state;
  auto type = cast<RankedTensorType>(state.getType());
  if (!state.getGroup()) {
    numbers.push_back(state.getSymName().str());
    types[state.getSymName()] = type;
    whole[state.getSymName()].assign(1, Tensor(type));
    return;
  }
  std::string key = state.getKey().str();
  if (!llvm::is_contained(keys, key))
    keys.push_back(key);
  SegmentValues &segment = find(*state.getGroup(), *state.getSegment());
  segment.kept[key].assign(segment.kept[parameterKey].size(), Tensor(type));
}

void ShardedState::addSegments(fsdp::GroupOp group) {
  for (auto segment : group.getBody().getOps<fsdp::SegmentOp>()) {
    for (auto member : segment.getBody().getOps<fsdp::MemberOp>()) {
      places[member.getParameter()] = {
          static_cast<unsigned>(segments.size()),
          static_cast<int64_t>(*member.getOffset())};
    }
    auto type = RankedTensorType::get({int64_t(segment.getShard())},
                                      getMasterType(segment));
    SegmentValues &entry = segments.emplace_back();
    entry.op = segment;
    entry.kept[parameterKey].assign(shards, Tensor(type));
    entry.kept[gradientKey].assign(
        meshSize, Tensor(type.clone(shardc::getGradientType(segment))));
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
  SmallVector<Run> runs;
  for (int64_t shard : llvm::seq(shards)) {
    format::ShardRun run =
        format::runInShard(place.offset, elements, segment.getShard(), shard);
    if (run.count > 0)
      runs.push_back({run, static_cast<size_t>(shard)});
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
  Tensor kept = tensor;
  Rounding master(cast<FloatType>(types.lookup(name).getElementType()));
  for (double &value : kept.mutableFloats())
    value = master.round(value);
  setKept(parameterKey, name, kept);
}

Tensor ShardedState::get(StringRef name, int64_t rank) const {
  auto place = places.find(name);
  if (place == places.end()) {
    const auto &values = whole.find(name)->second;
    return values[values.size() == 1 ? 0 : rank];
  }
  return getKept(parameterKey, name);
}

/// What is kept of parts that the optimizer has no state of is zero.
Tensor ShardedState::getKept(StringRef key, StringRef name) const {
  Place place = places.lookup(name);
  RankedTensorType type = types.lookup(name);
  auto shards = segments[place.segment].kept.find(key);
  if (shards == segments[place.segment].kept.end())
    return Tensor(type);
  Tensor result(type.clone(shards->second.front().getElementType()));
  MutableArrayRef<double> target = result.mutableFloats();
  for (Run run : runsOf(place, result.getNumElements()))
    llvm::copy(shards->second[run.shard].floats().slice(run.inShard, run.count),
               target.begin() + run.inParameter);
  return result;
}

void ShardedState::setKept(StringRef key, StringRef name,
                           const Tensor &tensor) {
  Place place = places.lookup(name);
  auto shards = segments[place.segment].kept.find(key);
  if (shards == segments[place.segment].kept.end())
    return;
  for (Run run : runsOf(place, tensor.getNumElements()))
    llvm::copy(tensor.floats().slice(run.inParameter, run.count),
               shards->second[run.shard].mutableFloats().begin() + run.inShard);
}

ShardedState::SegmentValues &ShardedState::find(StringRef group,
                                                int64_t segment) {
  SegmentValues *first =
      llvm::find_if(segments, [&](const SegmentValues &entry) {
        fsdp::SegmentOp op = entry.op;
        return cast<fsdp::GroupOp>(op->getParentOp()).getSymName() == group;
      });
  return *(first + segment);
}

RankTensors ShardedState::getShards(StringRef group, int64_t segment,
                                    StringRef key) const {
  RankTensors kept =
      const_cast<ShardedState *>(this)->find(group, segment).kept.lookup(key);
  for (auto rank = static_cast<int64_t>(kept.size()); rank < meshSize; ++rank)
    kept.push_back(kept[rank % shards]);
  return kept;
}

void ShardedState::setShards(StringRef group, int64_t segment, StringRef key,
                             ArrayRef<Tensor> shards) {
  RankTensors &kept = find(group, segment).kept[key];
  llvm::copy(shards.take_front(kept.size()), kept.begin());
}

RankTensors ShardedState::getOptimizerState(StringRef name) const {
  fsdp::StateOp state = optimizerStates.lookup(name);
  return state.getGroup()
             ? getShards(*state.getGroup(), *state.getSegment(), state.getKey())
             : whole.lookup(name);
}

void ShardedState::setOptimizerState(StringRef name, ArrayRef<Tensor> tensors) {
  fsdp::StateOp state = optimizerStates.lookup(name);
  if (state.getGroup())
    setShards(*state.getGroup(), *state.getSegment(), state.getKey(), tensors);
  else
    set(name, tensors.front());
}

/// Where each member of `segment` lies.
static SmallVector<StringRef> membersOf(fsdp::SegmentOp segment) {
  SmallVector<StringRef> names;
  for (auto member : segment.getBody().getOps<fsdp::MemberOp>())
    names.push_back(member.getParameter());
  return names;
}

RankTensors ShardedState::gatherShards(StringRef group, int64_t segment,
                                       ArrayRef<Tensor> parts,
                                       TypeRange members) const {
  fsdp::SegmentOp op =
      const_cast<ShardedState *>(this)->find(group, segment).op;
  RankTensors whole;
  for (auto [name, type] : llvm::zip_equal(membersOf(op), members)) {
    Tensor &member = whole.emplace_back(cast<RankedTensorType>(type));
    MutableArrayRef<double> target = member.mutableFloats();
    for (Run run : runsOf(places.lookup(name), member.getNumElements()))
      llvm::copy(parts[parts.size() == 1 ? 0 : run.shard].floats().slice(
                     run.inShard, run.count),
                 target.begin() + run.inParameter);
  }
  return whole;
}

RankTensors ShardedState::takeShards(StringRef group, int64_t segment,
                                     ArrayRef<Tensor> members,
                                     RankedTensorType part) const {
  fsdp::SegmentOp op =
      const_cast<ShardedState *>(this)->find(group, segment).op;
  RankTensors parts(meshSize, Tensor(part));
  for (auto [name, member] : llvm::zip_equal(membersOf(op), members))
    for (Run run : runsOf(places.lookup(name), member.getNumElements()))
      for (size_t rank = run.shard; rank < parts.size(); rank += shards)
        llvm::copy(member.floats().slice(run.inParameter, run.count),
                   parts[rank].mutableFloats().begin() + run.inShard);
  return parts;
}

void ShardedState::setBuffer(StringRef name, int64_t rank,
                             const Tensor &tensor) {
  whole[name][rank] = tensor;
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

void ShardedState::reduceScatter(ArrayAttr parameters,
                                 ArrayRef<RankTensors> gradients, bool once) {
  for (auto [parameter, byRank] : llvm::zip_equal(parameters, gradients)) {
    StringRef name = cast<FlatSymbolRefAttr>(parameter).getValue();
    if (!once || microBatches == 1) {
      reduce(name, byRank, /*overwrites=*/microBatch == 0);
      continue;
    }
    RankTensors &sums = accumulated[name];
    if (microBatch == 0)
      sums = byRank;
    else
      for (auto [sum, gradient] : llvm::zip_equal(sums, byRank)) {
        Rounding dtype(cast<FloatType>(gradient.getElementType()));
        for (auto [total, term] :
             llvm::zip_equal(sum.mutableFloats(), gradient.floats()))
          total = dtype.round(total + term);
      }
    if (microBatch + 1 == microBatches)
      reduce(name, sums, /*overwrites=*/false);
  }
}

/// A sum in the dtype that it is kept in, to 16 bits by way of f32.
static double keep(double sum, FloatType kept) {
  if (kept.getWidth() == 16)
    sum = Rounding(Float32Type::get(kept.getContext())).round(sum);
  return Rounding(kept).round(sum);
}

void ShardedState::reduce(StringRef parameter, const RankTensors &byRank,
                          bool overwrites) {
  Place place = places.lookup(parameter);
  fsdp::SegmentOp segment = segments[place.segment].op;
  RankTensors &accumulators = segments[place.segment].kept[gradientKey];
  const bool isNarrow = segment.getGradient().has_value();
  Rounding summed(getSumType(segment));
  FloatType kept = shardc::getGradientType(segment);
  // In rank order, rounded after every addition: the order and the type of
  // the sums are part of the result. A program for one rank has one replica,
  // whatever ranks it simulates.
  for (Run run : runsOf(place, byRank.front().getNumElements()))
    for (int64_t replica = 0; replica < meshSize / shards; ++replica) {
      MutableArrayRef<double> old =
          accumulators[replica * shards + run.shard].mutableFloats().slice(
              run.inShard, run.count);
      // Adding to it changes no bit, not even the sign of a zero.
      constexpr double nothing = -0.0;
      std::vector<double> sums(old.begin(), old.end());
      if (isNarrow)
        llvm::fill(sums, 0);
      else if (overwrites)
        llvm::fill(sums, nothing);
      for (auto [rank, gradient] : llvm::enumerate(byRank))
        if (static_cast<int64_t>(rank) % meshSize / shards == replica)
          for (auto [sum, term] : llvm::zip_equal(
                   sums, gradient.floats().slice(run.inParameter, run.count)))
            sum = summed.round(sum + term);
      for (auto [sum, next] : llvm::zip_equal(sums, old))
        next = isNarrow ? keep(summed.round(next + sum), kept) : sum;
    }
}

void ShardedState::allReduce(FlatSymbolRefAttr group) {
  if (microBatch + 1 != microBatches)
    return;
  for (SegmentValues &segment : segments) {
    fsdp::SegmentOp op = segment.op;
    if (cast<fsdp::GroupOp>(op->getParentOp()).getSymName() != group.getValue())
      continue;
    MutableArrayRef<Tensor> all = segment.kept[gradientKey];
    Rounding summed(getSumType(op));
    for (int64_t shard = 0; shard < shards; ++shard) {
      for (int64_t rank = shard + shards; rank < meshSize; rank += shards)
        for (auto [sum, term] :
             llvm::zip_equal(all[shard].mutableFloats(), all[rank].floats()))
          sum = summed.round(sum + term);
      for (double &sum : all[shard].mutableFloats())
        sum = keep(sum, shardc::getGradientType(op));
      for (int64_t rank = shard + shards; rank < meshSize; rank += shards)
        all[rank] = all[shard];
    }
  }
}

std::array<double, 2> ShardedState::sumOfGradientSquares() const {
  double sum = 0, lost = 0;
  for (const SegmentValues &segment : segments)
    for (const Tensor &shard :
         ArrayRef(segment.kept.find(gradientKey)->second).take_front(shards))
      for (double value : shard.floats()) {
        double square = value * value, before = sum;
        sum += square;
        double part = sum - before;
        lost += (before - (sum - part)) + (square - part) +
                std::fma(value, value, -square);
      }
  if (!std::isfinite(sum))
    return {sum, 0};
  double total = sum + lost;
  return {total, lost - (total - sum)};
}

void ShardedState::clearGradients() {
  for (SegmentValues &segment : segments)
    for (Tensor &shard : segment.kept[gradientKey])
      llvm::fill(shard.mutableFloats(), 0);
}

RankTensors ShardedState::getScalar(fsdp::ScalarOp scalar) const {
  auto one = [&](auto number) {
    Tensor tensor(scalar.getType());
    if (tensor.isFloat())
      tensor.mutableFloats()[0] = static_cast<double>(number);
    else
      tensor.mutableIntegers()[0] = static_cast<int64_t>(number);
    return tensor;
  };
  switch (scalar.getName()) {
  case fsdp::Scalar::learning_rate:
    return {one(learningRate)};
  case fsdp::Scalar::micro_batches:
    // A program for one rank takes the micro-batches of all simulated ranks.
    return {one(static_cast<double>(microBatches * ranks) /
                static_cast<double>(meshSize))};
  case fsdp::Scalar::weight_decay_scale:
    return {one(weightDecayScale)};
  case fsdp::Scalar::seed:
    return {one(seed)};
  case fsdp::Scalar::step:
    return {one(step)};
  case fsdp::Scalar::ranks:
    return {one(ranks)};
  case fsdp::Scalar::slice:
  case fsdp::Scalar::shard:
    break;
  }
  RankTensors numbers;
  for (int64_t rank = 0; rank < ranks; ++rank)
    numbers.push_back(
        one(scalar.getName() == fsdp::Scalar::slice
                ? microBatch * ranks + rank
                : getShardNumber(scalar->getParentOfType<ModuleOp>(), rank)));
  return numbers;
}

} // namespace shardc::reference
