//===- ArtifactMutator.h - Damaged artifacts under right digests ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Changes numbers, names and orders in the JSON entries of an artifact, and
// puts the digests and checksums right again, so that what stands between a
// damaged member and the machine is the rules of the format alone. Changes keep
// the shape of the document: a number becomes another that occurs beside it, a
// name another name, so that many mutants are accepted and run.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_ARTIFACT_ARTIFACTMUTATOR_H
#define SHARDC_TEST_ARTIFACT_ARTIFACTMUTATOR_H

#include <map>
#include <random>
#include <string>
#include <string_view>

namespace shardc::testing {

/// Entry name → content.
using ArtifactEntries = std::map<std::string, std::string>;

/// The entries of an archive; none if it is damaged.
ArtifactEntries splitArtifact(std::string_view file);

/// The archive with these entries, after the digests in its manifest, where it
/// has some, are made those of the entries.
std::string joinArtifact(ArtifactEntries entries);

/// Makes one to three changes in one JSON entry, or one change everywhere that
/// the same member has the same value, in two entries together. Returns what
/// it did, for people.
std::string mutate(ArtifactEntries &entries, std::mt19937_64 &random);

} // namespace shardc::testing

#endif // SHARDC_TEST_ARTIFACT_ARTIFACTMUTATOR_H
