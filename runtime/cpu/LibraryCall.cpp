//===- LibraryCall.cpp - A library call ready to run ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Finds the function that prepares a call and keeps exceptions of the
// libraries behind it inside.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/LibraryCall.h"
#include "runtime/cpu/LibraryCallKinds.h"
#include "runtime/format/LibraryCalls.h"

#include <stdexcept>

namespace shardc::runtime {

static bool hasEmptyTensor(const LibraryCallArguments &arguments) {
  for (const auto *list : {&arguments.operands, &arguments.results})
    for (const TensorView &tensor : *list)
      if (tensor.elements() == 0)
        return true;
  return false;
}

LibraryCallOr prepareLibraryCall(const format::Command &command,
                                 std::vector<TensorView> tensors) {
  using Prepare = LibraryCallOr (*)(LibraryCallArguments);
  static constexpr Prepare prepare[] = {
#define SHARDC_LIBRARY_CALL(id, name) prepare##id,
#include "runtime/format/LibraryCalls.def"
  };
  const std::string &call = command.callee;
  const format::LibraryCallKind *kind = format::findLibraryCall(call);
  if (!kind)
    return Status(ErrorCode::E0504, "unknown library call '" + call + "'");
  const auto firstResult =
      tensors.end() - static_cast<std::ptrdiff_t>(kind->results);
  LibraryCallArguments arguments = {command.attributes,
                                    {tensors.begin(), firstResult},
                                    {firstResult, tensors.end()}};
  if (!kind->mayBeEmpty && hasEmptyTensor(arguments))
    return Status(ErrorCode::E0504,
                  "library call '" + call + "' has an empty tensor");
  try {
    return prepare[static_cast<size_t>(kind->id)](std::move(arguments));
  } catch (const std::exception &error) {
    return Status(ErrorCode::E0504,
                  "library call '" + call +
                      "' cannot be prepared: " + error.what());
  }
}

} // namespace shardc::runtime
