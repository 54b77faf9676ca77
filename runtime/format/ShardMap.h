//===- ShardMap.h - Which elements of a parameter a rank holds ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A parameter lies in a segment, and the segment is cut into shards of equal
// size (Parameters.h), so that a rank holds one run of consecutive elements of
// it, or none. For two shards of 8 elements:
//
//   shard               |      0        |       1       |
//   fc.weight (4 x 3)   | 0 1 2 … 7     | 8 … 11        |
//   fc.bias (3)         |               |        0 1 2  |
//
// Shard 1 has elements 8 to 11 of fc.weight at its beginning, and those of
// fc.bias from element 4 on.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_SHARDMAP_H
#define SHARDC_RUNTIME_FORMAT_SHARDMAP_H

#include "runtime/format/Mesh.h"
#include "runtime/format/Parameters.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace shardc::format {

/// Consecutive elements of a row-major parameter in a shard: where they begin
/// in both, and how many; 0 where the shard has none of it.
struct ShardRun {
  int64_t inShard = 0;
  int64_t inParameter = 0;
  int64_t count = 0;

  bool operator==(const ShardRun &) const = default;
};

/// What shard number `shard` has of a parameter of `elements` elements that
/// begins at element `offset` of its segment.
ShardRun runInShard(int64_t offset, int64_t elements, int64_t shardElements,
                    int64_t shard);

/// A state of a segment, and a parameter there, by number.
struct ParameterPlace {
  size_t state = 0;
  size_t segment = 0;
  size_t parameter = 0;
};

/// The shards of an artifact's parameters and of all states like them. The
/// arguments outlive it.
class ShardMap {
public:
  ShardMap(const Mesh &mesh, const Parameters &parameters)
      : mesh(mesh), parameters(parameters) {}

  /// The number of `rank`'s shard of a segment.
  int64_t shardOf(int64_t rank, size_t segment) const;

  /// By shard, the ranks of rank 0's replica, which have all shards of a
  /// segment. What other replicas hold is a copy.
  std::vector<int64_t> holders(size_t segment) const;

  /// What `rank` holds of a segment's parameter.
  ShardRun run(int64_t rank, size_t segment, size_t parameter) const;

  /// Where the sharded state of kind `kind` (kindOf) keeps what it does of
  /// parameter `name`, if there is one.
  std::optional<ParameterPlace> find(std::string_view kind,
                                     std::string_view name) const;

private:
  const Mesh &mesh;
  const Parameters &parameters;
};

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_SHARDMAP_H
