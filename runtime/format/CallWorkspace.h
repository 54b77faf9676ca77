//===- CallWorkspace.h - What library calls work in -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// How many bytes a library call on a GPU gets to work in, beside its operands
// and results: known from the call alone, so that the compiler places them in
// the arena and no memory is taken when a program runs. It is enough for
// whoever computes the call:
//
//   the runtime's kernels   exactly what they need
//   cuBLASLt, cuDNN         a limit that their heuristics keep: a multiple of
//                           the tensors' bytes, up to a fixed most
//
// Four times the tensors' bytes, because what libraries keep follows from them:
// copies of all tensors in another layout (once, or up to 8/3 times for three
// channels that become eight), partial results of a product of great depth
// (once or twice, where few tiles are cut for the 132 multiprocessors of an
// H100), Winograd's form (images 36/16, weights 36/9). The most are NVIDIA's
// advice for cuBLASLt on Hopper, 32 MiB (cublasLtMatmul in the documentation of
// cuBLAS 13), and 256 MiB for cuDNN. With less than it would like a library
// takes another algorithm, and what it has none for the runtime's kernels
// compute. docs/rationale/device-interface.md has the alternatives.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_CALLWORKSPACE_H
#define SHARDC_RUNTIME_FORMAT_CALLWORKSPACE_H

#include "runtime/format/Program.h"

#include <cstdint>

namespace shardc::format {

/// A workspace, and each part of it, begins and ends at multiples of this.
inline constexpr int64_t workspaceAlignment = 256;

int64_t alignWorkspace(int64_t bytes);

/// Numbers of elements that one block of the runtime's kernels sums, and sorts.
inline constexpr int64_t summedByBlock = 1 << 15;
inline constexpr int64_t sortedByBlock = 1024;

/// Bytes that the runtime's own kernels (runtime/cuda/kernels) need for a call
/// that passed checkLibraryCall, a multiple of 256; 0 for one with empty
/// tensors that takes none.
int64_t kernelWorkspaceBytes(const Command &command);

/// Bytes that NVIDIA's library may ask for, a multiple of 256; 0 for calls that
/// none computes.
int64_t libraryWorkspaceBytes(const Command &command);

/// Bytes that such a call gets: the larger of both.
int64_t callWorkspaceBytes(const Command &command);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_CALLWORKSPACE_H
