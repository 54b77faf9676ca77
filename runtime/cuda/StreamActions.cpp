//===- StreamActions.cpp - Collectives on a stream ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Events, copies, and sums by the runtime's kernels.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/StreamActions.h"

#include "runtime/cuda/CudaCommand.h"
#include "runtime/cuda/kernels/DeviceSums.h"

namespace shardc::runtime {

StatusOr<std::unique_ptr<StreamActions>>
StreamActions::create(const CudaContext &context, CUstream stream) {
  std::unique_ptr<StreamActions> actions(new StreamActions(context, stream));
  for (CUevent &event : actions->events)
    if (Status status = context.driver.check(
            context.driver.EventCreate(&event, CU_EVENT_DISABLE_TIMING),
            "cuEventCreate");
        !status.ok())
      return status;
  return actions;
}

StreamActions::~StreamActions() {
  for (CUevent event : events)
    if (event)
      context.driver.EventDestroy(event);
}

Status StreamActions::arrive(int64_t meeting) {
  return context.driver.check(
      context.driver.EventRecord(event(meeting), stream), "cuEventRecord");
}

Status StreamActions::meet(std::span<CollectiveActions *const> members,
                           int64_t meeting) {
  for (CollectiveActions *member : members) {
    if (member == this)
      continue;
    // All members are on this GPU.
    const CUevent other =
        static_cast<const StreamActions *>(member)->event(meeting);
    if (Status status =
            context.driver.check(context.driver.StreamWaitEvent(
                                     stream, other, CU_EVENT_WAIT_DEFAULT),
                                 "cuStreamWaitEvent");
        !status.ok())
      return status;
  }
  return Status();
}

static DeviceAddress addressOf(const std::byte *bytes) {
  return DeviceAddress(reinterpret_cast<uintptr_t>(bytes));
}

Status StreamActions::copy(std::byte *target, const std::byte *source,
                           int64_t bytes) {
  if (bytes == 0)
    return Status();
  return context.driver.check(
      context.driver.MemcpyDtoDAsync(pointerOf(addressOf(target)),
                                     pointerOf(addressOf(source)),
                                     static_cast<size_t>(bytes), stream),
      "cuMemcpyDtoDAsync");
}

static Status launchSum(const CudaContext &context, CUstream stream,
                        const DeviceSum &sum) {
  const StatusOr<DeviceLaunch> launch = prepareDeviceSum(sum);
  if (!launch.ok())
    return launch.status();
  const StatusOr<CUfunction> function =
      context.libraryKernel(std::string(launch->kernel));
  if (!function.ok())
    return function.status();
  KernelLaunch kernel(context, *function, launch->blocks, launch->threads,
                      launch->sharedBytes);
  kernel.addParameter(launch->parameters);
  return kernel.enqueue(stream);
}

static DeviceSum makeSum(DeviceSum::Kind kind, TypedBytes total,
                         std::span<const std::byte *const> terms,
                         format::Dtype termDtype, int64_t count) {
  DeviceSum sum = {kind, addressOf(total.data), total.dtype, {}, termDtype,
                   count};
  for (const std::byte *term : terms)
    sum.terms.push_back(addressOf(term));
  return sum;
}

Status StreamActions::addInOrder(TypedBytes total,
                                 std::span<const std::byte *const> terms,
                                 format::Dtype termDtype, int64_t count,
                                 const std::byte *microBatch) {
  DeviceSum sum = makeSum(DeviceSum::Kind::Add, total, terms, termDtype, count);
  if (microBatch)
    sum.microBatch = addressOf(microBatch);
  return launchSum(context, stream, sum);
}

Status StreamActions::sumInOrder(TypedBytes total,
                                 std::span<const std::byte *const> terms,
                                 int64_t count) {
  return launchSum(
      context, stream,
      makeSum(DeviceSum::Kind::Sum, total, terms, total.dtype, count));
}

Status StreamActions::sumPairsInOrder(std::byte *total,
                                      std::span<const std::byte *const> terms,
                                      int64_t count) {
  return launchSum(context, stream,
                   makeSum(DeviceSum::Kind::SumPairs,
                           {total, format::Dtype::F64}, terms,
                           format::Dtype::F64, count));
}

} // namespace shardc::runtime
