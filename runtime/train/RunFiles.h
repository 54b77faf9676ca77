//===- RunFiles.h - What a training run reads and writes ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A run of days should not end with a file that cannot be written, and should
// not destroy one that it was made from.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_TRAIN_RUNFILES_H
#define SHARDC_RUNTIME_TRAIN_RUNFILES_H

#include "runtime/format/Status.h"

#include <string>
#include <vector>

namespace shardc::runtime {

/// Fails with E0002 if `path` has another extension than .safetensors: a name
/// should not promise another format.
Status checkSaveName(const std::string &path);

/// Fails with E0601 unless a file of `bytes` bytes could be created at `path`
/// now.
Status probeOutput(const std::string &path, uint64_t bytes);

/// Gives an older file at `path` the first free name of PATH.1, PATH.2, …,
/// which is returned; empty if there is no file, or an empty or special one.
/// Fails with E0601.
StatusOr<std::string> keepAside(const std::string &path);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRAIN_RUNFILES_H
