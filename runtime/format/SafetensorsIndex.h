//===- SafetensorsIndex.h - Tensors in several files ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads `model.safetensors.index.json`, with which Hugging Face splits weights
// into files: {"metadata": {…}, "weight_map": {"NAME": "FILE"}}.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_SAFETENSORSINDEX_H
#define SHARDC_RUNTIME_FORMAT_SAFETENSORSINDEX_H

#include "runtime/format/Bytes.h"
#include "runtime/format/Status.h"

#include <map>
#include <string>

namespace shardc::format {

/// By tensor, the file that it is in, which is in the index's own folder: a
/// name with a slash is refused. Fails with `code`, beginning with `name`.
StatusOr<std::map<std::string, std::string>>
readSafetensorsIndex(Bytes text, const std::string &name, ErrorCode code);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_SAFETENSORSINDEX_H
