//===- HostCode.h - Functions as a shared object --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What kernels of a processor and a GPU's kernels for the emulator have in
// common.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_TARGET_HOSTCODE_H
#define SHARDC_PASSES_TARGET_HOSTCODE_H

#include "passes/Target/KernelCode.h"

namespace shardc::target {

/// How the runtime calls a function.
enum class HostEntry {
  /// A range of iterations: `void f(void *const *operands, int64_t begin,
  /// int64_t end)`, whatever memrefs it takes before its range.
  Range,
  /// A thread of a GPU: `void f(GpuThread *)`, as it is.
  Thread
};

/// Lowers `functions`, a module of functions, and compiles them to an ELF
/// shared object with their signatures. Fails after a diagnostic.
llvm::FailureOr<llvm::SmallVector<char, 0>>
compileHostCode(mlir::ModuleOp functions, const CpuTarget &target,
                llvm::ArrayRef<SignatureText> signatures, HostEntry entry);

} // namespace shardc::target

#endif // SHARDC_PASSES_TARGET_HOSTCODE_H
