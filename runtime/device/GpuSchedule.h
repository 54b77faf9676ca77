//===- GpuSchedule.h - Who of a thread block goes on ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the threads of one block at a time, one after the other on one fiber as
// long as none waits: a fiber whose thread returned takes the next thread. A
// thread that waits keeps its fiber, and whichever thread can go on is drawn by
// chance.
//
//   thread 2   ...waits at barrier 1                      ...goes on
//   thread 0                         ...waits at barrier 1
//
// Threads meet at a barrier when all of the block wait there, lanes when all of
// a mask wait with this mask at one site. If nobody can go on and that is not
// so, the block diverged: the GPU would hang or do worse. It is reported, and
// everybody goes on, so that each thread comes to its end.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DEVICE_GPUSCHEDULE_H
#define SHARDC_RUNTIME_DEVICE_GPUSCHEDULE_H

#include "runtime/device/AccessShadow.h"
#include "runtime/device/Fiber.h"
#include "runtime/device/GpuReport.h"
#include "runtime/device/GpuThread.h"

#include <memory>
#include <random>
#include <vector>

namespace shardc::runtime {

class GpuMemory;
class GpuSchedule;

/// A thread as the emulator keeps it; hooks are given it as a GpuThread.
struct BlockThread : GpuThread {
  enum class State {
    Runnable,
    AtBarrier,
    AtWarpBarrier,
    AtShuffle,
    AtProduct,
    Returned
  };

  GpuSchedule *schedule;
  GpuMemory *memory;
  Viewpoint view;
  State state;
  /// Null before it begins.
  Fiber *fiber;
  /// Where it waits, and of a shuffle what it gives and gets.
  int64_t site;
  uint32_t mask;
  uint64_t laneMask;
  int32_t given;
  int32_t got;
  /// Its part of matrices, which the last lane that comes multiplies.
  GpuProduct *product;
};

/// Not copied: fibers know where it is.
class GpuSchedule {
public:
  /// More threads a block no GPU takes.
  static constexpr int64_t maximumThreads = 1 << Moment::threadBits;

  /// The report outlives the schedule.
  GpuSchedule(uint64_t seed, GpuReport &report);

  /// Makes ready for blocks of this many threads, 1 to maximumThreads, which
  /// run `kernel` with these parameters; fails with E0503.
  Status prepare(const GpuHooks &hooks, GpuMemory &memory, GpuKernel kernel,
                 int64_t threads, const void *parameters);

  /// Runs all threads of a block, the `number`th of all that ever ran.
  void run(int64_t block, uint64_t number);

  // What hooks do for the thread that calls them.
  void meetBlock(BlockThread &thread, int64_t site);
  void meetWarp(BlockThread &thread, uint32_t mask, int64_t site);
  int32_t shuffle(BlockThread &thread, uint32_t mask, int32_t value,
                  uint64_t laneMask, int64_t site);
  void multiply(BlockThread &thread, GpuProduct &product, int64_t site);

private:
  static constexpr uint32_t lanesOfWarp = 32;

  /// A stack and the thread that it begins next.
  struct Worker {
    Fiber fiber;
    BlockThread *thread = nullptr;
    GpuSchedule *schedule = nullptr;
  };
  /// Lanes that wait for each other.
  struct Meeting {
    int64_t site;
    uint32_t mask;
    uint32_t arrived;
    /// What its lanes wait at.
    BlockThread::State state;
  };
  struct Warp {
    std::vector<Meeting> meetings;
    /// Whether lanes have met in this block; `seen` holds nothing before.
    bool hasMet = false;
    std::array<std::array<uint32_t, lanesOfWarp>, lanesOfWarp> seen;
  };

  static void work(void *worker);
  [[noreturn]] void runThreads(Worker &worker);
  void begin(BlockThread &thread, Worker &worker);
  Worker &idleWorker();
  BlockThread *draw();
  void suspend(BlockThread &thread);
  bool release();
  void releaseAll();
  void arrive(BlockThread &thread, uint32_t mask, int64_t site);
  void order(Warp &warp, BlockThread *firstLane, uint32_t lanes);
  void exchange(BlockThread *firstLane, uint32_t lanes);
  void tick();
  std::string divergence() const;
  std::string blockDivergence(const BlockThread &waiting) const;
  std::string warpDivergence(const Meeting &meeting, uint32_t firstLane) const;

  GpuReport &report;
  std::mt19937_64 random;
  FiberStacks stacks;
  Fiber host;
  std::vector<std::unique_ptr<Worker>> workers;
  /// Of the workers, those that have ever been used come first.
  size_t begun = 0;
  std::vector<Worker *> idle;
  GpuKernel kernel = nullptr;

  /// Of the block.
  std::vector<BlockThread> threads;
  std::vector<BlockThread *> runnable;
  std::vector<Warp> warps;
  size_t returned = 0;
  size_t atBarrier = 0;
  int64_t barrierSite = 0;
  bool areSitesMixed = false;
  uint64_t time = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_GPUSCHEDULE_H
