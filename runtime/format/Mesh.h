//===- Mesh.h - How ranks are arranged ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Ranks are the points of a mesh with named axes, numbered with the last axis
// fastest: of 8 ranks in `replicate = 2, shard = 4` rank 6 is at (1, 2). Who
// communicates are the members of a line or plane of it: ranks that differ on
// some axes alone, in the order of their numbers.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_MESH_H
#define SHARDC_RUNTIME_FORMAT_MESH_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shardc::format {

/// No mesh has more axes, and none more ranks.
inline constexpr size_t maxAxes = 4;
inline constexpr int64_t maxRanks = 65536;

/// Where a rank is on each axis; zeros beyond the last one.
using Coordinates = std::array<int64_t, maxAxes>;

/// By how much something moves with each coordinate; zeros beyond the last axis
/// of the mesh.
using AxisStrides = std::array<int64_t, maxAxes>;

/// Σ coordinate · stride.
int64_t displacement(const Coordinates &at, const AxisStrides &strides);

struct MeshAxis {
  std::string name;
  int64_t size = 1;

  bool operator==(const MeshAxis &) const = default;
};

/// Axes are named by their numbers, in ascending order.
struct Mesh {
  std::vector<MeshAxis> axes;

  /// The number of ranks.
  int64_t ranks() const;

  Coordinates coordinates(int64_t rank) const;

  /// How many ranks differ on `axes` alone.
  int64_t countMembers(const std::vector<int64_t> &axes) const;

  /// The ranks that differ from `rank` on `axes` alone, itself among them, in
  /// ascending order.
  std::vector<int64_t> members(int64_t rank,
                               const std::vector<int64_t> &axes) const;

  /// The place of `rank` among them.
  int64_t memberNumber(int64_t rank, const std::vector<int64_t> &axes) const;

  /// Ranks that are first, second or last on each axis: what moves with
  /// coordinates by fixed strides is extreme on one of them.
  std::vector<int64_t> corners() const;

  bool operator==(const Mesh &) const = default;
};

/// The mesh of ranks that have one axis, `shard`.
Mesh shardMesh(int64_t ranks);

/// The axes as FSDP users know them, such as "replicate 2, shard 8": axes of
/// shards, "shard" and "within_n", are one, because only some groups gather
/// within n ranks: "shard 8, reshard 2".
std::string describeAxes(const Mesh &mesh);

/// Bytes of a space that move with a rank's coordinates.
struct MovingRange {
  int64_t offset = 0;
  int64_t bytes = 0;
  AxisStrides strides = {};
};

/// Whether two have a byte in common on one of the ranks.
bool overlap(const MovingRange &a, const MovingRange &b, const Mesh &mesh);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_MESH_H
