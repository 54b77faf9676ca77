//===- GpuSchedule.cpp - Who of a thread block goes on --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Drawing threads, switching to them, and the ways in which they meet.
//===----------------------------------------------------------------------===//

#include "runtime/device/GpuSchedule.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdio>
#include <cstdlib>

namespace shardc::runtime {

using State = BlockThread::State;

GpuSchedule::GpuSchedule(uint64_t seed, GpuReport &report)
    : report(report), random(seed) {}

Status GpuSchedule::prepare(const GpuHooks &hooks, GpuMemory &memory,
                            GpuKernel newKernel, int64_t count,
                            const void *parameters) {
  const auto size = static_cast<size_t>(count);
  if (Status status = stacks.reserve(size); !status.ok())
    return status;
  while (workers.size() < stacks.size())
    workers.push_back(std::make_unique<Worker>());
  idle.reserve(workers.size());
  kernel = newKernel;
  threads.resize(size);
  for (BlockThread &thread : threads) {
    thread.hooks = &hooks;
    thread.schedule = this;
    thread.memory = &memory;
    thread.parameters = parameters;
  }
  runnable.reserve(size);
  warps.resize((size + lanesOfWarp - 1) / lanesOfWarp);
  return Status();
}

void GpuSchedule::run(int64_t block, uint64_t number) {
  returned = atBarrier = 0;
  time = 0;
  for (Warp &warp : warps)
    warp.hasMet = false;
  for (size_t i = 0; i < threads.size(); ++i) {
    BlockThread &thread = threads[i];
    thread.block = block;
    thread.thread = static_cast<int64_t>(i);
    thread.view = {Moment(number, i, 0), 0, nullptr};
    thread.state = State::Runnable;
    thread.fiber = nullptr;
    runnable.push_back(&thread);
  }
  Worker &worker = idleWorker();
  begin(*draw(), worker);
  host.leaveFor(worker.fiber);
  assert(returned == threads.size() && idle.size() == begun &&
         "a block runs to its end");
}

void GpuSchedule::work(void *worker) {
  Worker &self = *static_cast<Worker *>(worker);
  self.schedule->runThreads(self);
}

/// The life of a fiber: threads, as long as there are some that have not begun.
void GpuSchedule::runThreads(Worker &worker) {
  while (true) {
    BlockThread &done = *worker.thread;
    kernel(&done);
    done.state = State::Returned;
    ++returned;
    BlockThread *const next = draw();
    if (next && !next->fiber) {
      begin(*next, worker);
      continue;
    }
    idle.push_back(&worker);
    worker.fiber.leaveFor(next ? *next->fiber : host);
  }
}

void GpuSchedule::begin(BlockThread &thread, Worker &worker) {
  thread.fiber = &worker.fiber;
  worker.thread = &thread;
}

GpuSchedule::Worker &GpuSchedule::idleWorker() {
  if (!idle.empty()) {
    Worker &worker = *idle.back();
    idle.pop_back();
    return worker;
  }
  assert(begun < workers.size() && "there are as many stacks as threads");
  Worker &worker = *workers[begun];
  worker.schedule = this;
  worker.fiber.begin(stacks[begun++], work, &worker);
  return worker;
}

/// A thread that can go on, taken out of those; null when all have returned.
BlockThread *GpuSchedule::draw() {
  if (runnable.empty() && !release())
    return nullptr;
  const size_t index = (random() >> 32) * runnable.size() >> 32;
  BlockThread *const drawn = runnable[index];
  runnable[index] = runnable.back();
  runnable.pop_back();
  return drawn;
}

/// Leaves a thread that waits, until it is drawn.
void GpuSchedule::suspend(BlockThread &thread) {
  BlockThread *const next = draw();
  assert(next && "a thread that waits has not returned");
  if (next == &thread)
    return;
  if (!next->fiber)
    begin(*next, idleWorker());
  thread.fiber->leaveFor(*next->fiber);
}

void GpuSchedule::tick() {
  ++time;
  assert(time < uint64_t(1) << Moment::clockBits && "a block ends before");
}

/// Lets threads go on when none can: those of a barrier that all have reached,
/// or everybody after a divergence. False when all have returned.
bool GpuSchedule::release() {
  if (returned == threads.size())
    return false;
  if (atBarrier != threads.size() || areSitesMixed)
    report.add([&] { return divergence(); });
  releaseAll();
  return true;
}

void GpuSchedule::releaseAll() {
  tick();
  for (BlockThread &thread : threads)
    if (thread.state != State::Returned) {
      thread.view.now = thread.view.now.atClock(time);
      thread.view.lastBarrier = static_cast<uint32_t>(time);
      thread.state = State::Runnable;
      runnable.push_back(&thread);
    }
  for (Warp &warp : warps)
    warp.meetings.clear();
  atBarrier = 0;
}

void GpuSchedule::meetBlock(BlockThread &thread, int64_t site) {
  thread.state = State::AtBarrier;
  thread.site = site;
  areSitesMixed = atBarrier != 0 && (areSitesMixed || site != barrierSite);
  barrierSite = site;
  ++atBarrier;
  suspend(thread);
}

void GpuSchedule::meetWarp(BlockThread &thread, uint32_t mask, int64_t site) {
  thread.state = State::AtWarpBarrier;
  arrive(thread, mask, site);
}

int32_t GpuSchedule::shuffle(BlockThread &thread, uint32_t mask, int32_t value,
                             uint64_t laneMask, int64_t site) {
  thread.state = State::AtShuffle;
  thread.laneMask = laneMask;
  thread.given = thread.got = value;
  arrive(thread, mask, site);
  return thread.got;
}

void GpuSchedule::multiply(BlockThread &thread, GpuProduct &product,
                           int64_t site) {
  thread.state = State::AtProduct;
  thread.product = &product;
  arrive(thread, ~uint32_t(0), site);
}

static std::string hexadecimal(uint32_t mask) {
  char text[16];
  std::snprintf(text, sizeof(text), "0x%08x", mask);
  return text;
}

static const char *meetingName(State state) {
  return state == State::AtShuffle   ? "shuffle "
         : state == State::AtProduct ? "product "
                                     : "warp barrier ";
}

static std::string nameOf(const BlockThread &thread) {
  return "thread " + std::to_string(thread.thread) + " of block " +
         std::to_string(thread.block);
}

/// A bf16 that is half of a word.
static float halfOf(uint32_t word, uint32_t half) {
  return std::bit_cast<float>(half == 0 ? word << 16 : word & 0xFFFF0000);
}

/// The products of 32 lanes, which all wait. That of two bf16 has all its
/// digits in f32.
static void multiplyMatrices(BlockThread *lanes) {
  float a[16][16], b[16][8], c[16][8];
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const GpuProduct &part = *lanes[lane].product;
    const uint32_t row = lane / 4, column = lane % 4 * 2;
    for (uint32_t half = 0; half < 2; ++half) {
      for (uint32_t i = 0; i < 4; ++i)
        a[row + i % 2 * 8][column + i / 2 * 8 + half] = halfOf(part.a[i], half);
      for (uint32_t i = 0; i < 2; ++i) {
        b[column + i * 8 + half][row] = halfOf(part.b[i], half);
        c[row + i * 8][column + half] = part.c[i * 2 + half];
      }
    }
  }
  for (uint32_t i = 0; i < 16; ++i)
    for (uint32_t k = 0; k < 16; ++k)
      for (uint32_t j = 0; j < 8; ++j)
        c[i][j] += a[i][k] * b[k][j];
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t i = 0; i < 4; ++i)
      lanes[lane].product->c[i] = c[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2];
}

