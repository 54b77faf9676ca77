//===- Mesh.cpp - How ranks are arranged ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Mixed-radix numbers.
//===----------------------------------------------------------------------===//

#include "runtime/format/Mesh.h"

#include <algorithm>
#include <set>
#include <span>

namespace shardc::format {

int64_t displacement(const Coordinates &at, const AxisStrides &strides) {
  int64_t sum = 0;
  for (size_t axis = 0; axis < maxAxes; ++axis)
    sum += at[axis] * strides[axis];
  return sum;
}

int64_t Mesh::ranks() const {
  int64_t product = 1;
  for (const MeshAxis &axis : axes)
    product *= axis.size;
  return product;
}

Coordinates Mesh::coordinates(int64_t rank) const {
  Coordinates at = {};
  for (size_t axis = axes.size(); axis-- > 0;) {
    at[axis] = rank % axes[axis].size;
    rank /= axes[axis].size;
  }
  return at;
}

std::string describeAxes(const Mesh &mesh) {
  constexpr std::string_view inner = "within_";
  std::string text, within;
  int64_t shard = 1;
  for (const MeshAxis &axis : mesh.axes) {
    const bool isInner = axis.name.starts_with(inner);
    if (isInner)
      within += (within.empty() ? ", reshard " : " and ") +
                axis.name.substr(inner.size());
    if (isInner || axis.name == "shard")
      shard *= axis.size;
    else
      text += axis.name + " " + std::to_string(axis.size) + ", ";
  }
  return text + "shard " + std::to_string(shard) + within;
}

int64_t Mesh::countMembers(const std::vector<int64_t> &those) const {
  int64_t product = 1;
  for (const int64_t axis : those)
    product *= axes[static_cast<size_t>(axis)].size;
  return product;
}

std::vector<int64_t> Mesh::members(int64_t rank,
                                   const std::vector<int64_t> &those) const {
  std::vector<int64_t> list = {rank};
  int64_t stride = 1;
  for (size_t axis = axes.size(); axis-- > 0;) {
    const int64_t size = axes[axis].size;
    if (std::find(those.begin(), those.end(), static_cast<int64_t>(axis)) !=
        those.end()) {
      const int64_t own = rank / stride % size;
      std::vector<int64_t> longer;
      for (int64_t i = 0; i < size; ++i)
        for (const int64_t member : list)
          longer.push_back(member + (i - own) * stride);
      list = std::move(longer);
    }
    stride *= size;
  }
  std::sort(list.begin(), list.end());
  return list;
}

int64_t Mesh::memberNumber(int64_t rank,
                           const std::vector<int64_t> &those) const {
  const Coordinates at = coordinates(rank);
  int64_t number = 0;
  for (const int64_t axis : those)
    number = number * axes[static_cast<size_t>(axis)].size +
             at[static_cast<size_t>(axis)];
  return number;
}

std::vector<int64_t> Mesh::corners() const {
  std::vector<int64_t> list = {0};
  for (const MeshAxis &axis : axes) {
    std::vector<int64_t> longer;
    for (const int64_t rank : list)
      for (const int64_t i : std::set<int64_t>{
               0, std::min<int64_t>(1, axis.size - 1), axis.size - 1})
        longer.push_back(rank * axis.size + i);
    list = std::move(longer);
  }
  return list;
}

namespace {
/// By how much a distance changes with each of `count` coordinates; not 0.
struct Drift {
  int64_t bytes;
  int64_t count;
};
} // namespace

/// Whether `distance` and some of each drift is in (low, high): all of the
/// drifts but one are tried, and the last is solved for.
static bool meets(int64_t distance, std::span<const Drift> drifts, int64_t low,
                  int64_t high) {
  if (drifts.empty())
    return low < distance && distance < high;
  const Drift drift = drifts.front();
  if (drifts.size() > 1) {
    for (int64_t i = 0; i < drift.count; ++i)
      if (meets(distance + i * drift.bytes, drifts.subspan(1), low, high))
        return true;
    return false;
  }
  if (drift.bytes < 0) {
    const Drift back = {-drift.bytes, drift.count};
    return meets(-distance, {&back, 1}, -high, -low);
  }
  // The first coordinate at which the distance is beyond `low`.
  const int64_t before = low - distance;
  const int64_t first = before < 0 ? 0 : before / drift.bytes + 1;
  return first < drift.count && distance + first * drift.bytes < high;
}

bool overlap(const MovingRange &a, const MovingRange &b, const Mesh &mesh) {
  if (a.bytes == 0 || b.bytes == 0)
    return false;
  std::vector<Drift> drifts;
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
    if (const int64_t drift = b.strides[axis] - a.strides[axis])
      drifts.push_back({drift, mesh.axes[axis].size});
  return meets(b.offset - a.offset, drifts, -b.bytes, a.bytes);
}

Mesh shardMesh(int64_t ranks) { return {{{"shard", ranks}}}; }

} // namespace shardc::format
