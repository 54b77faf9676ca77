//===- SharedObject.h - Linking without a linker on the machine -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs LLVM's linker inside this process.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_TARGET_SHAREDOBJECT_H
#define SHARDC_PASSES_TARGET_SHAREDOBJECT_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace shardc::target {

/// Links an ELF object to a shared object; symbols that it lacks are left to
/// the program that loads it. The error says what the linker or the file
/// system said. Uses files in the system's temporary folder.
llvm::Expected<llvm::SmallVector<char, 0>>
linkSharedObject(llvm::ArrayRef<char> object);

} // namespace shardc::target

#endif // SHARDC_PASSES_TARGET_SHAREDOBJECT_H
