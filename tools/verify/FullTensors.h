//===- FullTensors.h - Whole tensors out of ranks' states -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The elements of a model's parameters, and of what is kept beside them, put
// together from the shards of all ranks.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_VERIFY_FULLTENSORS_H
#define SHARDC_TOOLS_VERIFY_FULLTENSORS_H

#include "runtime/format/Artifact.h"
#include "tools/verify/CompiledRun.h"

#include <optional>

namespace shardc::verify {

/// Where a state keeps something of a model's parameter.
struct ParameterPlace {
  /// The number of the state.
  size_t state = 0;
  /// The first element in the segment, and how many.
  int64_t offset = 0;
  int64_t elements = 0;
  int64_t shardElements = 0;
  /// The ranks that hold the shards: rank 0 and those that the segment is
  /// divided among with it. What others hold is a copy.
  std::vector<int64_t> ranks;

  /// The rank that holds element `index` of the parameter.
  int64_t rankOf(size_t index) const {
    const int64_t shard =
        (offset + static_cast<int64_t>(index)) / shardElements;
    return ranks[static_cast<size_t>(shard)];
  }
};

/// Where the sharded states of `kind` (format::kindOf) keep what they do of
/// parameter `name`, if they do.
std::optional<ParameterPlace> findParameter(const format::Artifact &artifact,
                                            std::string_view kind,
                                            const std::string &name);

/// The elements there, from the states of all ranks, which are f32 or f64.
std::vector<double> gather(const ParameterPlace &place,
                           const format::Artifact &artifact,
                           const std::vector<RankStates> &ranks);

/// The number of the state called `name` of a role that is not sharded.
std::optional<size_t> findState(const format::Parameters &parameters,
                                format::Role role, std::string_view name);

/// The artifact's dtype of the parameter or buffer `name`.
std::optional<format::Dtype> dtypeOf(const format::Artifact &artifact,
                                     const std::string &name);

/// The elements of state `state`, which is f32 or f64, of one rank.
std::vector<double> elementsOf(const format::State &state,
                               const std::vector<std::byte> &bytes);

} // namespace shardc::verify

#endif // SHARDC_TOOLS_VERIFY_FULLTENSORS_H
