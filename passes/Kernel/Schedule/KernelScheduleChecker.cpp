//===- KernelScheduleChecker.cpp - Executes a schedule --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One executor: running the stages in program order is running a schedule of
// one launch a stage, with one iteration, without merged loops, blocks and
// private tensors.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Schedule/KernelScheduleChecker.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace shardc::kernel {

using Word = uint64_t;

/// The finalizer of SplitMix64 over a running hash.
static Word mix(Word hash, Word word) {
  hash += word * 0x9e3779b97f4a7c15 + 0x632be59bd9b4e019;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
  return hash ^ (hash >> 31);
}

//===----------------------------------------------------------------------===//
// Whether the launches are loop nests of the stages
//===----------------------------------------------------------------------===//

static std::string nameOf(const char *what, int64_t number) {
  return std::string(what) + " " + std::to_string(number);
}

/// A tile is a copy, which no stage of the launch may change.
static Complaint checkTiles(const KernelSchedule &schedule,
                            const Launch &launch,
                            const ScheduledStage &scheduled) {
  const auto &stages = schedule.merged.stages;
  const Stage &stage = stages[scheduled.stage];
  for (int number : scheduled.threads.tiled) {
    const int tensor = stage.accesses.at(number).tensor;
    if (launch.blocked.size() != 2)
      return nameOf("stage", scheduled.stage) + " has a tile of other launches";
    for (const ScheduledStage &other : launch.stages)
      for (const StageAccess &access : stages[other.stage].accesses)
        if (access.isWrite && access.tensor == tensor)
          return nameOf("stage", scheduled.stage) + " has a tile of " +
                 nameOf("tensor", tensor) + ", which the launch writes";
  }
  return {};
}

/// Each loop of the stage once, the launch's with its sizes.
static Complaint checkLoops(const Launch &launch,
                            const ScheduledStage &scheduled,
                            const Stage &stage) {
  std::string name = nameOf("stage", scheduled.stage);
  std::vector<int> seen(stage.sizes.size(), 0);
  for (int loop : scheduled.launchLoops)
    ++seen.at(loop);
  for (int loop : scheduled.innerLoops)
    ++seen.at(loop);
  if (std::any_of(seen.begin(), seen.end(), [](int n) { return n != 1; }))
    return name + " does not run each of its loops once";
  if (scheduled.launchLoops.size() != launch.sizes.size())
    return name + " has another number of launch loops than its launch";
  for (size_t i = 0; i < launch.sizes.size(); ++i) {
    int loop = scheduled.launchLoops[i];
    if (stage.sizes[loop] != launch.sizes[i])
      return name + " has another size of launch loop " + std::to_string(i);
    if (stage.reduced[loop])
      return name + " reduces launch loop " + std::to_string(i);
  }
  if (scheduled.blockedLoops.size() != launch.blocked.size())
    return name + " is blocked where its launch is not, or the reverse";
  for (size_t i = 0; i < launch.blocked.size(); ++i) {
    int loop = scheduled.blockedLoops[i];
    if (stage.reduced[loop] || stage.sizes[loop] != launch.blocked[i].size ||
        std::count(scheduled.innerLoops.begin(), scheduled.innerLoops.end(),
                   loop) != 1)
      return name + " has a blocked loop that is not its launch's";
  }
  return {};
}

/// Each stage once, and as many placements and numbers as there should be.
static Complaint checkForm(const KernelStages &kernel,
                           const KernelSchedule &schedule) {
  if (schedule.merged.stages.size() != kernel.stages.size() ||
      schedule.loopNumbers.size() != kernel.stages.size() ||
      schedule.placements.size() != kernel.tensors.size())
    return "merging added or lost stages or tensors";
  std::vector<int> seen(kernel.stages.size(), 0);
  for (const Launch &launch : schedule.launches)
    for (const ScheduledStage &scheduled : launch.stages) {
      ++seen.at(scheduled.stage);
      if (Complaint complaint = checkLoops(
              launch, scheduled, schedule.merged.stages[scheduled.stage]))
        return complaint;
      if (Complaint complaint = checkTiles(schedule, launch, scheduled))
        return complaint;
    }
  for (size_t i = 0; i < seen.size(); ++i)
    if (seen[i] != 1)
      return nameOf("stage", i) + " runs " + std::to_string(seen[i]) +
             " times instead of once";
  for (size_t i = 0; i < kernel.tensors.size(); ++i)
    if (schedule.placements[i].isPrivate && !kernel.tensors[i].isTemporary)
      return nameOf("tensor", i) + " is private and lives longer than a kernel";
  return {};
}

