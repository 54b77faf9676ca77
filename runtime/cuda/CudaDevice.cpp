//===- CudaDevice.cpp - A rank's share of a GPU ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Memory, and what is prepared before the first step.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CudaDevice.h"
#include "runtime/format/CommandKinds.h"

#include <algorithm>

namespace shardc::runtime {

/// What kernels may rely on (passes/CostModel/Target.cpp).
static constexpr size_t memoryAlignment = 256;

static size_t align(size_t bytes) {
  return (bytes + memoryAlignment - 1) / memoryAlignment * memoryAlignment;
}

StatusOr<std::unique_ptr<CudaDevice>>
CudaDevice::create(const CudaContext &context, const RankResources &resources) {
  std::unique_ptr<CudaDevice> device(new CudaDevice(context, resources));
  if (Status status = device->initialize(); !status.ok())
    return status;
  return device;
}

Status CudaDevice::initialize() {
  if (Status status = context.makeCurrent(); !status.ok())
    return status;
  for (CUstream *stream : {&hostStream, &prefetchStream})
    if (Status status =
            driver.check(driver.StreamCreate(stream, CU_STREAM_NON_BLOCKING),
                         "cuStreamCreate");
        !status.ok())
      return status;
  for (CUevent *event : {&forked, &begun}) {
    StatusOr<CUevent> made =
        makeEvent(event == &begun ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING);
    if (!made.ok())
      return made.status();
    *event = *made;
  }
  return Status();
}

/// Nothing can be done about failures here.
CudaDevice::~CudaDevice() {
  if (!context.makeCurrent().ok())
    return;
  for (const auto &[number, graph] : graphs)
    driver.GraphExecDestroy(graph);
  actions.clear();
  const auto destroyEvent = [&](CUevent event) {
    if (event)
      driver.EventDestroy(event);
  };
  const auto destroyStream = [&](CUstream stream) {
    if (stream)
      driver.StreamDestroy(stream);
  };
  for (const Entry &entry : commands) {
    destroyEvent(entry.begin);
    destroyEvent(entry.end);
  }
  commands.clear();
  std::for_each(events.begin(), events.end(), destroyEvent);
  for (const Stream &one : streams) {
    destroyEvent(one.joined);
    destroyStream(one.stream);
  }
  destroyEvent(forked);
  destroyEvent(begun);
  destroyStream(hostStream);
  destroyStream(prefetchStream);
  for (const Staging &buffer : staging) {
    destroyEvent(buffer.copied);
    driver.MemFreeHost(buffer.host);
  }
  for (const CUdeviceptr address : memory)
    driver.MemFree(address);
}

StatusOr<CUevent> CudaDevice::makeEvent(unsigned flags) {
  CUevent event = nullptr;
  if (Status status =
          driver.check(driver.EventCreate(&event, flags), "cuEventCreate");
      !status.ok())
    return status;
  return event;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

StatusOr<CUdeviceptr> CudaDevice::allocate(size_t bytes,
                                           const std::string &purpose) {
  CUdeviceptr address = 0;
  const CUresult result =
      driver.MemAlloc(&address, std::max(bytes, memoryAlignment));
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    size_t free = 0, total = 0;
    driver.MemGetInfo(&free, &total);
    return Status(ErrorCode::E0503,
                  "no memory for " + purpose + " on " + context.description() +
                      ": needed " + std::to_string(bytes) + " bytes, free " +
                      std::to_string(free) + " of " + std::to_string(total))
        .setHelp(
            "with more ranks, each needs less; shardc inspect prints how much");
  }
  if (Status status = driver.check(result, "cuMemAlloc"); !status.ok())
    return status;
  memory.push_back(address);
  return address;
}

/// One allocation for all ranges.
StatusOr<DeviceMemory> CudaDevice::take(std::span<const size_t> sizes,
                                        Content content,
                                        const std::string &purpose) {
  if (Status status = context.makeCurrent(); !status.ok())
    return status;
  DeviceMemory taken;
  std::vector<size_t> offsets;
  for (const size_t size : sizes) {
    offsets.push_back(align(taken.bytes));
    taken.bytes = offsets.back() + size;
  }
  StatusOr<CUdeviceptr> address = allocate(taken.bytes, purpose);
  if (!address.ok())
    return address.status();
  for (const size_t offset : offsets)
    taken.ranges.push_back(DeviceAddress(*address + offset));
  if (content == Content::Zeros && taken.bytes != 0)
    keep(driver.MemsetD8Async(*address, 0, taken.bytes, hostStream),
         "cuMemsetD8Async");
  if (Status status = synchronize(); !status.ok())
    return status;
  return taken;
}

StatusOr<std::byte *> CudaDevice::takeStaging(size_t bytes) {
  if (Status status = context.makeCurrent(); !status.ok())
    return status;
  const StatusOr<CUdeviceptr> mirror =
      allocate(bytes, "inputs that are copied ahead of time");
  if (!mirror.ok())
    return mirror.status();
  const StatusOr<CUevent> copied = makeEvent(CU_EVENT_DISABLE_TIMING);
  if (!copied.ok())
    return copied.status();
  void *host = nullptr;
  if (Status status =
          driver.check(driver.MemHostAlloc(&host, std::max<size_t>(bytes, 1),
                                           /*flags=*/0),
                       "cuMemHostAlloc");
      !status.ok())
    return status;
  staging.push_back({static_cast<std::byte *>(host), *mirror, bytes, *copied});
  staged += bytes;
  return static_cast<std::byte *>(host);
}

CudaDevice::Staging *CudaDevice::stagingOf(const std::byte *source,
                                           size_t bytes) {
  for (Staging &buffer : staging)
    if (!std::less<>()(source, buffer.host) &&
        !std::less<>()(buffer.host + buffer.bytes, source + bytes))
      return &buffer;
  return nullptr;
}

void CudaDevice::prefetch(const std::byte *source, size_t bytes) {
  Staging *const buffer = stagingOf(source, bytes);
  if (!buffer || source != buffer->host || bytes == 0)
    return;
  keep(driver.MemcpyHtoDAsync(buffer->device, source, bytes, prefetchStream),
       "cuMemcpyHtoDAsync");
  keep(driver.EventRecord(buffer->copied, prefetchStream), "cuEventRecord");
  buffer->ready = bytes;
}

void CudaDevice::copyToDevice(DeviceAddress target, const std::byte *source,
                              size_t bytes) {
  if (bytes == 0)
    return;
  const Staging *const buffer = stagingOf(source, bytes);
  const auto offset = buffer ? static_cast<size_t>(source - buffer->host) : 0;
  if (!buffer || offset + bytes > buffer->ready)
    return keep(
        driver.MemcpyHtoDAsync(pointerOf(target), source, bytes, hostStream),
        "cuMemcpyHtoDAsync");
  keep(
      driver.StreamWaitEvent(hostStream, buffer->copied, CU_EVENT_WAIT_DEFAULT),
      "cuStreamWaitEvent");
  keep(driver.MemcpyDtoDAsync(pointerOf(target), buffer->device + offset, bytes,
                              hostStream),
       "cuMemcpyDtoDAsync");
}

/// Also called by the main thread when training is over.
void CudaDevice::copyToHost(std::byte *target, DeviceAddress source,
                            size_t bytes) {
  if (bytes == 0)
    return;
  if (Status status = context.makeCurrent(); !status.ok()) {
    failure = std::move(status);
    return;
  }
  keep(driver.MemcpyDtoHAsync(target, pointerOf(source), bytes, hostStream),
       "cuMemcpyDtoHAsync");
  keep(driver.StreamSynchronize(hostStream), "cuStreamSynchronize");
}

/// The pattern of Allocation.h.
void CudaDevice::poison(DeviceAddress target, size_t bytes) {
  constexpr unsigned short pattern = 0x7FF4;
  if (bytes >= sizeof(pattern))
    keep(driver.MemsetD16Async(pointerOf(target), pattern,
                               bytes / sizeof(pattern), hostStream),
         "cuMemsetD16Async");
}

/// Remembers a failure for the next call that can return it.
void CudaDevice::keep(CUresult result, const char *function) {
  if (result != CUDA_SUCCESS && failure.ok())
    failure = driver.check(result, function);
}

Status CudaDevice::takeFailure() { return std::exchange(failure, Status()); }

//===----------------------------------------------------------------------===//
// Preparing commands
//===----------------------------------------------------------------------===//

Status CudaDevice::prepareStream(int64_t number) {
  const auto index = static_cast<size_t>(number);
  if (streams.size() <= index)
    streams.resize(index + 1);
  Stream &one = streams[index];
  if (one.stream)
    return Status();
  if (Status status =
          driver.check(driver.StreamCreate(&one.stream, CU_STREAM_NON_BLOCKING),
                       "cuStreamCreate");
      !status.ok())
    return status;
  StatusOr<CUevent> made = makeEvent(CU_EVENT_DISABLE_TIMING);
  if (made.ok())
    one.joined = *made;
  return made.status();
}

Status CudaDevice::prepareEvents(const format::Command &command) {
  if (!command.records)
    return Status();
  const auto index = static_cast<size_t>(*command.records);
  if (events.size() <= index)
    events.resize(index + 1);
  if (events[index])
    return Status();
  StatusOr<CUevent> made = makeEvent(CU_EVENT_DISABLE_TIMING);
  if (made.ok())
    events[index] = *made;
  return made.status();
}

/// All collectives of a communicator are on one stream.
StatusOr<CudaEnd> CudaDevice::endOf(const format::Command &command) {
  const auto number =
      format::attributeOr<int64_t>(command.attributes, "communicator", 0);
  std::unique_ptr<StreamActions> &own = actions[number];
  if (!own) {
    StatusOr<std::unique_ptr<StreamActions>> made = StreamActions::create(
        context, streams[static_cast<size_t>(command.stream)].stream);
    if (!made.ok())
      return made.status();
    own = std::move(*made);
  }
  return CudaEnd{resources.transport.communicator(static_cast<size_t>(number)),
                 *own};
}

StatusOr<size_t> CudaDevice::prepare(const format::Command &command,
                                     std::span<const DeviceAddress> operands,
                                     DeviceAddress workspace) {
  if (Status status = prepareStream(command.stream); !status.ok())
    return status;
  if (Status status = prepareEvents(command); !status.ok())
    return status;
  std::optional<CudaEnd> end;
  if (format::isCollective(command.kind)) {
    StatusOr<CudaEnd> found = endOf(command);
    if (!found.ok())
      return noteCommand(found.status(), command);
    end.emplace(*found);
  }
  StatusOr<std::unique_ptr<CudaCommand>> prepared = prepareCudaCommand(
      command, {operands, workspace}, context, end ? &*end : nullptr);
  if (!prepared.ok())
    return noteCommand(prepared.status(), command);
  Entry entry = {std::move(*prepared), &command};
  if (context.options.timed)
    for (CUevent *event : {&entry.begin, &entry.end}) {
      StatusOr<CUevent> made = makeEvent(CU_EVENT_DEFAULT);
      if (!made.ok())
        return made.status();
      *event = *made;
    }
  commands.push_back(std::move(entry));
  return commands.size() - 1;
}

//===----------------------------------------------------------------------===//
// Running sections
//===----------------------------------------------------------------------===//

/// A graph cannot be looked into, and not be shared by virtual ranks.
bool CudaDevice::capturesGraphs() const {
  const CudaOptions &options = context.options;
  return options.graphs && !options.sync && !options.timed &&
         resources.transport.worldSize() == 1;
}

Status CudaDevice::beginSection(size_t number) {
  if (Status status = takeFailure(); !status.ok())
    return status;
  section = number;
  if (const auto known = graphs.find(number); known != graphs.end())
    return driver.check(driver.GraphLaunch(known->second, hostStream),
                        "cuGraphLaunch");
  isCapturing = capturesGraphs() && !hasRun.insert(number).second;
  if (isCapturing)
    keep(driver.StreamBeginCapture(hostStream,
                                   CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
         "cuStreamBeginCapture");
  if (context.options.timed)
    keep(driver.EventRecord(begun, hostStream), "cuEventRecord");
  keep(driver.EventRecord(forked, hostStream), "cuEventRecord");
  return takeFailure();
}

/// A stream of the program that comes after what the host's stream did before
/// the section.
CudaDevice::Stream *CudaDevice::fork(int64_t number) {
  Stream &one = streams[static_cast<size_t>(number)];
  if (!one.isForked)
    keep(driver.StreamWaitEvent(one.stream, forked, CU_EVENT_WAIT_DEFAULT),
         "cuStreamWaitEvent");
  one.isForked = true;
  return &one;
}

void CudaDevice::wait(int64_t stream, int64_t event) {
  keep(driver.StreamWaitEvent(fork(stream)->stream,
                              events[static_cast<size_t>(event)],
                              CU_EVENT_WAIT_DEFAULT),
       "cuStreamWaitEvent");
}

void CudaDevice::record(int64_t stream, int64_t event) {
  keep(driver.EventRecord(events[static_cast<size_t>(event)],
                          fork(stream)->stream),
       "cuEventRecord");
}

Status CudaDevice::enqueue(size_t number) {
  Entry &entry = commands[number];
  const CUstream stream = fork(entry.source->stream)->stream;
  if (context.options.timed) {
    keep(driver.EventRecord(entry.begin, stream), "cuEventRecord");
    entry.hasRun = true;
  }
  Status status = takeFailure();
  if (status.ok())
    status = entry.prepared->enqueue(stream);
  if (context.options.timed)
    keep(driver.EventRecord(entry.end, stream), "cuEventRecord");
  if (status.ok() && context.options.sync)
    status =
        driver.check(driver.StreamSynchronize(stream), "cuStreamSynchronize");
  return status.ok() ? status : noteCommand(std::move(status), *entry.source);
}

/// The host's stream goes on when all others have ended.
Status CudaDevice::join() {
  for (Stream &one : streams) {
    if (!one.isForked)
      continue;
    one.isForked = false;
    keep(driver.EventRecord(one.joined, one.stream), "cuEventRecord");
    keep(driver.StreamWaitEvent(hostStream, one.joined, CU_EVENT_WAIT_DEFAULT),
         "cuStreamWaitEvent");
  }
  return takeFailure();
}

Status CudaDevice::endSection() {
  if (Status status = join(); !status.ok())
    return status;
  if (!isCapturing)
    return Status();
  isCapturing = false;
  CUgraph graph = nullptr;
  if (Status status = driver.check(driver.StreamEndCapture(hostStream, &graph),
                                   "cuStreamEndCapture");
      !status.ok())
    return status;
  CUgraphExec ready = nullptr;
  const CUresult result = driver.GraphInstantiate(&ready, graph, /*flags=*/0);
  driver.GraphDestroy(graph);
  if (Status status = driver.check(result, "cuGraphInstantiate"); !status.ok())
    return status;
  graphs[section] = ready;
  return driver.check(driver.GraphLaunch(ready, hostStream), "cuGraphLaunch");
}

Status CudaDevice::synchronize() {
  keep(driver.StreamSynchronize(hostStream), "cuStreamSynchronize");
  Status status = takeFailure();
  if (!status.ok() && status.code() == ErrorCode::E0508 &&
      !context.options.sync)
    status.setHelp("run with --sync to learn which command failed");
  return status;
}

std::vector<CommandTime> CudaDevice::takeTimes() {
  std::vector<CommandTime> times;
  const auto nanosecondsAt = [&](CUevent event) {
    float milliseconds = 0;
    keep(driver.EventElapsedTime(&milliseconds, begun, event),
         "cuEventElapsedTime");
    return static_cast<int64_t>(milliseconds * 1e6F);
  };
  for (size_t i = 0; i < commands.size(); ++i)
    if (Entry &entry = commands[i]; std::exchange(entry.hasRun, false))
      times.push_back(
          {i, nanosecondsAt(entry.begin), nanosecondsAt(entry.end)});
  return times;
}

} // namespace shardc::runtime
