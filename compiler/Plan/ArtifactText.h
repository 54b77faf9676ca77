//===- ArtifactText.h - What an artifact holds, for people ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The tables of `shardc inspect`, and the summary that ends `shardc compile`.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PLAN_ARTIFACTTEXT_H
#define SHARDC_COMPILER_PLAN_ARTIFACTTEXT_H

#include "runtime/format/Artifact.h"

#include <string>

namespace shardc {

/// Model, ranks, options, memory of a rank, and groups with their collectives.
std::string printArtifact(const format::Artifact &artifact);

/// Groups, memory, collectives and kernels in a line each, after a line with
/// `path`, where the artifact was written.
std::string printSummaryLines(const format::Artifact &artifact,
                              const std::string &path);

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_ARTIFACTTEXT_H
