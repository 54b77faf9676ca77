//===- SampleOrder.h - Which rank trains on which samples -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A step with N ranks and M micro-batches takes the next N * M * B samples,
// where B is the batch of the model's inputs. They are cut into N * M slices
// of B, and micro-batch m of rank r is slice m * N + r:
//
//   N = 2, M = 2:   | slice 0 | slice 1 | slice 2 | slice 3 |
//                     m0, r0    m0, r1    m1, r0    m1, r1
//
// So one rank with N micro-batches sees the slices in the order in which the
// gradients of N ranks are summed.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_SESSION_SAMPLEORDER_H
#define SHARDC_RUNTIME_SESSION_SAMPLEORDER_H

#include <cstdint>

namespace shardc::runtime {

struct SampleOrder {
  int64_t worldSize = 1;
  int64_t microBatches = 1;
  /// Samples of one micro-batch of one rank.
  int64_t batch = 1;
  /// Every rank trains on the samples that rank 0 of a world of one would.
  bool isReplicated = false;
  /// The first sample of step 0: those before it were taken by an earlier run.
  int64_t begin = 0;

  int64_t slicesOfStep() const {
    return microBatches * (isReplicated ? 1 : worldSize);
  }

  /// Which of a step's slices a micro-batch of a rank is.
  int64_t slice(int64_t microBatch, int64_t rank) const {
    return isReplicated ? microBatch : microBatch * worldSize + rank;
  }

  /// The first of the `batch` consecutive samples of a micro-batch; steps
  /// count from 0.
  int64_t firstSample(int64_t step, int64_t microBatch, int64_t rank) const {
    return begin + (step * slicesOfStep() + slice(microBatch, rank)) * batch;
  }
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_SAMPLEORDER_H
