//===- SafetensorsIndex.cpp - Tensors in several files --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One member is read; what else an index says is for people.
//===----------------------------------------------------------------------===//

#include "runtime/format/SafetensorsIndex.h"
#include "runtime/format/JsonField.h"

namespace shardc::format {

StatusOr<std::map<std::string, std::string>>
readSafetensorsIndex(Bytes text, const std::string &name, ErrorCode code) {
  std::map<std::string, std::string> fileOf;
  Status status = parseDocument(text, name, code, [&](const JsonField &root) {
    for (const auto &[tensor, field] : root["weight_map"].members()) {
      const std::string file = field.text();
      if (file.empty() || file == ".." || file.find('/') != std::string::npos)
        field.fail("expected a file in the folder of the index, got '" + file +
                   "'");
      fileOf[tensor] = file;
    }
  });
  if (!status.ok())
    return status;
  return fileOf;
}

} // namespace shardc::format
