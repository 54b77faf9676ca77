//===- RandomKernels.cpp - Random kernels as stages -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Values are strided views of tensors whose dimensions have labels; a stage
// reads a value through the loops of the same labels.
//===----------------------------------------------------------------------===//

#include "test/unit/passes/Kernel/RandomKernels.h"

#include <algorithm>
#include <map>
#include <optional>

namespace shardc::kernel {

namespace {

/// A dimension of a value; the label says which dimensions belong together.
struct Dimension {
  int label;
  int64_t size, stride;
};

struct Value {
  int tensor;
  int64_t offset;
  std::vector<Dimension> dimensions;
  /// Other values hold parts of the tensor or will write it.
  bool isPart = false;
};

/// A whole that is made of parts, in the order of their stages.
struct Whole {
  Value value;
  std::vector<Value> parts;
};

/// A loop of the nest that is being made.
struct Loop {
  int label;
  int64_t size;
  bool isReduced = false;
};

constexpr int64_t maxIterations = 260;

class KernelMaker {
public:
  explicit KernelMaker(Random &random) : random(random) {
    bool hasLong = random.chance(4);
    for (int i = 0; i < 5; ++i)
      sizes.push_back(hasLong && i == 0
                          ? random.between(17, 40)
                          : random.oneOf({1, 2, 2, 3, 3, 4, 5, 6, 7}));
  }

  KernelStages make();

private:
  int addTensor(int64_t elements, bool isTemporary, bool isInput);
  std::vector<int> someLabels(int64_t max);
  std::vector<Dimension> layOut(const std::vector<Loop> &loops, bool isDense);
  Value newValue(const std::vector<Loop> &loops, bool isTemporary,
                 bool isInput);
  void addInput();
  void addValue(const Value &value);
  void addNest();
  void addScan(const Value &base, std::vector<Loop> loops);
  void addScatter(const Value &base, std::vector<Loop> loops);
  void addOverwrite();
  void startWhole();
  void addPart();
  std::vector<Loop> loopsOf(const Value &value);
  void addReducedLoops(std::vector<Loop> &loops, bool always);
  void addStage(const std::vector<Loop> &loops, std::vector<Value> targets,
                const Value *first, bool scans = false);
  std::optional<StageAccess> readThrough(const Value &value,
                                         const std::vector<Loop> &loops);
  bool addIndex(const Dimension &dimension, const std::vector<Loop> &loops,
                StageAccess &access);

