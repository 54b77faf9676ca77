//===- KernelLoopClasses.h - Loops of stages that walk together -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The classes that KernelSchedule.h speaks of, and the merging of loops that
// are one loop in memory. Standard C++ on plain data.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_SCHEDULE_KERNELLOOPCLASSES_H
#define SHARDC_PASSES_KERNEL_SCHEDULE_KERNELLOOPCLASSES_H

#include "passes/Kernel/Schedule/KernelSchedule.h"

#include <optional>

namespace shardc::kernel {

/// A loop as a digit of an access's element number.
struct Digit {
  int64_t stride, size;
  bool operator==(const Digit &other) const = default;
};

/// The digit that `loop` of `stage` is of `access`, if it is one.
std::optional<Digit> digitOf(const Stage &stage, const StageAccess &access,
                             int loop);

/// Partitions the loops of all stages.
class LoopClasses {
public:
  explicit LoopClasses(const KernelStages &kernel);

  int count() const { return static_cast<int>(loops.size()); }
  int classOf(int stage, int loop) const { return classes[stage][loop]; }
  /// The loop of `stage` in the class, or -1.
  int loopIn(int loopClass, int stage) const { return loops[loopClass][stage]; }

private:
  void unite(const KernelStages &kernel, int first, int second);
  bool tryUnite(int first, int firstLoop, int second, int secondLoop);

  /// By stage and loop.
  std::vector<std::vector<int>> classes;
  /// By class and stage.
  std::vector<std::vector<int>> loops;
};

/// By stage and original loop the number of the loop, or -1 where it is merged
/// with others or split: here all loops are as they were.
std::vector<std::vector<int>> numberLoops(const KernelStages &kernel);

/// Splits loops of point-wise stages where a sum, or a stage that was split for
/// one, reads what they make in parts: 8192 rows are 8 times 1024 where a sum
/// has parts of 1024 rows, so that both can share a launch.
void splitLoops(KernelStages &kernel, std::vector<std::vector<int>> &numbers);

/// Merges pairs of classes that every stage walks as one loop: neighbours of
/// one kind, such as height and width of an image whose rows follow each other.
void mergeLoops(KernelStages &kernel, std::vector<std::vector<int>> &numbers);

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_SCHEDULE_KERNELLOOPCLASSES_H
