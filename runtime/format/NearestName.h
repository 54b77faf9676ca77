//===- NearestName.h - What a misspelt name may have meant ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The one measure behind every "did you mean": how much two names share at
// their beginnings and ends. It finds both a typing error and a dotted name of
// which one component differs, in time that is linear in the lengths.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_NEARESTNAME_H
#define SHARDC_RUNTIME_FORMAT_NEARESTNAME_H

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::format {

/// How many characters are inserted, removed or replaced to make `a` `b`.
size_t editDistance(std::string_view a, std::string_view b);

/// Which of `candidates` somebody who wrote `name` meant; none if none is like
/// it. Case and the dashes of an option do not count.
std::optional<std::string>
nearestName(std::string_view name,
            std::span<const std::string_view> candidates);
std::optional<std::string>
nearestName(std::string_view name, const std::vector<std::string> &candidates);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_NEARESTNAME_H