  Random &random;
  KernelStages kernel;
  std::vector<int64_t> sizes;
  std::vector<Value> values;
  std::vector<Whole> wholes;
};

} // namespace

static int64_t product(const std::vector<Loop> &loops) {
  int64_t count = 1;
  for (const Loop &loop : loops)
    count *= loop.size;
  return count;
}

static int64_t spanOf(const std::vector<Dimension> &dimensions) {
  int64_t last = 0;
  for (const Dimension &dimension : dimensions)
    last += (dimension.size - 1) * dimension.stride;
  return last + 1;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

int KernelMaker::addTensor(int64_t elements, bool isTemporary, bool isInput) {
  kernel.tensors.push_back(
      {elements, random.oneOf({1, 2, 4, 4, 8}), isTemporary, isInput});
  return static_cast<int>(kernel.tensors.size()) - 1;
}

/// Labels of dimensions, at most `max` and with few elements in all.
std::vector<int> KernelMaker::someLabels(int64_t max) {
  std::vector<int> labels = {0, 1, 2, 3, 4}, chosen;
  random.shuffle(labels);
  int64_t wanted = random.between(1, max), elements = 1;
  for (int label : labels)
    if (static_cast<int64_t>(chosen.size()) < wanted &&
        elements * sizes[label] <= maxIterations) {
      chosen.push_back(label);
      elements *= sizes[label];
    }
  if (random.chance(70))
    std::sort(chosen.begin(), chosen.end());
  return chosen;
}

/// Row-major, or if that is not asked for sometimes permuted or with gaps.
std::vector<Dimension> KernelMaker::layOut(const std::vector<Loop> &loops,
                                           bool isDense) {
  std::vector<Dimension> dimensions;
  std::vector<size_t> order;
  for (const Loop &loop : loops) {
    order.push_back(dimensions.size());
    dimensions.push_back({loop.label, loop.size, 1});
  }
  if (!isDense && random.chance(25))
    random.shuffle(order);
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    dimensions[order[i]].stride = stride;
    stride *= dimensions[order[i]].size;
    if (!isDense && random.chance(5))
      stride += random.between(1, 3);
  }
  return dimensions;
}

Value KernelMaker::newValue(const std::vector<Loop> &loops, bool isTemporary,
                            bool isInput) {
  Value value{0, 0, layOut(loops, isTemporary)};
  value.tensor = addTensor(spanOf(value.dimensions), isTemporary, isInput);
  return value;
}

void KernelMaker::addInput() {
  std::vector<Loop> loops;
  for (int label : someLabels(4))
    loops.push_back({label, sizes[label]});
  if (random.chance(15) && loops.back().size > 1)
    loops.back().size += random.between(1, 3);
  addValue(newValue(loops, false, true));
}

/// Remembers a value, and sometimes a reshape of it: the two dimensions become
/// one, which has a label of its own.
void KernelMaker::addValue(const Value &value) {
  values.push_back(value);
  constexpr int labels = 32;
  for (size_t i = 0; i + 1 < value.dimensions.size(); ++i) {
    const Dimension &outer = value.dimensions[i];
    const Dimension &inner = value.dimensions[i + 1];
    int label = labels * (outer.label + 1) + inner.label;
    bool isKnown = std::any_of(
        value.dimensions.begin(), value.dimensions.end(),
        [&](const Dimension &dimension) { return dimension.label == label; });
    if (outer.stride != inner.size * inner.stride || outer.label >= labels ||
        inner.label >= labels || isKnown || !random.chance(12))
      continue;
    Value reshaped = value;
    reshaped.isPart = true;
    reshaped.dimensions[i] = {label, outer.size * inner.size, inner.stride};
    reshaped.dimensions.erase(reshaped.dimensions.begin() + i + 1);
    values.push_back(reshaped);
    return;
  }
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

/// Adds the index of one dimension as a sum of multiples of loops; false when
/// there is no way to stay inside.
bool KernelMaker::addIndex(const Dimension &dimension,
                           const std::vector<Loop> &loops,
                           StageAccess &access) {
  auto found = std::find_if(loops.begin(), loops.end(), [&](const Loop &loop) {
    return loop.label == dimension.label;
  });
  if (dimension.size == 1)
    return true;
  if (found == loops.end()) {
    access.offset += random.below(dimension.size) * dimension.stride;
    return true;
  }
  size_t loop = found - loops.begin();
  int64_t size = found->size, slack = dimension.size - size;
  if (slack < 0)
    return false;
  size_t other = random.below(static_cast<int64_t>(loops.size()));
  if (other != loop && loops[other].size - 1 <= slack && slack > 0 &&
      random.chance(30)) {
    access.strides[loop] += dimension.stride;
    access.strides[other] += dimension.stride;
    slack -= loops[other].size - 1;
    access.offset += random.between(0, slack) * dimension.stride;
    return true;
  }
  int64_t step =
      size == 1 ? 1 : random.between(1, (dimension.size - 1) / (size - 1));
  if (random.chance(50) && slack >= 0)
    step = 1;
  int64_t start = random.between(0, dimension.size - 1 - step * (size - 1));
  bool isReversed = random.chance(9);
  access.offset +=
      (isReversed ? start + step * (size - 1) : start) * dimension.stride;
  access.strides[loop] += (isReversed ? -step : step) * dimension.stride;
  return true;
}

std::optional<StageAccess>
KernelMaker::readThrough(const Value &value, const std::vector<Loop> &loops) {
  StageAccess access{value.tensor, false, value.offset,
                     std::vector<int64_t>(loops.size(), 0)};
  for (const Dimension &dimension : value.dimensions)
    if (!addIndex(dimension, loops, access))
      return std::nullopt;
  return access;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// Drops loops of one iteration, as KernelStages.cpp does.
static void dropUnitLoops(Stage &stage) {
  for (size_t loop = stage.sizes.size(); loop-- > 0;) {
    if (stage.sizes[loop] != 1)
      continue;
    stage.sizes.erase(stage.sizes.begin() + loop);
    stage.reduced.erase(stage.reduced.begin() + loop);
    stage.counted.erase(stage.counted.begin() + loop);
    for (StageAccess &access : stage.accesses)
      access.strides.erase(access.strides.begin() + loop);
  }
}

/// A nest that writes `targets`, over `first` and other values.
void KernelMaker::addStage(const std::vector<Loop> &loops,
                           std::vector<Value> targets, const Value *first,
                           bool scans) {
  Stage stage;
  stage.scans = scans;
  for (const Loop &loop : loops) {
    stage.sizes.push_back(loop.size);
    stage.reduced.push_back(loop.isReduced);
    stage.counted.push_back(random.chance(6));
  }
  auto isTarget = [&](int tensor) {
    return std::any_of(targets.begin(), targets.end(), [&](const Value &value) {
      return value.tensor == tensor;
    });
  };
  int64_t reads = random.between(first ? 0 : 1, 3);
  if (first)
    if (auto access = readThrough(*first, loops))
      stage.accesses.push_back(*access);
  for (int64_t i = 0; i < reads * 2 && reads > 0; ++i) {
    const Value &value =
        random.chance(40) ? values.back() : random.oneOf(values);
    if (isTarget(value.tensor))
      continue;
    if (auto access = readThrough(value, loops)) {
      stage.accesses.push_back(*access);
      --reads;
    }
  }
  if (random.chance(6)) {
    int tensor = random.oneOf(values).tensor;
    if (!isTarget(tensor))
      stage.gathers.push_back(tensor);
  }
  bool isReversed = scans && random.chance(30);
  for (const Value &target : targets) {
    StageAccess write{target.tensor, true, target.offset,
                      std::vector<int64_t>(loops.size(), 0)};
    for (const Dimension &dimension : target.dimensions)
      for (size_t loop = 0; loop < loops.size(); ++loop)
        if (loops[loop].label == dimension.label)
          write.strides[loop] = dimension.stride;
    for (size_t loop = 0; loop < loops.size() && isReversed; ++loop)
      if (loops[loop].isReduced) {
        write.offset += write.strides[loop] * (loops[loop].size - 1);
        write.strides[loop] *= -1;
      }
    stage.accesses.push_back(write);
  }
  dropUnitLoops(stage);
  kernel.stages.push_back(stage);
}

/// Loops over a value, or over a slice of it, in some order.
std::vector<Loop> KernelMaker::loopsOf(const Value &value) {
  std::vector<Loop> loops;
  for (const Dimension &dimension : value.dimensions) {
    int64_t size = dimension.size;
    if (size > 1 && random.chance(10))
      size = random.between(1, size);
    loops.push_back({dimension.label, size});
  }
  if (random.chance(12))
    random.shuffle(loops);
  return loops;
}

void KernelMaker::addReducedLoops(std::vector<Loop> &loops, bool always) {
  for (Loop &loop : loops)
    loop.isReduced = random.chance(45);
  if (always && !loops.empty() &&
      std::none_of(loops.begin(), loops.end(),
                   [](const Loop &loop) { return loop.isReduced; }))
    loops[random.below(static_cast<int64_t>(loops.size()))].isReduced = true;
}

static std::vector<Loop> parallelLoops(const std::vector<Loop> &loops) {
  std::vector<Loop> parallel;
  for (const Loop &loop : loops)
    if (!loop.isReduced)
      parallel.push_back(loop);
  return parallel;
}

/// A point-wise nest or a reduction over a value, with new outputs.
void KernelMaker::addNest() {
  Value base = random.chance(60) ? values.back() : random.oneOf(values);
  std::vector<Loop> loops = loopsOf(base);
  for (int label : someLabels(2))
    if (random.chance(20) && product(loops) * sizes[label] <= maxIterations &&
        std::none_of(loops.begin(), loops.end(),
                     [&](const Loop &loop) { return loop.label == label; }))
      loops.insert(loops.begin() + random.below(loops.size() + 1),
                   {label, sizes[label]});
  if (!loops.empty() && random.chance(12))
    return addScan(base, loops);
  if (!loops.empty() && random.chance(12))
    return addScatter(base, loops);
  if (random.chance(40))
    addReducedLoops(loops, true);
  std::vector<Loop> kept = parallelLoops(loops);
  if (random.chance(10))
    random.shuffle(kept);
  std::vector<Value> targets;
  for (int64_t i = random.chance(8) ? 2 : 1; i > 0; --i)
    targets.push_back(newValue(kept, random.chance(65), false));
  addStage(loops, targets, &base);
  for (const Value &target : targets)
    addValue(target);
}

/// What one loop, forwards or in reverse, carries at each iteration.
void KernelMaker::addScan(const Value &base, std::vector<Loop> loops) {
  auto scanned = random.below(static_cast<int64_t>(loops.size()));
  Value target = newValue(loops, random.chance(65), false);
  loops[scanned].isReduced = true;
  addStage(loops, {target}, &base, /*scans=*/true);
  addValue(target);
}

/// A filled tensor, changed at computed indices in some of its dimensions.
void KernelMaker::addScatter(const Value &base, std::vector<Loop> loops) {
  std::vector<Loop> dimensions = loops;
  for (Loop &dimension : dimensions)
    dimension.size += random.chance(20);
  Value target = newValue(dimensions, random.chance(65), false);
  addStage(dimensions, {target}, nullptr);
  for (Loop &loop : loops)
    loop.isReduced = random.chance(50);
  if (random.chance(30))
    loops.insert(loops.begin(), {-1, random.between(1, 3), true});
  addStage(loops, {target}, &base);
  Stage &stage = kernel.stages.back();
  stage.scatters = true;
  StageAccess &write = stage.accesses.back();
  write.strides.clear();
  for (const Loop &loop : loops) {
    auto found = std::find_if(
        target.dimensions.begin(), target.dimensions.end(),
        [&](const Dimension &each) { return each.label == loop.label; });
    bool isComputed = loop.isReduced && found != target.dimensions.end();
    if (isComputed)
      write.computed.push_back({found->stride, found->size});
    if (loop.size > 1)
      write.strides.push_back(loop.isReduced ? 0 : found->stride);
  }
  addValue(target);
}

/// A result over an input of which it is a point-wise function.
void KernelMaker::addOverwrite() {
  std::vector<Value> inputs;
  for (const Value &value : values)
    if (kernel.tensors[value.tensor].isInput && !value.isPart)
      inputs.push_back(value);
  if (inputs.empty())
    return addNest();
  Value target = random.oneOf(inputs);
  std::vector<Loop> loops;
  for (const Dimension &dimension : target.dimensions)
    loops.push_back({dimension.label, dimension.size});
  std::erase_if(values, [&](const Value &value) {
    return value.tensor == target.tensor;
  });
  addInput();
  addStage(loops, {target}, nullptr);
  // The element that is overwritten is read first.
  Stage &stage = kernel.stages.back();
  StageAccess read = stage.accesses.back();
  read.isWrite = false;
  if (random.chance(80))
    stage.accesses.insert(stage.accesses.begin(), read);
  target.isPart = true;
  values.push_back(target);
}

//===----------------------------------------------------------------------===//
// Wholes
//===----------------------------------------------------------------------===//

/// [0, size) in two or three pieces.
static std::vector<int64_t> cut(Random &random, int64_t size) {
  std::vector<int64_t> ends = {0};
  while (ends.back() < size && ends.size() < 3)
    ends.push_back(random.between(ends.back() + 1, size));
  if (ends.back() < size)
    ends.push_back(size);
  return ends;
}

void KernelMaker::startWhole() {
  std::vector<Loop> loops;
  for (int label : someLabels(4))
    loops.push_back({label, sizes[label]});
  // Equal parts of a dimension are what makes digits look alike.
  size_t first = random.below(static_cast<int64_t>(loops.size()));
  if (random.chance(40) && product(loops) * 2 <= maxIterations)
    loops[first].size *= 2;
  Whole whole{newValue(loops, random.chance(75), false), {}};
  size_t second = random.below(static_cast<int64_t>(loops.size()));
  bool isCutTwice = second != first && random.chance(45);
  std::vector<int64_t> rows = cut(random, loops[first].size);
  if (loops[first].size % 2 == 0 && random.chance(40))
    rows = {0, loops[first].size / 2, loops[first].size};
  std::vector<int64_t> columns = {0, loops[second].size};
  if (isCutTwice)
    columns = cut(random, loops[second].size);
  for (size_t row = 0; row + 1 < rows.size(); ++row)
    for (size_t column = 0; column + 1 < columns.size(); ++column) {
      Value part = whole.value;
      part.isPart = true;
      Dimension &outer = part.dimensions[first];
      part.offset += rows[row] * outer.stride;
      outer.size = rows[row + 1] - rows[row];
      if (second != first) {
        Dimension &inner = part.dimensions[second];
        part.offset += columns[column] * inner.stride;
        inner.size = columns[column + 1] - columns[column];
      }
      whole.parts.push_back(part);
    }
  random.shuffle(whole.parts);
  if (random.chance(30)) { // A fill, and the parts of a padding are left out.
    Stage fill;
    addStage(loops, {whole.value}, nullptr);
    Stage &stage = kernel.stages.back();
    stage.accesses = {stage.accesses.back()};
    stage.gathers.clear();
    whole.parts.resize(random.between(1, whole.parts.size()));
  }
  std::reverse(whole.parts.begin(), whole.parts.end());
  wholes.push_back(whole);
}

/// Writes the next part of an open whole.
void KernelMaker::addPart() {
  size_t number = random.below(static_cast<int64_t>(wholes.size()));
  Value part = wholes[number].parts.back();
  wholes[number].parts.pop_back();
  std::vector<Loop> loops;
  for (const Dimension &dimension : part.dimensions)
    loops.push_back({dimension.label, dimension.size});
  if (random.chance(25))
    for (int label : someLabels(1))
      if (product(loops) * sizes[label] <= maxIterations &&
          std::none_of(loops.begin(), loops.end(),
                       [&](const Loop &loop) { return loop.label == label; }))
        loops.insert(loops.begin() + random.below(loops.size() + 1),
                     {label, sizes[label], true});
  addStage(loops, {part}, nullptr);
  if (random.chance(40))
    values.push_back(part);
  if (!wholes[number].parts.empty())
    return;
  addValue(wholes[number].value);
  wholes.erase(wholes.begin() + number);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

KernelStages KernelMaker::make() {
  for (int64_t i = random.between(1, 3); i > 0; --i)
    addInput();
  int64_t steps = random.between(1, 7);
  for (int64_t i = 0; i < steps; ++i) {
    int64_t choice = random.below(100);
    if (!wholes.empty() && choice < 60)
      addPart();
    else if (choice < 75)
      addNest();
    else if (choice < 92)
      startWhole();
    else
      addOverwrite();
  }
  while (!wholes.empty())
    addPart();
  if (random.chance(60))
    addNest();
  return std::move(kernel);
}

KernelStages randomKernel(Random &random) { return KernelMaker(random).make(); }

LoopPreferences randomPreferences(Random &random) {
  LoopPreferences preferences;
  preferences.pointwiseBlock = random.oneOf({2, 3, 4, 8, 4096});
  preferences.reductionBlock = random.oneOf({2, 3, 4, 8, 32, 64});
  preferences.minBlock = random.oneOf({1, 2, 16});
  preferences.enoughIterations = random.oneOf({1, 2, 4, 16, 32});
  preferences.privateBytes = random.oneOf({8, 16, 64, 256, 32768});
  preferences.smallWork = random.oneOf({0, 8, 64, 512, 32768});
  preferences.blockThreads = random.oneOf({1, 32, 256});
  if (preferences.blockThreads > 1) {
    preferences.sharedBytes = random.oneOf({64, 1024, 49152});
    preferences.tileLineBytes = random.oneOf({0, 8, 16, 128});
    preferences.nearRowBytes = random.oneOf({0, 8, 64});
  }
  return preferences;
}

} // namespace shardc::kernel
