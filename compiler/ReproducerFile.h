//===- ReproducerFile.h - Where IR that shows a mistake is left -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// One place and one name for the files that repeat a mistake of shardc.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_REPRODUCERFILE_H
#define SHARDC_COMPILER_REPRODUCERFILE_H

#include "mlir/Support/LLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace shardc {

/// "shardc-reproducer-MODEL.mlir" for a module's name: a module may have any
/// name; a file may not.
std::string reproducerFileName(llvm::StringRef model);

/// Writes what `print` prints to `fileName` in the current folder, or in the
/// folder of temporary files where that is read-only. Returns the file's path;
/// empty when neither can be written.
std::string
writeReproducer(llvm::StringRef fileName,
                llvm::function_ref<void(llvm::raw_ostream &)> print);

} // namespace shardc

#endif // SHARDC_COMPILER_REPRODUCERFILE_H
