//===- SharedMemory.h - Where a block's shared tensors are ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One after the other, in the order in which a kernel declares them.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_SCHEDULE_SHAREDMEMORY_H
#define SHARDC_PASSES_KERNEL_SCHEDULE_SHAREDMEMORY_H

#include "dialects/Aten/ElementBytes.h"

#include "mlir/IR/BuiltinTypes.h"

namespace shardc {

struct SharedMemory {
  /// Places `type` behind what was added before; returns its offset.
  int64_t add(mlir::MemRefType type) {
    constexpr int64_t alignment = 16;
    const int64_t offset = (bytes + alignment - 1) / alignment * alignment;
    bytes =
        offset + type.getNumElements() * getElementBytes(type.getElementType());
    return offset;
  }

  int64_t bytes = 0;
};

} // namespace shardc

#endif // SHARDC_PASSES_KERNEL_SCHEDULE_SHAREDMEMORY_H
