//===- DeviceCalls.h - Library calls as a GPU's launches ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every library call of runtime/format/LibraryCalls.h as launches of the
// library's own kernels (DeviceKernels.def), which need no other library:
//
//   matmul                    shardc_matmul_f32
//   matmul, few tiles, deep   shardc_matmul_f32, shardc_matmul_parts_f32
//   embedding_dense_backward  shardc_sort_chunks_i64, shardc_merge_runs_i64 …,
//                             shardc_embedding_backward_f32
//
// Nothing here needs a GPU. Which launches there are follows from shapes,
// strides, dtypes, attributes and, for attention of bf16, whether tensors begin
// at multiples of 16 bytes, and no kernel has an atomic, so that a call gives
// the same bits on every GPU; attention of bf16, which is for tensor cores
// (AttentionTensorForward.h), on every GPU of a type. Sums are in f64,
// attention's in f32 (f64 for f64). Data that no call should have is not
// reported, but touches no other memory: an index beyond an embedding's table
// or an image counts for nothing.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_KERNELS_DEVICECALLS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_DEVICECALLS_H

#include "runtime/device/Device.h"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace shardc::runtime {

/// A range of memory that a launch touches, and how. Those of a launch may
/// overlap, where tensors are interleaved.
struct DeviceRange {
  DeviceAddress at;
  size_t bytes;
  format::Access access;
};

/// One launch: `kernel` is a symbol of the kernels' image (DeviceKernelImage.h)
/// and lives as long as the program; the grid is one-dimensional. `parameters`
/// are the kernel's only parameter, at most 4096 bytes, aligned to 8;
/// `sharedBytes` is dynamic shared memory, at most 48 KiB.
struct DeviceLaunch {
  std::string_view kernel;
  int64_t blocks;
  int64_t threads;
  int64_t sharedBytes;
  std::vector<std::byte> parameters;
  std::vector<DeviceRange> ranges;
};

/// A prepared call: its launches, in order, on one stream. It may run again and
/// again; it reads the operands and overwrites the results.
struct DeviceCall {
  std::vector<DeviceLaunch> launches;
  /// Bytes of scratch memory that they use.
  size_t scratchBytes = 0;
};

/// The launches of a call that passed checkLibraryCall, with its operands and
/// results at these addresses, each a multiple of its element's size, and
/// memory of format::kernelWorkspaceBytes at `scratch`, a multiple of 256.
/// Fails with E0504 for empty tensors where the call has none, and for what is
/// larger than a kernel counts: 2^30 along a dimension of a product or a row,
/// 2^31 blocks.
StatusOr<DeviceCall> prepareDeviceCall(const format::Command &command,
                                       std::span<const DeviceAddress> operands,
                                       DeviceAddress scratch);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CUDA_KERNELS_DEVICECALLS_H
