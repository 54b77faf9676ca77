//===- NearestName.cpp - What a misspelt name may have meant --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Typing mistakes are few edits; otherwise one name is a part of the other, as
// `eps` of `epsilon`, `reshard` of `reshard_after_forward` and `layer.weight`
// of `model.layer.weight`.
//===----------------------------------------------------------------------===//

#include "runtime/format/NearestName.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <tuple>

namespace shardc::format {

/// One row of the table at a time.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

/// In lower case, without the dashes of an option and with one separator.
static std::string normalized(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  std::string text;
  for (const char letter : name)
    text += letter == '-' ? '_'
                          : static_cast<char>(std::tolower(
                                static_cast<unsigned char>(letter)));
  return text;
}

/// Whether `whole` begins with `part`, or ends with it after a separator.
static bool isPart(std::string_view part, std::string_view whole) {
  constexpr size_t min = 2;
  if (part.size() < min || part.size() >= whole.size())
    return false;
  const char before = whole[whole.size() - part.size() - 1];
  return whole.starts_with(part) ||
         (whole.ends_with(part) && (before == '.' || before == '_'));
}

std::optional<std::string>
nearestName(std::string_view name,
            std::span<const std::string_view> candidates) {
  const std::string wanted = normalized(name);
  // How far, and how: a few edits, a part, more edits.
  std::optional<std::tuple<int, size_t>> min;
  std::optional<std::string> nearest;
  for (const std::string_view candidate : candidates) {
    const std::string other = normalized(candidate);
    const size_t distance = editDistance(wanted, other);
    const size_t longer = std::max(wanted.size(), other.size());
    const bool areParts = isPart(wanted, other) || isPart(other, wanted);
    // Two letters that changed places are two edits.
    if (!areParts && 3 * distance > longer + 1)
      continue;
    const int kind = 5 * distance <= longer ? 0 : areParts ? 1 : 2;
    if (const std::tuple found(kind, distance); !min || found < *min) {
      min = found;
      nearest = candidate;
    }
  }
  return nearest;
}

std::optional<std::string>
nearestName(std::string_view name, const std::vector<std::string> &candidates) {
  const std::vector<std::string_view> views(candidates.begin(),
                                            candidates.end());
  return nearestName(name, views);
}

} // namespace shardc::format
