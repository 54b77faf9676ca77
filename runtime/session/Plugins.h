//===- Plugins.h - Shared objects that shardrun opens ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What needs libraries that not every machine has, such as CUDA or MPI, is in a
// shared object of its own, beside the program or in ../lib.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_SESSION_PLUGINS_H
#define SHARDC_RUNTIME_SESSION_PLUGINS_H

#include "runtime/format/Status.h"

namespace shardc::runtime {

/// Opens plug-in `file` and finds what it exports as `entryPoint`, which begins
/// with its version: a C string that has to be this program's. It stays open
/// until the process ends: objects of its classes may live on. Null if there is
/// no such file; fails with number `code`.
StatusOr<const void *> openPlugin(const std::string &file,
                                  const char *entryPoint, ErrorCode code);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_PLUGINS_H
