//===- Transport.h - how ranks exchange data --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The collectives of a program. All ranks call the same ones in the same order
// with the same sizes. Sums are made in rank order, whatever the transport, so
// that N ranks with one micro-batch each compute the same bits as one rank
// with N micro-batches.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRANSPORT_TRANSPORT_H
#define SHARDC_RUNTIME_TRANSPORT_TRANSPORT_H

#include "runtime/cpu/WorkerPool.h"
#include "runtime/format/Dtype.h"
#include "runtime/format/Status.h"

#include <cstddef>

namespace shardc::runtime {

/// Elements of one dtype.
struct TypedBytes {
  std::byte *data = nullptr;
  format::Dtype dtype = format::Dtype::F32;
};

/// One rank's end. Used by that rank's thread alone; the pool is that rank's.
/// A collective returns when this rank's part is done and its buffers may
/// change again. When another rank has failed it returns that failure instead
/// of waiting for ever.
class Transport {
public:
  virtual ~Transport() = default;

  virtual int64_t rank() const = 0;
  virtual int64_t worldSize() const = 0;

  /// Fills the slots of the other ranks: rank r's is bytes
  /// [r * slotBytes, (r + 1) * slotBytes) of `buffer`.
  virtual Status allGather(std::byte *buffer, int64_t slotBytes,
                           WorkerPool &workers) = 0;

  /// output[i] = ((output[i] + g_0[i]) + g_1[i]) + …, where g_r is rank r's
  /// `buffer` from element rank() * elements on, widened to output's dtype.
  virtual Status reduceScatter(TypedBytes buffer, TypedBytes output,
                               int64_t elements, WorkerPool &workers) = 0;

  /// Sums f32 or f64 elements over the ranks, starting from rank 0's.
  virtual Status allReduce(TypedBytes buffer, int64_t elements,
                           WorkerPool &workers) = 0;

  /// The same for pairs (high, low) of f64 that stand for their sum.
  virtual Status allReducePairs(std::byte *buffer, int64_t pairs,
                                WorkerPool &workers) = 0;

  /// Returns when every rank has called it.
  virtual Status barrier() = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_TRANSPORT_H
