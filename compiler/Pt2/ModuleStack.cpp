//===- ModuleStack.cpp - Parses nn_module_stack ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Splits the metadata string that torch/_export/serde/serialize.py
// (serialize_metadata) joins, with the reader's rule of the same file: commas
// inside brackets do not separate.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/GraphReader.h"
#include "compiler/Pt2/ReadFailure.h"

#include <algorithm>
#include <charconv>

namespace shardc::pt2 {

namespace {

/// What PyTorch writes for nodes that it inserted itself.
constexpr std::string_view emptyStackMarker =
    "_empty_nn_module_stack_from_metadata_hook";

std::vector<std::string_view> splitOutsideBrackets(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    depth += (c == '[' || c == '(') - (c == ']' || c == ')');
    if (c == ',' && depth == 0) {
      parts.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  parts.push_back(text.substr(start));
  return parts;
}

/// The number after the last '@' of `key`, 0 when there is none.
int64_t parseCallIndex(std::string_view key) {
  size_t at = key.rfind('@');
  if (at == std::string_view::npos)
    return 0;
  std::string_view digits = key.substr(at + 1);
  int64_t index = 0;
  auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), index);
  bool isNumber = error == std::errc() && end == digits.data() + digits.size();
  return isNumber ? std::max<int64_t>(index, 0) : 0;
}

/// Removes `L['name']` and the dot after it from the front of `path`.
std::string_view dropArgumentPrefix(std::string_view path) {
  if (!path.starts_with("L['"))
    return path;
  size_t end = path.find("']");
  if (end == std::string_view::npos)
    return path;
  path.remove_prefix(end + 2);
  if (path.starts_with('.'))
    path.remove_prefix(1);
  return path;
}

ModuleFrame parseFrame(std::string_view item) {
  std::vector<std::string_view> parts = splitOutsideBrackets(item);
  if (parts.size() != 3)
    fail(errors::schemaViolation,
         "expected an item 'key,path,type' in nn_module_stack, got '" +
             std::string(item) + "'");
  return {std::string(dropArgumentPrefix(parts[1])), parseCallIndex(parts[0]),
          std::string(parts[2])};
}

} // namespace

std::vector<ModuleFrame> parseModuleStack(std::string_view text) {
  std::vector<ModuleFrame> frames;
  while (!text.empty()) {
    size_t end = std::min(text.find(';'), text.size());
    std::string_view item = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!item.starts_with(emptyStackMarker))
      frames.push_back(parseFrame(item));
  }
  return frames;
}

} // namespace shardc::pt2
