//===- FakeMachine.cpp - A GPU that a processor plays ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Streams, events, captures and memory.
//===----------------------------------------------------------------------===//

#include "test/fake_cuda/FakeMachine.h"

#include "runtime/device/Allocation.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <sstream>

namespace shardc::fake {

static std::map<std::string, std::string> readSettings() {
  std::map<std::string, std::string> settings;
  const char *const given = std::getenv("SHARDC_FAKE_CUDA");
  std::istringstream list(given ? given : "");
  for (std::string one; std::getline(list, one, ',');)
    settings[one.substr(0, one.find('='))] = one.substr(one.find('=') + 1);
  return settings;
}

CUresult refuse(CUresult result, const std::string &why) {
  std::cerr << "fake CUDA: " << why << std::endl;
  return result;
}

/// Never destroyed: the process ends with contexts and threads alive.
Machine &Machine::get() {
  static Machine &machine = *new Machine();
  return machine;
}

Machine::Machine()
    : settings(readSettings()),
      random(static_cast<uint64_t>(setting("seed", 0))), blocks(random()) {}

int64_t Machine::setting(const std::string &name, int64_t usual) const {
  const auto found = settings.find(name);
  return found == settings.end() ? usual : std::stoll(found->second);
}

std::string Machine::text(const std::string &name) const {
  const auto found = settings.find(name);
  return found == settings.end() ? "" : found->second;
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

void Machine::enqueue(CUstream stream, Work work) {
  if (!stream->capture) {
    stream->items.push_back({nullptr, nullptr, std::move(work)});
    return;
  }
  Graph &graph = *stream->capture;
  graph.nodes.push_back({std::move(work), stream->frontier});
  stream->frontier = {graph.nodes.size() - 1};
}

CUresult Machine::record(CUevent event, CUstream stream) {
  event->capture = stream->capture;
  event->frontier = stream->frontier;
  if (stream->capture)
    return CUDA_SUCCESS;
  event->recorded = std::make_shared<Completion>();
  stream->items.push_back({nullptr, event->recorded, {}});
  return CUDA_SUCCESS;
}

CUresult Machine::wait(CUstream stream, CUevent event) {
  if (event->capture) {
    if (stream->capture && stream->capture != event->capture)
      return refuse(CUDA_ERROR_STREAM_CAPTURE_MERGE,
                    "a stream waits for an event of another capture");
    if (!stream->capture && !stream->items.empty())
      return refuse(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                    "a stream that has work joins a capture");
    stream->capture = event->capture;
    stream->frontier.insert(event->frontier.begin(), event->frontier.end());
    return CUDA_SUCCESS;
  }
  if (stream->capture)
    return refuse(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                  "a captured stream waits for an event that is not captured");
  if (event->recorded)
    stream->items.push_back({event->recorded, nullptr, {}});
  return CUDA_SUCCESS;
}

CUresult Machine::beginCapture(CUstream stream) {
  if (stream->capture)
    return refuse(CUDA_ERROR_ILLEGAL_STATE, "the stream is being captured");
  stream->capture = std::make_shared<Graph>();
  stream->frontier.clear();
  stream->isOrigin = true;
  return CUDA_SUCCESS;
}

/// The nodes that `frontier` comes after, and its own.
static std::set<size_t> reached(const Graph &graph, std::set<size_t> frontier) {
  std::set<size_t> all = frontier;
  std::vector<size_t> rest(frontier.begin(), frontier.end());
  while (!rest.empty()) {
    const size_t node = rest.back();
    rest.pop_back();
    for (const size_t before : graph.nodes[node].after)
      if (all.insert(before).second)
        rest.push_back(before);
  }
  return all;
}

CUresult Machine::endCapture(CUstream stream, Graph &graph) {
  if (!stream->capture || !stream->isOrigin)
    return refuse(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
                  "no capture began on the stream");
  const std::shared_ptr<Graph> captured = stream->capture;
  const std::set<size_t> all = reached(*captured, stream->frontier);
  const bool isJoined = all.size() == captured->nodes.size();
  for (CUstream one : streams)
    if (one->capture == captured) {
      one->capture = nullptr;
      one->frontier.clear();
      one->isOrigin = false;
    }
  if (!isJoined)
    return refuse(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
                  "a stream of the capture was not joined");
  graph = *captured;
  return CUDA_SUCCESS;
}

/// All nodes, in an order that is drawn.
void Machine::launch(CUstream stream, std::shared_ptr<const Graph> graph) {
  enqueue(stream, [this, graph] {
    std::vector<size_t> rest(graph->nodes.size());
    for (size_t i = 0; i < rest.size(); ++i)
      rest[i] = i;
    std::set<size_t> done;
    while (!rest.empty()) {
      std::vector<size_t> ready;
      for (size_t i = 0; i < rest.size(); ++i) {
        const std::set<size_t> &after = graph->nodes[rest[i]].after;
        if (std::includes(done.begin(), done.end(), after.begin(), after.end()))
          ready.push_back(i);
      }
      const size_t chosen = ready[random() % ready.size()];
      const size_t node = rest[chosen];
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(chosen));
      done.insert(node);
      if (CUresult result = graph->nodes[node].work(); result != CUDA_SUCCESS)
        return result;
    }
    return CUDA_SUCCESS;
  });
}

static double now() {
  using Clock = std::chrono::steady_clock;
  static const Clock::time_point start = Clock::now();
  return std::chrono::duration<double, std::milli>(Clock::now() - start)
      .count();
}

/// Takes the first step of a stream; false if it has to wait.
bool Machine::goOn(CUstream stream) {
  const Item item = stream->items.front();
  if (item.waitsFor && !item.waitsFor->isDone)
    return false;
  stream->items.pop_front();
  if (item.work && failure == CUDA_SUCCESS)
    failure = item.work();
  if (item.completes) {
    item.completes->milliseconds = now();
    item.completes->isDone = true;
  }
  return true;
}

CUresult Machine::synchronize(CUstream stream) {
  if (stream->capture)
    return refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                  "the host waits for a stream that is captured");
  while (!stream->items.empty()) {
    std::vector<CUstream> order;
    for (CUstream one : streams)
      if (!one->items.empty())
        order.push_back(one);
    std::shuffle(order.begin(), order.end(), random);
    if (std::none_of(order.begin(), order.end(),
                     [&](CUstream one) { return goOn(one); }))
      return refuse(CUDA_ERROR_LAUNCH_TIMEOUT,
                    "streams wait for each other forever");
  }
  return failure;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

size_t Machine::totalBytes() const {
  return static_cast<size_t>(setting("memory", int64_t(8) << 30));
}

size_t Machine::freeBytes() const { return totalBytes() - allocated; }

CUresult Machine::allocate(size_t bytes, std::byte *&address) {
  constexpr size_t alignment = 512;
  if (bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (bytes > freeBytes())
    return CUDA_ERROR_OUT_OF_MEMORY;
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  address = static_cast<std::byte *>(std::aligned_alloc(alignment, rounded));
  if (!address)
    return CUDA_ERROR_OUT_OF_MEMORY;
  runtime::poison(address, rounded);
  allocations[address] = bytes;
  allocated += bytes;
  return CUDA_SUCCESS;
}

CUresult Machine::release(std::byte *address) {
  const auto found = allocations.find(address);
  if (found == allocations.end())
    return refuse(CUDA_ERROR_INVALID_VALUE, "what is freed is no memory");
  allocated -= found->second;
  allocations.erase(found);
  std::free(address);
  return CUDA_SUCCESS;
}

bool Machine::isAllocated(const void *address, size_t bytes) const {
  auto *const begin =
      const_cast<std::byte *>(static_cast<const std::byte *>(address));
  auto holder = allocations.upper_bound(begin);
  if (holder != allocations.begin() &&
      begin + bytes <= (--holder)->first + holder->second)
    return true;
  refuse(CUDA_ERROR_ILLEGAL_ADDRESS,
         std::to_string(bytes) + " bytes that are not memory of the device");
  return false;
}

std::vector<runtime::GpuOperand> Machine::allMemory() const {
  std::vector<runtime::GpuOperand> memory;
  for (const auto &[address, bytes] : allocations)
    memory.push_back(
        {address, static_cast<int64_t>(bytes), format::Access::ReadWrite});
  return memory;
}

CUresult Machine::runKernel(const runtime::GpuLaunch &launch) {
  if (launch.name == text("fault"))
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  const Status status = blocks.run(launch);
  return status.ok() ? CUDA_SUCCESS
                     : refuse(CUDA_ERROR_ILLEGAL_ADDRESS, status.message());
}

} // namespace shardc::fake

extern "C" void shardcFakeCudaEnqueue(CUstream stream,
                                      shardc::fake::Work work) {
  shardc::fake::Machine &machine = shardc::fake::Machine::get();
  const std::scoped_lock lock(machine.mutex);
  machine.enqueue(stream, std::move(work));
}
