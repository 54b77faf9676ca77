//===- FullTensors.h - whole tensors out of ranks' states -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The elements of a model's parameters, and of what is kept beside them, put
// together from the shards of all ranks.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_VERIFY_FULLTENSORS_H
#define SHARDC_TOOLS_VERIFY_FULLTENSORS_H

#include "runtime/format/Parameters.h"
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

  /// The rank that holds element `index` of the parameter.
  int64_t rankOf(size_t index) const {
    return (offset + static_cast<int64_t>(index)) / shardElements;
  }
};

/// Where the sharded states of `kind` (format::kindOf) keep what they do of
/// parameter `name`, if they do.
std::optional<ParameterPlace>
findParameter(const format::Parameters &parameters, std::string_view kind,
              const std::string &name);

/// The elements there, from the states of all ranks, which are f32 or f64.
std::vector<double> gather(const ParameterPlace &place,
                           const format::Parameters &parameters,
                           const std::vector<RankStates> &ranks);

/// The number of the state called `name` of a role that is not sharded.
std::optional<size_t> findState(const format::Parameters &parameters,
                                format::Role role, std::string_view name);

/// The elements of state `state`, which is f32 or f64, of one rank.
std::vector<double> elementsOf(const format::State &state,
                               const std::vector<std::byte> &bytes);

} // namespace shardc::verify

#endif // SHARDC_TOOLS_VERIFY_FULLTENSORS_H
