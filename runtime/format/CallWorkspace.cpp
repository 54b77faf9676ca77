//===- CallWorkspace.cpp - The memory that library calls work in ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the table of library calls says, and what libraries may have.
//===----------------------------------------------------------------------===//

#include "runtime/format/CallWorkspace.h"
#include "runtime/format/LibraryCalls.h"

#include <algorithm>

namespace shardc::format {

int64_t alignWorkspace(int64_t bytes) {
  return (bytes + workspaceAlignment - 1) / workspaceAlignment *
         workspaceAlignment;
}

int64_t kernelWorkspaceBytes(const Command &command) {
  const LibraryCallKind *kind = findLibraryCall(command.callee);
  const auto isEmpty = [](const TensorReference &tensor) {
    return elementCount(tensor.shape) == 0;
  };
  if (!kind || !kind->kernelBytes ||
      (!kind->mayBeEmpty &&
       std::any_of(command.operands.begin(), command.operands.end(), isEmpty)))
    return 0;
  return kind->kernelBytes(command);
}

int64_t libraryWorkspaceBytes(const Command &command) {
  constexpr int64_t timesTensors = 4;
  const LibraryCallKind *kind = findLibraryCall(command.callee);
  if (!kind || kind->maxLibraryBytes == 0)
    return 0;
  int64_t bytes = 0;
  for (const TensorReference &tensor : command.operands)
    bytes += elementCount(tensor.shape) * byteSize(tensor.dtype);
  return alignWorkspace(std::min(timesTensors * bytes, kind->maxLibraryBytes));
}

int64_t callWorkspaceBytes(const Command &command) {
  return std::max(kernelWorkspaceBytes(command),
                  libraryWorkspaceBytes(command));
}

} // namespace shardc::format
