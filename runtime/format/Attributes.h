//===- Attributes.h - Named values of a library call ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The attributes of a library call and the options recorded in a plan: names
// with a boolean, an integer, a number, a string or a list of integers.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_ATTRIBUTES_H
#define SHARDC_RUNTIME_FORMAT_ATTRIBUTES_H

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace shardc::format {

using AttributeValue =
    std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;

/// Ordered by name, so that the same attributes are always written alike.
using Attributes = std::map<std::string, AttributeValue, std::less<>>;

/// The value named `name` if it is there and has type T, else `absent`. An
/// integer counts as a number.
template <typename T>
T attributeOr(const Attributes &attributes, std::string_view name, T absent) {
  auto found = attributes.find(name);
  if (found == attributes.end())
    return absent;
  if (const T *value = std::get_if<T>(&found->second))
    return *value;
  if constexpr (std::is_same_v<T, double>)
    if (const auto *value = std::get_if<int64_t>(&found->second))
      return static_cast<double>(*value);
  return absent;
}

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_ATTRIBUTES_H
