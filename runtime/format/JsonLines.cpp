//===- JsonLines.cpp - Printing JSON with one element a line --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A layout between nlohmann's two: neither all on one line nor every number on
// a line of its own.
//===----------------------------------------------------------------------===//

#include "runtime/format/JsonLines.h"

using nlohmann::ordered_json;

namespace shardc::format {

std::string printLines(const ordered_json &root) {
  std::string text = "{";
  const char *separator = "\n";
  for (const auto &[key, member] : root.items()) {
    text += separator + ordered_json(key).dump() + ": ";
    separator = ",\n";
    if (!member.is_array() || member.empty() || !member.front().is_object()) {
      text += member.dump();
      continue;
    }
    const char *elementSeparator = "[\n  ";
    for (const ordered_json &element : member) {
      text += elementSeparator + element.dump();
      elementSeparator = ",\n  ";
    }
    text += "]";
  }
  return text + "\n}\n";
}

ordered_json toJson(const Attributes &attributes) {
  ordered_json members = ordered_json::object();
  for (const auto &[name, attribute] : attributes)
    members[name] = std::visit(
        [](const auto &value) { return ordered_json(value); }, attribute);
  return members;
}

} // namespace shardc::format
