//===- InitialStates.h - What the states of ranks begin with --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Finds a tensor for every state of an artifact by its name, and cuts the
// shards of ranks from them. Nothing is left to chance: what a file lacks, and
// what it has that no state takes, is an error with all names.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_SESSION_INITIALSTATES_H
#define SHARDC_RUNTIME_SESSION_INITIALSTATES_H

#include "runtime/executor/RankMemory.h"
#include "runtime/session/NamePrefix.h"

#include <map>

namespace shardc::runtime {

/// The tensors that a run begins with; they borrow their bytes.
struct InitialStates {
  /// By state: one for each parameter of its segment, or one of all of it;
  /// none for what begins as zero.
  std::vector<std::vector<const format::NamedTensor *>> tensors;
  /// By state, what each rank's buffer begins with, where ranks differ.
  std::map<size_t, std::vector<const format::NamedTensor *>> ofRanks;
  NamePrefix prefix;
  /// How many tensors of single ranks were left out, being for another number
  /// of them.
  size_t ofOtherRanks = 0;
};

struct MatchRules {
  /// See findPrefix.
  std::optional<std::string> prefix;
  /// Whether the file has the states of an optimizer that go on; else they
  /// begin anew and are not looked for.
  bool goesOn = false;
  /// Whether those in the file are left out.
  bool dropsOptimizer = false;
  /// Whether anything else that no state takes is.
  bool ignoresUnused = false;
};

/// Matches tensors with the states of `artifact`; both must outlive the
/// result. A parameter or buffer is found by its name or an alias, what an
/// optimizer keeps as "KEY/NAME", a rank's own buffer as "rankR/NAME"; a buffer
/// that PyTorch does not save may be missing where the artifact has it. Fails
/// with E0402, naming everything that is missing, not used, or of another
/// shape or a dtype that loses something.
StatusOr<InitialStates>
matchWeights(const std::vector<format::NamedTensor> &weights,
             const format::Artifact &artifact, const MatchRules &rules);

/// The same for tensors that have the model's own names, of which more may be
/// there than are needed.
StatusOr<InitialStates>
matchByName(const std::vector<format::NamedTensor> &weights,
            const format::Artifact &artifact);

/// Matches the artifact's own weights; fails with E0401 if it has none.
StatusOr<InitialStates> matchOwnWeights(const format::Artifact &artifact);

/// Copies rank `rank`'s shards and buffers to its states. Fails if the device
/// does.
Status initializeStates(const InitialStates &initial,
                        const format::Artifact &artifact, int64_t rank,
                        const RankMemory &memory);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_INITIALSTATES_H
