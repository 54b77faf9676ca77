//===- LibraryTable.h - The library calls that the compiler makes ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// How many operands and results each call of docs/Format.md has and which
// layouts it accepts. The runtime checks shapes and settings in full; this is
// what the kernel phase needs to arrange operands.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_LIBRARYTABLE_H
#define SHARDC_PASSES_KERNEL_LIBRARYTABLE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace shardc {

/// One call; operands are counted with the optional last ones.
struct LibraryEntry {
  llvm::StringRef call;
  unsigned leastOperands, mostOperands, results;
  /// Whether operand or result tensors of this shape may have these strides.
  bool (*acceptsLayout)(llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<int64_t> strides);
};

/// Whether tensors of `element` may be operands and results of library calls.
bool isLibraryElement(mlir::Type element);

/// The entry of `call`, or null.
const LibraryEntry *lookupLibrary(llvm::StringRef call);

} // namespace shardc

#endif // SHARDC_PASSES_KERNEL_LIBRARYTABLE_H
