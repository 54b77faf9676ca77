//===- LibraryCallKinds.h - One function for each library call ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the table in LibraryCall.cpp refers to; each is in the file of its
// family.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_LIBRARYCALLKINDS_H
#define SHARDC_RUNTIME_CPU_LIBRARYCALLKINDS_H

#include "runtime/cpu/LibraryCall.h"

namespace shardc::runtime {

#define SHARDC_LIBRARY_CALL(id, name)                                          \
  LibraryCallOr prepare##id(LibraryCallArguments arguments);
#include "runtime/format/LibraryCalls.def"

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_LIBRARYCALLKINDS_H
