//===- InputFeed.cpp - samples on their way to a device -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Consecutive micro-batches take turns at the two buffers.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/InputFeed.h"

namespace shardc::runtime {

InputFeed::InputFeed(const DataSource &data,
                     const std::vector<format::Input> &inputs,
                     const SampleOrder &order, int64_t rank,
                     const RankMemory &memory)
    : data(data), inputs(inputs), order(order), rank(rank), memory(memory) {
  size_t bytes = 0;
  for (const format::Input &input : inputs)
    bytes += bytesOf(input);
  for (Staged &buffer : staged)
    buffer.bytes.resize(bytes);
}

size_t InputFeed::bytesOf(const format::Input &input) const {
  return static_cast<size_t>(format::elementCount(input.shape) *
                             byteSize(input.dtype));
}

Status InputFeed::read(int64_t step, int64_t microBatch, Staged &target) const {
  const int64_t first = order.firstSample(step, microBatch, rank);
  std::byte *place = target.bytes.data();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t bytes = bytesOf(inputs[i]);
    if (Status status =
            data.readRange(i, first, order.batch,
                           static_cast<int64_t>(bytes) / order.batch, place);
        !status.ok())
      return status;
    place += bytes;
  }
  return Status();
}

void InputFeed::readAhead(int64_t step, int64_t microBatch) {
  const int64_t number = step * order.microBatches + microBatch;
  Staged &target = staged[static_cast<size_t>(number) % staged.size()];
  target.number = number;
  target.status = read(step, microBatch, target);
}

Status InputFeed::copyToDevice(int64_t step, int64_t microBatch) {
  const int64_t number = step * order.microBatches + microBatch;
  const Staged &source = staged[static_cast<size_t>(number) % staged.size()];
  if (source.number != number)
    readAhead(step, microBatch);
  if (!source.status.ok())
    return source.status;
  const std::byte *place = source.bytes.data();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t bytes = bytesOf(inputs[i]);
    memory.onDevice().copyToDevice(memory.input(i), place, bytes);
    place += bytes;
  }
  return Status();
}

} // namespace shardc::runtime
