//===- EmulatedDevice.cpp - A device with streams, for checks -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Queues, and who goes on.
//===----------------------------------------------------------------------===//

#include "runtime/device/EmulatedDevice.h"

#include <algorithm>
#include <cassert>
#include <thread>

namespace shardc::runtime {

static RankResources withPoison(const RankResources &resources) {
  return {resources.transport, resources.workers, /*poison=*/true};
}

EmulatedDevice::EmulatedDevice(const KernelLibrary &kernels,
                               const RankResources &resources,
                               const Cancellation &cancellation, uint64_t seed)
    : processor(kernels, withPoison(resources), seed), resources(resources),
      actions(resources.workers), cancellation(cancellation), common(seed) {
  std::seed_seq seeds = {uint64_t(seed), uint64_t(seed >> 32),
                         uint64_t(resources.transport.rank())};
  own.seed(seeds);
}

StatusOr<DeviceMemory> EmulatedDevice::take(std::span<const size_t> sizes,
                                            Content content,
                                            const std::string &purpose) {
  StatusOr<DeviceMemory> taken = processor.take(sizes, content, purpose);
  if (taken.ok() && content == Content::Undefined)
    for (size_t i = 0; i < sizes.size(); ++i)
      processor.poison(taken->ranges[i], sizes[i]);
  return taken;
}

void EmulatedDevice::copyToDevice(DeviceAddress target, const std::byte *source,
                                  size_t bytes) {
  copies.push_back({target, source, bytes});
}

void EmulatedDevice::copyToHost(std::byte *target, DeviceAddress source,
                                size_t bytes) {
  processor.copyToHost(target, source, bytes);
}

void EmulatedDevice::poison(DeviceAddress target, size_t bytes) {
  processor.poison(target, bytes);
}

StatusOr<size_t>
EmulatedDevice::prepare(const format::Command &command,
                        std::span<const DeviceAddress> operands,
                        DeviceAddress workspace) {
  streamOfCommand.push_back(command.stream);
  return processor.prepare(command, operands, workspace);
}

EmulatedDevice::Stream &EmulatedDevice::at(int64_t stream) {
  const auto number = static_cast<size_t>(stream);
  if (streams.size() <= number)
    streams.resize(number + 1);
  return streams[number];
}

void EmulatedDevice::wait(int64_t stream, int64_t event) {
  const auto number = static_cast<size_t>(event);
  if (number < events.size())
    at(stream).items.push_back(
        {Item::Kind::Wait, number, events[number].enqueued});
}

Status EmulatedDevice::enqueue(size_t command) {
  at(streamOfCommand[command])
      .items.push_back({Item::Kind::Command, command, ++enqueued});
  return Status();
}

void EmulatedDevice::record(int64_t stream, int64_t event) {
  const auto number = static_cast<size_t>(event);
  if (events.size() <= number)
    events.resize(number + 1);
  at(stream).items.push_back(
      {Item::Kind::Record, number, ++events[number].enqueued});
}

void EmulatedDevice::drawOrder() {
  std::mt19937_64 &source = common() % 2 ? common : own;
  constexpr CommandOrder orders[] = {
      CommandOrder::Random, CommandOrder::NewestFirst, CommandOrder::Starve};
  commandOrder = orders[source() % 3];
  starved = source() % streams.size();
  // Whichever of them it was: the ranks draw alike.
  if (&source == &own)
    common.discard(2);
}

/// Takes the streams past what is recorded and past waits that are over. Doing
/// so early forbids nothing: only commands touch memory.
void EmulatedDevice::settleEvents() {
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    for (Stream &stream : streams)
      while (!stream.items.empty()) {
        const Item &first = stream.items.front();
        if (first.kind == Item::Kind::Command ||
            (first.kind == Item::Kind::Wait &&
             events[first.number].complete < first.count))
          break;
        if (first.kind == Item::Kind::Record)
          events[first.number].complete = first.count;
        stream.items.pop_front();
        isChanged = true;
      }
  }
}

/// The streams that have come to a command, the one that is to go on first.
std::vector<size_t> EmulatedDevice::streamsInOrder() {
  std::vector<size_t> order;
  for (size_t i = 0; i < streams.size(); ++i)
    if (!streams[i].items.empty() &&
        streams[i].items.front().kind == Item::Kind::Command)
      order.push_back(i);
  std::shuffle(order.begin(), order.end(), own);
  if (commandOrder == CommandOrder::NewestFirst)
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return streams[a].items.front().count > streams[b].items.front().count;
    });
  if (commandOrder == CommandOrder::Starve)
    std::partition(order.begin(), order.end(),
                   [&](size_t stream) { return stream != starved; });
  return order;
}

/// One phase of a collective, if all ranks have come to it. The order that
/// wants it early waits a while for other ranks before this one does something
/// else: theirs may be another.
StatusOr<bool> EmulatedDevice::goOnInFlight(Stream &stream,
                                            const CpuCommand &collective) {
  Communicator &ranks = *collective.communicator();
  if (!stream.isInFlight) {
    if (Status status = ranks.begin(*collective.collective(), actions);
        !status.ok())
      return status;
    stream.isInFlight = true;
    stream.patience = 50;
    return true;
  }
  do {
    if (Status status = ranks.advance(); !status.ok())
      return noteCommand(status, processor.source(stream.items.front().number));
    if (ranks.isComplete()) {
      stream.isInFlight = false;
      stream.items.pop_front();
      return true;
    }
    std::this_thread::yield();
  } while (commandOrder == CommandOrder::NewestFirst && stream.patience-- > 0);
  return false;
}

/// Runs the first command of a stream, or a phase of it; false if it waits for
/// other ranks.
StatusOr<bool> EmulatedDevice::goOn(Stream &stream) {
  const size_t command = stream.items.front().number;
  if (const CpuCommand *collective = processor.collective(command))
    return goOnInFlight(stream, *collective);
  if (Status status = processor.enqueue(command); !status.ok())
    return status;
  stream.items.pop_front();
  return true;
}

Status EmulatedDevice::synchronize() {
  for (const PendingCopy &copy : copies)
    processor.copyToDevice(copy.target, copy.source, copy.bytes);
  copies.clear();
  if (std::all_of(streams.begin(), streams.end(),
                  [](const Stream &stream) { return stream.items.empty(); }))
    return Status();
  drawOrder();
  for (;;) {
    settleEvents();
    const std::vector<size_t> order = streamsInOrder();
    if (order.empty())
      break;
    if (cancellation.requested())
      return cancellation.reason();
    for (const size_t number : order) {
      const StatusOr<bool> wentOn = goOn(streams[number]);
      if (!wentOn.ok())
        return wentOn.status();
      if (*wentOn)
        break;
    }
  }
  assert(
      std::all_of(streams.begin(), streams.end(),
                  [](const Stream &stream) { return stream.items.empty(); }) &&
      "an event that was enqueued comes to be recorded");
  return Status();
}

} // namespace shardc::runtime
