//===- SafetensorsFuzzer.cpp - Any bytes as safetensors -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the input as a safetensors file; what is accepted must describe bytes
// that exist, and must be read back from what the writer makes of it.
//===----------------------------------------------------------------------===//

#include "runtime/format/Safetensors.h"

#include <cstdint>
#include <span>

using namespace shardc;
using namespace shardc::format;

/// Whether header and data of `content` are read back as the same tensors.
static bool isReadBack(const SafetensorsContent &content) {
  std::string file = safetensorsHeader(content.tensors, content.metadata);
  for (const NamedTensor &tensor : content.tensors)
    file.append(reinterpret_cast<const char *>(tensor.data.data()),
                tensor.data.size());
  StatusOr<SafetensorsContent> again = readSafetensors(
      std::as_bytes(std::span(file)), "again", ErrorCode::E0402);
  return again.ok() && again->tensors.size() == content.tensors.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  StatusOr<SafetensorsContent> content = readSafetensors(
      std::as_bytes(std::span(data, size)), "input", ErrorCode::E0402);
  if (!content.ok())
    return 0;
  size_t bytes = 0;
  for (const NamedTensor &tensor : content->tensors)
    bytes += tensor.data.size();
  if (bytes > size || !isReadBack(*content))
    __builtin_trap();
  return 0;
}
