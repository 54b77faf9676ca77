//===- InspectKernels.h - What an artifact's kernels are ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The parts of `shardc inspect` on an artifact that are about kernels of GPUs.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_SHARDC_INSPECTKERNELS_H
#define SHARDC_TOOLS_SHARDC_INSPECTKERNELS_H

#include "runtime/format/Artifact.h"

#include <string>

namespace shardc {

/// Prints a table: the most that kernels take on each chip that there is a
/// cubin for and the least time of a step's launches on its cards; with `all`
/// what each kernel takes before. Nothing without cubins.
void printKernels(const format::Artifact &artifact, bool all);

/// Prints what each kernel takes as JSON, an object with an array `kernels`:
/// `name`, `chip`, `threads` of a block, `blocks`, `registers`, `shared_bytes`
/// and `local_bytes`, `launches` and moved `bytes` of a step with one
/// micro-batch; of chips that are known also `occupancy` and `waves`, and by
/// machine the `least_seconds` of a launch.
void printKernelsAsJson(const format::Artifact &artifact);

/// Prints the kernel of that name for each chip that there is PTX for. Returns
/// the exit code.
int printPtx(const format::Artifact &artifact, const std::string &kernel);

/// Prints the machine code of the kernel of that name for each chip that there
/// is a cubin for. Returns the exit code.
int printSass(const format::Artifact &artifact, const std::string &kernel);

} // namespace shardc

#endif // SHARDC_TOOLS_SHARDC_INSPECTKERNELS_H
