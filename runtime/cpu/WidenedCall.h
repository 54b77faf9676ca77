//===- WidenedCall.h - Bf16 where the processor has none ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs a call on f32 copies of its bf16 tensors, for processors and
// combinations of dtypes that oneDNN does not support directly. The results
// are rounded once at the end, so they are at least as accurate.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_WIDENEDCALL_H
#define SHARDC_RUNTIME_CPU_WIDENEDCALL_H

#include "runtime/cpu/LibraryCall.h"

namespace shardc::runtime {

/// Prepares `arguments` by `prepare` with every bf16 tensor replaced by a
/// contiguous f32 one, converted before and after each run.
LibraryCallOr prepareWidened(LibraryCallArguments arguments,
                             LibraryCallOr (*prepare)(LibraryCallArguments));

/// True if a tensor of the call is bf16.
bool hasBFloat16(const LibraryCallArguments &arguments);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_WIDENEDCALL_H
