//===- FlatLayout.h - Parameters end to end in one flat buffer ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Where each parameter of a segment starts and how the segment divides over
// ranks. Parameters keep their order; each start is aligned; the end is padded
// so that all shards have one aligned size. Linear in the number of parameters,
// wastes less than one alignment a parameter and a rank.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_SHARD_FLATLAYOUT_H
#define SHARDC_PASSES_SHARD_FLATLAYOUT_H

#include <cstdint>
#include <vector>

namespace shardc {

/// A flat segment, in elements.
struct FlatLayout {
  /// Where each parameter starts.
  std::vector<int64_t> offsets;
  /// The whole buffer: `ranks * shard`.
  int64_t elements = 0;
  /// One rank's part.
  int64_t shard = 0;
};

/// Lays parameters of `sizes` elements end to end for `ranks` ranks. Starts and
/// shards are multiples of `alignment` elements. Requires ranks >= 1 and
/// alignment >= 1.
FlatLayout layoutFlat(const std::vector<int64_t> &sizes, int64_t ranks,
                      int64_t alignment);

} // namespace shardc

#endif // SHARDC_PASSES_SHARD_FLATLAYOUT_H
