//===- AccessShadow.h - Who touched which byte ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Finds two accesses of a byte by different threads of a launch that nothing
// orders and of which one writes, in whatever order they happen to run.
//
// An access has a moment: the block (its number among all that ever ran), the
// thread, and the thread's clock. A block's clock ticks whenever threads meet,
// and those that met take its time over. So an earlier access at clock c is
// ordered before one of this thread if it is
//
//   this thread's                          always
//   in the block, c < time of the last     a barrier of the block lies between
//     barrier
//   in the warp, c < seen[its lane]        lanes met, directly or by way of
//                                          others: a vector clock
//   in another block                       never
//
// For each unit of bytes a cell remembers the last write and the reads since:
//
//   writer   the moment of the last write
//   reader   the moment of one reader; with several, the earliest clock
//   lanes    the lanes that read, if all are of the reader's warp; 0 otherwise
//
// That is enough. Of reads that are ordered the last one stands for all,
// because who writes after it writes after the others. Readers of several warps
// are ordered before a write by a barrier of the block alone, which all of them
// pass. A reader of an earlier block stays: nothing orders any later write.
// Only lanes that read at different clocks, and meet others of the warp by
// different masks before one of them writes, may hide a race; what is right is
// never reported.
//
// Accesses are aligned to their size, a power of two, so the bytes of a unit as
// large as the smallest access of a page so far have one history. A page has
// such units; a smaller access splits them. Cells are never cleared: moments
// grow, and what lies before the floor of the launch or block is forgotten.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DEVICE_ACCESSSHADOW_H
#define SHARDC_RUNTIME_DEVICE_ACCESSSHADOW_H

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace shardc::runtime {

/// A block among all that ran, a thread of it and the thread's clock. Ordered
/// by block first. Zero is before all.
class Moment {
public:
  static constexpr uint64_t clockBits = 28, threadBits = 10, blockBits = 26;

  constexpr Moment() = default;
  constexpr Moment(uint64_t block, uint64_t thread, uint64_t clock)
      : bits(block << (threadBits + clockBits) | thread << clockBits | clock) {}

  uint64_t block() const { return bits >> (threadBits + clockBits); }
  uint32_t thread() const { return bits >> clockBits & (1 << threadBits) - 1; }
  uint32_t clock() const { return bits & (1 << clockBits) - 1; }
  uint32_t warp() const { return thread() / 32; }
  uint32_t lane() const { return thread() % 32; }
  Moment atClock(uint64_t clock) const { return {block(), thread(), clock}; }
  bool isSameThread(Moment other) const {
    return (bits ^ other.bits) >> clockBits == 0;
  }
  auto operator<=>(const Moment &) const = default;

private:
  uint64_t bits = 0;
};

/// What a thread knows about the order of accesses.
struct Viewpoint {
  Moment now;
  /// The time of the last barrier of its block.
  uint32_t lastBarrier = 0;
  /// For each lane of its warp, the clock before which that lane's accesses are
  /// ordered before this thread's; null while no lanes have met.
  const uint32_t *seen = nullptr;
};

/// What is wrong with an access.
struct AccessFinding {
  enum class Kind { Race, Unwritten };
  Kind kind;
  /// The first byte of it that the finding is about.
  uintptr_t address;
  /// Of a race: the earlier access.
  Moment other;
  bool didOtherWrite;
};

/// The shadow of some memory. Takes memory for the pages that are touched.
class AccessShadow {
public:
  /// Whether a read of what nobody has written since the floor is wrong.
  enum class Reads { OfAnything, OfWritten };
  explicit AccessShadow(Reads reads) : reads(reads) {}

  /// Forgets all accesses before `newFloor`, in no time.
  void beginAt(Moment newFloor) { floor = newFloor; }
  /// Forgets all accesses and gives the memory back.
  void clear();

  /// Notes an access of `bytes` bytes, a power of two up to 16 that divides
  /// `address`. What is wrong with it, or null; until the next call.
  const AccessFinding *read(uintptr_t address, size_t bytes,
                            const Viewpoint &view);
  const AccessFinding *write(uintptr_t address, size_t bytes,
                             const Viewpoint &view);

private:
  struct Cell {
    Moment writer;
    Moment reader;
    uint32_t lanes = 0;
    /// A reader of another warp than the reader's, if `lanes` is zero.
    uint32_t otherReader = 0;
  };
  struct Page {
    Moment floor;
    /// Of the bytes of a unit, the logarithm.
    int unit = 0;
    size_t capacity = 0;
    std::unique_ptr<Cell[]> cells;
  };
  struct Recent {
    uintptr_t number = ~uintptr_t(0);
    Page *page = nullptr;
  };
  struct Cells {
    Cell *first;
    size_t count;
    int unit;
  };

  Cells cellsOf(uintptr_t address, size_t bytes);
  Page *find(uintptr_t number);
  void adapt(Page &page, int unit);
  bool isOrdered(Moment earlier, const Viewpoint &view) const;
  bool areReadersOrdered(const Cell &cell, const Viewpoint &view,
                         Moment *unordered) const;
  void addReader(Cell &cell, const Viewpoint &view) const;
  const AccessFinding *note(const AccessFinding *found,
                            const AccessFinding &other);

  const Reads reads;
  Moment floor;
  AccessFinding finding = {};
  /// Pages that were used last, by the last bits of their numbers.
  std::array<Recent, 64> recent;
  std::unordered_map<uintptr_t, Page> pages;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_ACCESSSHADOW_H
