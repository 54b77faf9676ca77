//===- InputFeed.cpp - Samples on their way to a device -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Consecutive micro-batches take turns at the two buffers.
//===----------------------------------------------------------------------===//

#include "runtime/session/InputFeed.h"

namespace shardc::runtime {

InputFeed::InputFeed(const DataSource &data,
                     const std::vector<format::Input> &inputs,
                     const SampleOrder &order, int64_t rank,
                     const RankMemory &memory)
    : data(data), order(order), rank(rank), memory(memory) {
  for (const format::Input &input : inputs) {
    sizes.push_back(static_cast<size_t>(format::elementCount(input.shape) *
                                        byteSize(input.dtype)));
    bytes += sizes.back();
  }
  for (Staged &buffer : staged) {
    StatusOr<std::byte *> taken = memory.onDevice().takeStaging(bytes);
    if (taken.ok())
      buffer.bytes = *taken;
    else
      buffer.status = taken.status();
  }
}

Status InputFeed::read(int64_t step, int64_t microBatch, Staged &target) const {
  const int64_t first = order.firstSample(step, microBatch, rank);
  std::byte *place = target.bytes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t sampleBytes = static_cast<int64_t>(sizes[i]) / order.batch;
    if (Status status =
            data.readRange(i, first, order.batch, sampleBytes, place);
        !status.ok())
      return status;
    place += sizes[i];
  }
  return Status();
}

void InputFeed::readAhead(int64_t step, int64_t microBatch) {
  const int64_t number = step * order.microBatches + microBatch;
  Staged &target = staged[static_cast<size_t>(number) % staged.size()];
  if (!target.bytes)
    return;
  target.number = number;
  target.status = read(step, microBatch, target);
  if (target.status.ok())
    memory.onDevice().prefetch(target.bytes, bytes);
}

Status InputFeed::copyToDevice(int64_t step, int64_t microBatch) {
  const int64_t number = step * order.microBatches + microBatch;
  const Staged &source = staged[static_cast<size_t>(number) % staged.size()];
  if (source.number != number)
    readAhead(step, microBatch);
  if (!source.status.ok())
    return source.status;
  const std::byte *place = source.bytes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    memory.onDevice().copyToDevice(memory.input(i), place, sizes[i]);
    place += sizes[i];
  }
  return Status();
}

} // namespace shardc::runtime