/// Waits until all lanes of the mask have come; the last one lets them go on.
void GpuSchedule::arrive(BlockThread &thread, uint32_t mask, int64_t site) {
  const State state = thread.state;
  const uint32_t index = thread.view.now.thread();
  const uint32_t bit = 1u << index % lanesOfWarp;
  if (!(mask & bit)) {
    report.add([&] {
      return nameOf(thread) + " takes part in " + meetingName(state) +
             std::to_string(site) + " with mask " + hexadecimal(mask) +
             ", which lacks its own lane " +
             std::to_string(index % lanesOfWarp);
    });
    thread.state = State::Runnable;
    return;
  }
  thread.site = site;
  thread.mask = mask;
  Warp &warp = warps[index / lanesOfWarp];
  auto meeting = std::find_if(
      warp.meetings.begin(), warp.meetings.end(), [&](const Meeting &other) {
        return other.site == site && other.mask == mask && other.state == state;
      });
  if (meeting == warp.meetings.end())
    meeting = warp.meetings.insert(meeting, {site, mask, 0, state});
  meeting->arrived |= bit;
  if (meeting->arrived == mask) {
    *meeting = warp.meetings.back();
    warp.meetings.pop_back();
    BlockThread *const firstLane = &threads[index / lanesOfWarp * lanesOfWarp];
    if (state == State::AtShuffle)
      exchange(firstLane, mask);
    else if (state == State::AtProduct)
      multiplyMatrices(firstLane);
    else
      order(warp, firstLane, mask);
    for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
      BlockThread &lane = firstLane[std::countr_zero(lanes)];
      lane.state = State::Runnable;
      runnable.push_back(&lane);
    }
  }
  suspend(thread);
}

