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
#include <string>
#include <string_view>
#include <vector>

namespace shardc::format {

/// The first of `candidates` that shares most with `name`; none if that is less
/// than half of the longer one.
std::optional<std::string>
nearestName(std::string_view name, const std::vector<std::string> &candidates);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_NEARESTNAME_H
