//===- CollectiveTime.h - How long a collective takes ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Seconds of a gather or a sum among ranks of a mesh, on the levels of a
// machine's topology. Ranks of one node are neighbours in their numbers.
//
//   32 ranks, 4 nodes of 8: of a tensor of S bytes
//     each rank gets S * 31/32 over its own link in the node, and
//     each node gets S * (1 - 8/32), over the 8 links of its ranks
//
// The slower of the two is the time, after the start and the steps of a ring
// (NCCL's tuning.cc): one a member, of which one a node crosses the network.
// What a level reaches of its bandwidth comes from measured tables.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_COSTMODEL_COLLECTIVETIME_H
#define SHARDC_PASSES_COSTMODEL_COLLECTIVETIME_H

#include "runtime/format/Machine.h"
#include "runtime/format/Program.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardc {

/// Where the members of one communicator are.
struct MemberPlaces {
  int64_t members = 1;
  /// For each level of the machine, how many members a unit of the level has
  /// that it connects: of the node's level 1, of the network's those of a node.
  std::vector<int64_t> together;
};

/// The places of the members that differ on `axes` of `mesh`.
MemberPlaces placesOf(const format::Mesh &mesh,
                      const std::vector<int64_t> &axes,
                      const format::Machine &machine);

struct CollectiveTime {
  /// Without others on the same links.
  double seconds = 0;
  /// The level of the machine whose links are busy longest.
  size_t level = 0;
};

/// The time of a collective of `kind` on a whole tensor of `bytes`: what is
/// gathered, or what each member has of a sum. Nothing among one member.
CollectiveTime collectiveTime(format::CommandKind kind, int64_t bytes,
                              const MemberPlaces &places,
                              const format::Machine &machine);

} // namespace shardc

#endif // SHARDC_PASSES_COSTMODEL_COLLECTIVETIME_H