/// Lanes met: what one of them knows, and what each did, all know now.
void GpuSchedule::order(Warp &warp, BlockThread *firstLane, uint32_t lanes) {
  tick();
  if (!warp.hasMet)
    for (auto &clocks : warp.seen)
      clocks.fill(0);
  warp.hasMet = true;
  std::array<uint32_t, lanesOfWarp> joined = {};
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    const auto &clocks = warp.seen[std::countr_zero(rest)];
    for (uint32_t lane = 0; lane < lanesOfWarp; ++lane)
      joined[lane] = std::max(joined[lane], clocks[lane]);
  }
  for (uint32_t rest = lanes; rest; rest &= rest - 1)
    joined[std::countr_zero(rest)] = static_cast<uint32_t>(time);
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    warp.seen[lane] = joined;
    Viewpoint &view = firstLane[lane].view;
    view.now = view.now.atClock(time);
    view.seen = warp.seen[lane].data();
  }
}

void GpuSchedule::exchange(BlockThread *firstLane, uint32_t lanes) {
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    BlockThread &thread = firstLane[lane];
    const uint64_t source = static_cast<uint64_t>(lane) ^ thread.laneMask;
    if (source < lanesOfWarp && lanes >> source & 1) {
      thread.got = firstLane[source].given;
      continue;
    }
    report.add([&] {
      return nameOf(thread) + " asks in shuffle " +
             std::to_string(thread.site) + " for lane " +
             std::to_string(source) + ", which is not in mask " +
             hexadecimal(lanes);
    });
  }
}

/// What a thread does while another waits for it.
static std::string whereIs(const BlockThread &thread) {
  switch (thread.state) {
  case State::AtBarrier:
    return "waits at barrier " + std::to_string(thread.site);
  case State::AtWarpBarrier:
  case State::AtShuffle:
  case State::AtProduct:
    return "waits at " + std::string(meetingName(thread.state)) +
           std::to_string(thread.site) + " with mask " +
           hexadecimal(thread.mask);
  case State::Returned:
    return "has returned";
  case State::Runnable:
    break;
  }
  return "goes on";
}

std::string GpuSchedule::warpDivergence(const Meeting &meeting,
                                        uint32_t firstLane) const {
  const BlockThread &waiting =
      threads[firstLane + std::countr_zero(meeting.arrived)];
  const size_t missing =
      firstLane + std::countr_zero(meeting.mask & ~meeting.arrived);
  return nameOf(waiting) + " " + whereIs(waiting) + " for thread " +
         std::to_string(missing) + ", which " +
         (missing < threads.size() ? whereIs(threads[missing])
                                   : "the block does not have");
}

/// About a thread at a barrier and one that is not, or at another one.
std::string GpuSchedule::blockDivergence(const BlockThread &waiting) const {
  const auto other = std::find_if(
      threads.begin(), threads.end(), [&](const BlockThread &thread) {
        return thread.state != State::AtBarrier || thread.site != waiting.site;
      });
  assert(other != threads.end() && "a barrier that all reach is complete");
  return nameOf(waiting) + " " + whereIs(waiting) + " and thread " +
         std::to_string(other->thread) + " " + whereIs(*other) +
         ": a barrier in a branch";
}

std::string GpuSchedule::divergence() const {
  for (size_t i = 0; i < warps.size(); ++i)
    if (!warps[i].meetings.empty())
      return warpDivergence(warps[i].meetings.front(),
                            static_cast<uint32_t>(i) * lanesOfWarp);
  const auto waiting = std::find_if(threads.begin(), threads.end(),
                                    [](const BlockThread &thread) {
                                      return thread.state == State::AtBarrier;
                                    });
  assert(waiting != threads.end() && "somebody waits");
  return blockDivergence(*waiting);
}

} // namespace shardc::runtime
