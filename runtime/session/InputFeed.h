//===- InputFeed.h - Samples on their way to a device ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads a rank's micro-batches into two staging buffers on the host in turn:
// while one is copied to the device, and while the device works, the next one
// can be read into the other.
//
//   host     read 1   copy 1   read 2    copy 2   read 3
//   device                     run 1              run 2
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_SESSION_INPUTFEED_H
#define SHARDC_RUNTIME_SESSION_INPUTFEED_H

#include "runtime/data/DataSource.h"
#include "runtime/executor/RankMemory.h"
#include "runtime/session/SampleOrder.h"

#include <array>

namespace shardc::runtime {

/// One rank's; used by its thread. Source and memory outlive it.
class InputFeed {
public:
  InputFeed(const DataSource &data, const std::vector<format::Input> &inputs,
            const SampleOrder &order, int64_t rank, const RankMemory &memory);

  /// Reads a micro-batch; steps count from 0. A failure is kept for
  /// `copyToDevice`: the micro-batch may never be asked for. The device has
  /// synchronized since the one before the last was copied.
  void readAhead(int64_t step, int64_t microBatch);

  /// Copies a micro-batch to the device's inputs, having read it now if it was
  /// not read ahead. Fails with E0407, and with E0503 if there was no memory to
  /// read ahead into.
  Status copyToDevice(int64_t step, int64_t microBatch);

private:
  struct Staged {
    /// Of the micro-batch that it holds, counted over all steps; -1 for none.
    int64_t number = -1;
    Status status;
    /// Of the device.
    std::byte *bytes = nullptr;
  };
  Status read(int64_t step, int64_t microBatch, Staged &target) const;

  const DataSource &data;
  /// Of each input of a micro-batch.
  std::vector<size_t> sizes;
  size_t bytes = 0;
  const SampleOrder order;
  const int64_t rank;
  const RankMemory &memory;
  std::array<Staged, 2> staged;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_INPUTFEED_H
