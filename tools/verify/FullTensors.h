//===- FullTensors.h - Whole tensors out of ranks' states -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The elements of a model's parameters, and of what is kept beside them, put
// together from the shards of all ranks.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_VERIFY_FULLTENSORS_H
#define SHARDC_TOOLS_VERIFY_FULLTENSORS_H

#include "runtime/format/Artifact.h"
#include "runtime/format/ShardMap.h"
#include "tools/verify/CompiledRun.h"

#include <optional>

namespace shardc::verify {

/// The elements that the states of all ranks, which are f32 or f64, keep of a
/// parameter.
std::vector<double> gather(const format::ParameterPlace &place,
                           const format::Artifact &artifact,
                           const std::vector<RankStates> &ranks);

/// The rank of rank 0's replica that holds element `index` of a parameter.
int64_t holderOf(const format::ParameterPlace &place,
                 const format::Artifact &artifact, size_t index);

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
