//===- DeviceKernelImage.cpp - The library's kernels as code for GPUs -----===//
// SPDX-License-Identifier: Apache-2.0
//
// The assembler includes the file.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/DeviceKernelImage.h"

#ifdef SHARDC_KERNEL_IMAGE
asm(".pushsection .rodata\n"
    ".balign 64\n"
    "shardcKernelImage:\n"
    ".incbin \"" SHARDC_KERNEL_IMAGE "\"\n"
    "shardcKernelImageEnd:\n"
    ".popsection\n");
extern "C" const std::byte shardcKernelImage[], shardcKernelImageEnd[];
#endif

namespace shardc::runtime {

std::span<const std::byte> deviceKernelImage() {
#ifdef SHARDC_KERNEL_IMAGE
  return {shardcKernelImage, shardcKernelImageEnd};
#else
  return {};
#endif
}

} // namespace shardc::runtime
