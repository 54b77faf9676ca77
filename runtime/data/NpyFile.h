//===- NpyFile.h - Arrays in NumPy's file format --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the header of a .npy file (NumPy enhancement proposal 1): a magic
// number, a version, and a Python dictionary with dtype, order and shape.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DATA_NPYFILE_H
#define SHARDC_RUNTIME_DATA_NPYFILE_H

#include "runtime/format/Safetensors.h"

namespace shardc::runtime {

/// Whether the bytes begin like a .npy file.
bool isNpyFile(format::Bytes file);

/// The array of a .npy file, pointing into `file`; `name` is what messages
/// call it. Fails with E0404 if malformed, big-endian, or in column order.
StatusOr<format::NamedTensor> readNpy(format::Bytes file,
                                      const std::string &name);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DATA_NPYFILE_H
