//===- JsonLines.h - Printing JSON with one element a line ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The layout of the artifact's JSON: the members of the root one below the
// other, and the elements of their arrays one a line.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_JSONLINES_H
#define SHARDC_RUNTIME_FORMAT_JSONLINES_H

#include "runtime/format/Attributes.h"

#include <nlohmann/json.hpp>

#include <string>

namespace shardc::format {

/// Prints an object whose arrays of objects are spread over lines.
std::string printLines(const nlohmann::ordered_json &root);

/// Members in the order of their names.
nlohmann::ordered_json toJson(const Attributes &attributes);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_JSONLINES_H
