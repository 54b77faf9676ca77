//===- Communicator.h - Collectives in phases -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A collective is a few phases between meetings of its members, the ranks that
// take part, numbered in the order of their ranks: publish where
// one's buffer is, meet, read what the others have, meet. Whoever has nothing
// else to do waits at the meetings; whoever has other streams to run looks
// again later, and the collective is in flight meanwhile.
//
//   gather          publish | copy the others' slots |
//   reduce-scatter  publish | add the own part       |
//   all-reduce      publish | sum a share            | copy the other shares |
//                           ^ all members meet       ^                       ^
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRANSPORT_COMMUNICATOR_H
#define SHARDC_RUNTIME_TRANSPORT_COMMUNICATOR_H

#include "runtime/format/Dtype.h"
#include "runtime/format/Status.h"

#include <cstddef>
#include <span>

namespace shardc::runtime {

/// Elements of one dtype.
struct TypedBytes {
  std::byte *data = nullptr;
  format::Dtype dtype = format::Dtype::F32;
};

/// What the members do together; everything but the addresses is the same on
/// all of them. Sums are made in the order of members, so that N ranks with one
/// micro-batch each compute the same bits as one rank with N micro-batches.
struct Collective {
  enum class Kind {
    /// Fills the slots of the other members: member m's is bytes [m * count,
    /// (m + 1) * count) of `buffer`.
    AllGather,
    /// output[i] = ((output[i] + g_0[i]) + g_1[i]) + … for `count` elements,
    /// where g_m is member m's `buffer` from element (own number) * count on,
    /// widened to the dtype of `output`, which g_0 replaces in micro-batch 0.
    ReduceScatter,
    /// Sums `count` elements, of f32 or f64, over the members, starting from
    /// the first one's.
    AllReduce,
    /// The same for `count` pairs (high, low) of f64 that stand for their sum.
    AllReducePairs
  };
  Kind kind = Kind::AllGather;
  TypedBytes buffer;
  TypedBytes output;
  int64_t count = 0;
  /// Where the number of the micro-batch is, an i64 where operands are; null
  /// for one whose output counts always.
  const std::byte *microBatch = nullptr;
};

/// How a rank does its part between meetings: at once, by the threads of a
/// processor, or on a stream, where "before" and "after" a meeting are a matter
/// of events. All members have actions of the same kind.
class CollectiveActions {
public:
  virtual ~CollectiveActions() = default;

  /// What this rank did until now comes before what any member does after
  /// meeting number `meeting`, at which this rank is about to arrive. Meetings
  /// of a communicator are counted from 0.
  virtual Status arrive(int64_t /*meeting*/) { return Status(); }

  /// All members have arrived: what comes now is after it.
  virtual Status meet(std::span<CollectiveActions *const> /*members*/,
                      int64_t /*meeting*/) {
    return Status();
  }

  virtual Status copy(std::byte *target, const std::byte *source,
                      int64_t bytes) = 0;

  /// total[i] = ((total[i] + terms[0][i]) + terms[1][i]) + … for i below
  /// `count`; terms have elements of `termDtype`. Where the i64 at `microBatch`
  /// is 0 terms[0] replaces the total; null: never.
  virtual Status addInOrder(TypedBytes total,
                            std::span<const std::byte *const> terms,
                            format::Dtype termDtype, int64_t count,
                            const std::byte *microBatch) = 0;

  /// total[i] = (terms[0][i] + terms[1][i]) + …, where `total` may be one of
  /// the terms.
  virtual Status sumInOrder(TypedBytes total,
                            std::span<const std::byte *const> terms,
                            int64_t count) = 0;

  /// The same for pairs (high, low) of f64.
  virtual Status sumPairsInOrder(std::byte *total,
                                 std::span<const std::byte *const> terms,
                                 int64_t count) = 0;
};

/// One rank's end, for one collective after the other, which all members begin
/// in the same order. Used by that rank's thread alone. When another rank has
/// failed, waiting returns that failure.
class Communicator {
public:
  virtual ~Communicator() = default;

  /// Publishes what comes. The one before is complete. The actions outlive the
  /// collective.
  virtual Status begin(const Collective &collective,
                       CollectiveActions &actions) = 0;

  /// Goes on as far as other members let it, without waiting for them. Fails
  /// with E0502 if the members disagree.
  virtual Status advance() = 0;

  /// Whether `advance` has come to the end: this rank's buffers may change
  /// again.
  virtual bool isComplete() const = 0;

  /// Returns when the members that `advance` stopped for have come.
  virtual Status await() = 0;

  /// All of a collective.
  Status run(const Collective &collective, CollectiveActions &actions) {
    if (Status status = begin(collective, actions); !status.ok())
      return status;
    for (;;) {
      if (Status status = advance(); !status.ok() || isComplete())
        return status;
      if (Status status = await(); !status.ok())
        return status;
    }
  }
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_COMMUNICATOR_H
