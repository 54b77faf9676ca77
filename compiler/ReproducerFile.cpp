//===- ReproducerFile.cpp - Where IR that shows a mistake is left ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// The current folder first, then that of temporary files.
//===----------------------------------------------------------------------===//

#include "compiler/ReproducerFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace shardc {

std::string reproducerFileName(StringRef model) {
  std::string name = model.str();
  for (char &c : name)
    if (!llvm::isAlnum(c) && c != '_' && c != '-' && c != '.')
      c = '_';
  return "shardc-reproducer-" + name + ".mlir";
}

/// Writes the file to `folder` and returns its path; empty when it cannot.
static std::string writeTo(StringRef folder, StringRef fileName,
                           llvm::function_ref<void(raw_ostream &)> print) {
  SmallString<128> path(folder);
  llvm::sys::path::append(path, fileName);
  std::error_code error;
  llvm::raw_fd_ostream file(path, error, llvm::sys::fs::OF_Text);
  if (error)
    return {};
  print(file);
  file.close();
  bool isWritten = !file.has_error();
  file.clear_error();
  return isWritten ? path.str().str() : std::string();
}

std::string writeReproducer(StringRef fileName,
                            llvm::function_ref<void(raw_ostream &)> print) {
  std::string path = writeTo("", fileName, print);
  if (!path.empty())
    return path;
  SmallString<128> temporary;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, temporary);
  return writeTo(temporary, fileName, print);
}

} // namespace shardc