/// Stages in program order, each alone and in one iteration.
static KernelSchedule programOrder(const KernelStages &kernel) {
  KernelSchedule schedule;
  schedule.merged = kernel;
  for (size_t i = 0; i < kernel.stages.size(); ++i) {
    const Stage &stage = kernel.stages[i];
    std::vector<int> numbers(stage.sizes.size()), loops;
    std::iota(numbers.begin(), numbers.end(), 0);
    for (bool reduced : {false, true})
      for (int loop : numbers)
        if (stage.reduced[loop] == reduced)
          loops.push_back(loop);
    schedule.loopNumbers.push_back(numbers);
    Launch launch;
    launch.stages = {{static_cast<int>(i), {}, {}, loops}};
    schedule.launches.push_back(launch);
  }
  for (const StageTensor &tensor : kernel.tensors)
    schedule.placements.push_back({false, tensor.elements, {}});
  return schedule;
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

namespace {

constexpr int64_t nobody = -2, theCaller = -1;

/// An element and the iterations that touched it last. Iterations are numbered
/// through all launches.
struct Cell {
  Word value = 0;
  int64_t writer = nobody;
  /// The first reader of a launch and one that differs from it.
  int64_t reader = nobody, otherReader = nobody;
};

/// An access as it is inside a launch.
struct PlacedAccess {
  int tensor;
  bool isPrivate;
  int64_t offset;
  std::vector<int64_t> strides;
  std::vector<StageAccess::Computed> computed;
};

/// A stage of the running launch with its accesses.
struct PlacedStage {
  const ScheduledStage *scheduled;
  std::vector<PlacedAccess> reads, writes;
};

/// For each stage and each tensor that it gathers from: the elements that are
/// written before it in program order.
using GatheredElements = std::vector<std::vector<std::vector<int64_t>>>;

class Execution {
public:
  Execution(const KernelStages &kernel, const KernelSchedule &schedule,
            uint64_t order, GatheredElements &gathered, bool collectsGathered)
      : kernel(kernel), schedule(schedule), order(order), gathered(gathered),
        collectsGathered(collectsGathered) {}

  Complaint run();
  const std::vector<std::vector<Cell>> &cells() const { return memory; }

private:
  void allocate();
  void collectGathered(int stage);
  void runLaunch(const Launch &launch);
  void runIteration(const Launch &launch, int64_t number);
  void runStage(const PlacedStage &placed);
  template <typename Inside>
  void forEach(std::span<const int> loops, const Inside &inside);
  void reduce(std::span<const int> loops);
  void reduceBlock(std::span<const int> reduced, std::span<const int> after);
  void scan(std::span<const int> scanned, std::span<const int> after);
  void scatter(std::span<const int> loops);
  PlacedStage place(const ScheduledStage &scheduled) const;

  Word bodyHash();
  Word bodyValue(Word hash, size_t output) const { return mix(hash, output); }
  Word startValue(size_t output) const {
    return mix(~Word(current->stage), output);
  }
  Cell *cellOf(const PlacedAccess &access);
  Word readCell(Cell &cell, int tensor, bool isPrivate);
  Word load(const PlacedAccess &access);
  void store(const PlacedAccess &access, Word value);
  void complain(const std::string &what, int tensor, int64_t element);
  int64_t elementOf(const Cell &cell, int tensor, bool isPrivate) const;

  const KernelStages &kernel;
  const KernelSchedule &schedule;
  const uint64_t order;
  GatheredElements &gathered;
  const bool collectsGathered;
  Complaint complaint;

  /// By tensor: the whole, and what is private to the running iteration.
  std::vector<std::vector<Cell>> memory, privates;
  int64_t launchNumber = -1, firstIteration = 0, iteration = 0;
  std::vector<PlacedStage> stages;
  std::vector<int64_t> blockStarts, blockEnds;
  std::vector<int64_t> launchCounters;

  // The stage that runs.
  const PlacedStage *placed = nullptr;
  const ScheduledStage *current = nullptr;
  const Stage *stage = nullptr;
  bool isReduction = false;
  /// Counters over whole tensors, and inside the iteration.
  std::vector<int64_t> counters, insideCounters;
  std::vector<Word> sums;
};

} // namespace

void Execution::allocate() {
  for (size_t tensor = 0; tensor < kernel.tensors.size(); ++tensor) {
    const StageTensor &info = kernel.tensors[tensor];
    const TensorPlacement &placement = schedule.placements[tensor];
    memory.emplace_back(placement.isPrivate ? 0 : info.elements);
    privates.emplace_back(placement.isPrivate ? placement.elements : 0);
    if (!info.isInput)
      continue;
    for (size_t element = 0; element < memory.back().size(); ++element)
      memory.back()[element] = {mix(tensor, element), theCaller};
  }
}

void Execution::collectGathered(int number) {
  for (int tensor : kernel.stages[number].gathers) {
    auto &elements = gathered[number].emplace_back();
    for (size_t element = 0; element < memory[tensor].size(); ++element)
      if (memory[tensor][element].writer != nobody)
        elements.push_back(element);
  }
}

Complaint Execution::run() {
  allocate();
  for (const Launch &launch : schedule.launches) {
    ++launchNumber;
    if (collectsGathered)
      collectGathered(launch.stages.front().stage);
    runLaunch(launch);
    if (complaint)
      return complaint;
  }
  return {};
}

void Execution::runLaunch(const Launch &launch) {
  stages.clear();
  for (const ScheduledStage &scheduled : launch.stages)
    stages.push_back(place(scheduled));
  int64_t extent = launch.extent();
  std::vector<int64_t> numbers(extent);
  std::iota(numbers.begin(), numbers.end(), 0);
  Word state = order;
  for (int64_t i = extent - 1; order != 0 && i > 0; --i)
    std::swap(numbers[i], numbers[(state = mix(state, i)) % (i + 1)]);
  for (int64_t i = 0; i < extent && !complaint; ++i)
    runIteration(launch, numbers[i]);
  firstIteration += extent;
}

void Execution::runIteration(const Launch &launch, int64_t number) {
  iteration = firstIteration + number;
  blockStarts.assign(launch.blocked.size(), 0);
  blockEnds = blockStarts;
  for (size_t i = launch.blocked.size(); i-- > 0;) {
    const BlockedLoop &loop = launch.blocked[i];
    blockStarts[i] = number % loop.count() * loop.block;
    blockEnds[i] = std::min(loop.block, loop.size - blockStarts[i]);
    number /= loop.count();
  }
  launchCounters.assign(launch.sizes.size(), 0);
  for (size_t i = launch.sizes.size(); i-- > 0;) {
    launchCounters[i] = number % launch.sizes[i];
    number /= launch.sizes[i];
  }
  for (const PlacedStage &each : stages)
    runStage(each);
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// Accesses of the stage as KernelLoops.cpp addresses them.
PlacedStage Execution::place(const ScheduledStage &scheduled) const {
  PlacedStage result{&scheduled, {}, {}};
  for (const StageAccess &access :
       schedule.merged.stages[scheduled.stage].accesses) {
    const TensorPlacement &placement = schedule.placements[access.tensor];
    PlacedAccess inside{access.tensor, placement.isPrivate, access.offset,
                        access.strides, access.computed};
    if (inside.isPrivate) {
      for (StageAccess::Computed &index : inside.computed)
        index.stride = placement.privateStride(index.stride);
      inside.offset = placement.privateOffset(access.offset);
      for (int64_t &stride : inside.strides)
        stride = placement.privateStride(stride);
      for (int loop : scheduled.launchLoops)
        inside.strides[loop] = 0;
    }
    (access.isWrite ? result.writes : result.reads)
        .push_back(std::move(inside));
  }
  return result;
}

void Execution::runStage(const PlacedStage &which) {
  placed = &which;
  current = which.scheduled;
  stage = &schedule.merged.stages[current->stage];
  isReduction = std::find(stage->reduced.begin(), stage->reduced.end(), true) !=
                stage->reduced.end();
  counters.assign(stage->sizes.size(), 0);
  insideCounters.assign(stage->sizes.size(), 0);
  for (size_t i = 0; i < launchCounters.size(); ++i)
    counters[current->launchLoops[i]] = launchCounters[i];
  std::span<const int> loops = current->innerLoops;
  if (stage->scatters)
    return scatter(loops);
  auto isReduced = [&](int loop) { return bool(stage->reduced[loop]); };
  auto first = std::find_if(loops.begin(), loops.end(), isReduced);
  auto last = std::find_if_not(first, loops.end(), isReduced);
  std::span<const int> reduced(first, last), after(last, loops.end());
  forEach({loops.begin(), first}, [&] {
    if (stage->scans)
      scan(reduced, after);
    else if (after.empty())
      reduce(reduced);
    else
      reduceBlock(reduced, after);
  });
}

template <typename Inside>
void Execution::forEach(std::span<const int> loops, const Inside &inside) {
  if (loops.empty())
    return inside();
  int loop = loops.front();
  const int blocked = current->blockedNumber(loop);
  const int64_t start = blocked < 0 ? 0 : blockStarts[blocked];
  const int64_t end = blocked < 0 ? stage->sizes[loop] : blockEnds[blocked];
  for (int64_t counter = 0; counter < end && !complaint; ++counter) {
    insideCounters[loop] = counter;
    counters[loop] = start + counter;
    forEach(loops.subspan(1), inside);
  }
}

/// Values in registers, stored at the end.
void Execution::reduce(std::span<const int> loops) {
  sums.resize(placed->writes.size());
  for (size_t output = 0; output < sums.size(); ++output)
    sums[output] = isReduction ? startValue(output) : 0;
  forEach(loops, [&] {
    Word hash = bodyHash();
    for (size_t output = 0; output < sums.size(); ++output)
      sums[output] += bodyValue(hash, output);
  });
  for (size_t output = 0; output < sums.size(); ++output)
    store(placed->writes[output], sums[output]);
}

/// Values in the outputs while `reduced` loops run.
void Execution::reduceBlock(std::span<const int> reduced,
                            std::span<const int> after) {
  forEach(after, [&] {
    for (size_t output = 0; output < placed->writes.size(); ++output)
      store(placed->writes[output], startValue(output));
  });
  forEach(reduced, [&] {
    forEach(after, [&] {
      Word hash = bodyHash();
      for (size_t output = 0; output < placed->writes.size(); ++output)
        store(placed->writes[output],
              load(placed->writes[output]) + bodyValue(hash, output));
    });
  });
}

/// What the scanned loop left one iteration before, in a register or, with
/// loops inside of it, in the outputs; the order of iterations shows.
void Execution::scan(std::span<const int> scanned, std::span<const int> after) {
  sums.resize(placed->writes.size());
  forEach(scanned, [&] {
    forEach(after, [&] {
      Word hash = bodyHash();
      bool isFirst = scanned.empty() || insideCounters[scanned.front()] == 0;
      for (size_t output = 0; output < sums.size(); ++output) {
        const PlacedAccess &write = placed->writes[output];
        Word before = startValue(output);
        if (!isFirst && after.empty()) {
          before = sums[output];
        } else if (!isFirst) {
          --insideCounters[scanned.front()];
          --counters[scanned.front()];
          before = load(write);
          ++insideCounters[scanned.front()];
          ++counters[scanned.front()];
        }
        sums[output] = mix(before, bodyValue(hash, output));
        store(write, sums[output]);
      }
    });
  });
}

/// Elements at places that follow from what the body knows; the order of those
/// at one place shows.
void Execution::scatter(std::span<const int> loops) {
  forEach(loops, [&] {
    Word hash = bodyHash();
    PlacedAccess place = placed->writes.front();
    for (size_t i = 0; i < place.computed.size(); ++i) {
      const StageAccess::Computed &index = place.computed[i];
      auto chosen =
          static_cast<int64_t>(mix(~hash, i) % static_cast<Word>(index.size));
      place.offset += chosen * index.stride;
    }
    store(place, mix(load(place), hash));
  });
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Word Execution::bodyHash() {
  int number = current->stage;
  Word hash = mix(number, 0);
  for (const PlacedAccess &read : placed->reads)
    hash = mix(hash, load(read));
  const std::vector<bool> &counted = kernel.stages[number].counted;
  for (size_t loop = 0; loop < counted.size(); ++loop)
    if (counted[loop]) {
      int merged = schedule.loopNumbers[number][loop];
      if (merged < 0) {
        complaint = nameOf("stage", number) + " lost its counted loop " +
                    std::to_string(loop);
        return 0;
      }
      hash = mix(hash, counters[merged]);
    }
  // Computed indices follow from what the body knows.
  const std::vector<int> &tensors = kernel.stages[number].gathers;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::vector<int64_t> &elements = gathered[number][i];
    if (schedule.placements[tensors[i]].isPrivate)
      complain("gathers from a private", tensors[i], 0);
    else if (elements.empty())
      complain("gathers from an unwritten", tensors[i], 0);
    if (complaint)
      return 0;
    int64_t element = elements[hash % elements.size()];
    hash = mix(hash, readCell(memory[tensors[i]][element], tensors[i], false));
  }
  return hash;
}

void Execution::complain(const std::string &what, int tensor, int64_t element) {
  if (!complaint)
    complaint = nameOf("launch", launchNumber) + ", " +
                nameOf("stage", current->stage) + ", " +
                nameOf("iteration", iteration - firstIteration) + " " + what +
                " element " + std::to_string(element) + " of " +
                nameOf("tensor", tensor);
}

int64_t Execution::elementOf(const Cell &cell, int tensor,
                             bool isPrivate) const {
  return &cell - (isPrivate ? privates : memory)[tensor].data();
}

/// Null, and a complaint, outside the tensor.
Cell *Execution::cellOf(const PlacedAccess &access) {
  const std::vector<int64_t> &steps =
      access.isPrivate ? insideCounters : counters;
  int64_t element = access.offset;
  for (size_t loop = 0; loop < steps.size(); ++loop)
    element += access.strides[loop] * steps[loop];
  auto &cells = (access.isPrivate ? privates : memory)[access.tensor];
  if (element >= 0 && element < static_cast<int64_t>(cells.size()))
    return &cells[element];
  complain("leaves the tensor at", access.tensor, element);
  return nullptr;
}

Word Execution::readCell(Cell &cell, int tensor, bool isPrivate) {
  int64_t element = elementOf(cell, tensor, isPrivate);
  if (cell.writer == nobody || (isPrivate && cell.writer != iteration))
    complain("reads what nobody wrote,", tensor, element);
  else if (cell.writer >= firstIteration && cell.writer != iteration)
    complain("reads what another iteration writes,", tensor, element);
  if (cell.reader < firstIteration)
    cell.reader = iteration;
  else if (cell.reader != iteration)
    cell.otherReader = iteration;
  return cell.value;
}

Word Execution::load(const PlacedAccess &access) {
  Cell *cell = cellOf(access);
  return cell ? readCell(*cell, access.tensor, access.isPrivate) : 0;
}

void Execution::store(const PlacedAccess &access, Word value) {
  Cell *cell = cellOf(access);
  if (!cell)
    return;
  auto isOther = [&](int64_t other) {
    return !access.isPrivate && other >= firstIteration && other != iteration;
  };
  if (isOther(cell->writer) || isOther(cell->reader) ||
      isOther(cell->otherReader))
    complain("writes what another iteration touches,", access.tensor,
             elementOf(*cell, access.tensor, access.isPrivate));
  cell->value = value;
  cell->writer = iteration;
}

//===----------------------------------------------------------------------===//
// The verdict
//===----------------------------------------------------------------------===//

int64_t executionWork(const KernelStages &kernel) {
  int64_t work = 0;
  for (const Stage &stage : kernel.stages) {
    int64_t iterations = 1;
    for (int64_t size : stage.sizes)
      iterations *= size;
    work += iterations;
  }
  for (const StageTensor &tensor : kernel.tensors)
    work += tensor.elements;
  return work;
}

Complaint checkSchedule(const KernelStages &kernel,
                        const KernelSchedule &schedule, uint64_t order) {
  if (Complaint complaint = checkForm(kernel, schedule))
    return complaint;
  GatheredElements gathered(kernel.stages.size());
  KernelSchedule simple = programOrder(kernel);
  Execution expected(kernel, simple, /*order=*/0, gathered, true);
  if (Complaint complaint = expected.run())
    return "the stages in program order: " + *complaint;
  Execution actual(kernel, schedule, order, gathered, false);
  if (Complaint complaint = actual.run())
    return complaint;
  for (size_t tensor = 0; tensor < kernel.tensors.size(); ++tensor) {
    if (kernel.tensors[tensor].isTemporary)
      continue;
    const auto &wanted = expected.cells()[tensor];
    const auto &got = actual.cells()[tensor];
    for (size_t element = 0; element < wanted.size(); ++element)
      if ((wanted[element].writer == nobody) !=
              (got[element].writer == nobody) ||
          wanted[element].value != got[element].value)
        return "element " + std::to_string(element) + " of " +
               nameOf("tensor", tensor) +
               " differs from the stages in program order";
  }
  return {};
}

Complaint checkSmallSchedule(const KernelStages &kernel,
                             const KernelSchedule &schedule) {
  return executionWork(kernel) <= maxCheckedWork
             ? checkSchedule(kernel, schedule)
             : std::nullopt;
}

} // namespace shardc::kernel
