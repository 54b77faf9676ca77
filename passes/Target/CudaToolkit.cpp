//===- CudaToolkit.cpp - The programs of the CUDA toolkit -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// MLIR looks for ptxas in the same places.
//===----------------------------------------------------------------------===//

#include "passes/Target/CudaToolkit.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace llvm;

namespace shardc::target {

std::optional<std::string> findToolkitProgram(StringRef name) {
  SmallString<128> folder(
      sys::Process::GetEnv("CUDA_HOME").value_or("/usr/local/cuda"));
  sys::path::append(folder, "bin");
  if (ErrorOr<std::string> found = sys::findProgramByName(name, {folder}))
    return *found;
  if (ErrorOr<std::string> found = sys::findProgramByName(name))
    return *found;
  return std::nullopt;
}

} // namespace shardc::target
