//===- LibraryCalls.h - which library calls there are -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The library calls that a program may make, as the format defines them: how
// many operands and results, which attributes, which shapes and dtypes fit
// together. docs/Format.md describes what each computes; runtime/cpu does it.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_LIBRARYCALLS_H
#define SHARDC_RUNTIME_FORMAT_LIBRARYCALLS_H

#include "runtime/format/Program.h"
#include "runtime/format/Status.h"

#include <string_view>
#include <vector>

namespace shardc::format {

/// The names of all library calls, sorted.
std::vector<std::string_view> libraryCallNames();

/// Fails with E0309 if the call is unknown or its operands, results and
/// attributes do not fit together. Byte ranges are not looked at.
Status checkLibraryCall(const LibraryCommand &command);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_LIBRARYCALLS_H
