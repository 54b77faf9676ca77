//===- CubinResources.h - What a chip's kernels take ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// ptxas notes registers and stack of every kernel in the cubin, an ELF object:
// in its section `.nv.info`, whose records `cuobjdump --dump-resource-usage`
// shows too.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_TARGET_CUBINRESOURCES_H
#define SHARDC_PASSES_TARGET_CUBINRESOURCES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <cstdint>

namespace shardc::target {

struct KernelResources {
  /// Of a thread.
  int64_t registers = 0;
  /// Bytes of a thread's stack, in memory: arrays, and registers that spilled.
  int64_t localBytes = 0;
};

/// The resources of each kernel in `cubin`, by name.
llvm::Expected<llvm::StringMap<KernelResources>>
readResources(llvm::ArrayRef<char> cubin);

} // namespace shardc::target

#endif // SHARDC_PASSES_TARGET_CUBINRESOURCES_H
