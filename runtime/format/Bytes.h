//===- Bytes.h - Borrowed bytes -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A view of bytes that somebody else owns, and its conversion from text.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_BYTES_H
#define SHARDC_RUNTIME_FORMAT_BYTES_H

#include <cstddef>
#include <span>
#include <string_view>

namespace shardc::format {

/// Borrowed, read-only bytes.
using Bytes = std::span<const std::byte>;

inline Bytes bytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string_view textOf(Bytes bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_BYTES_H
