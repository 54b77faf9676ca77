//===- JsonDocument.h - JSON that is not trusted --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// JSON from a file that is not trusted: size and depth are limited before the
// parser sees the text, and members are read through functions that say what
// they expected instead of asserting it. torch 2.6 and older write non-finite
// floats as bare words (`-Infinity`), which JSON does not have; they are put in
// quotes first, which is how torch 2.7 and later write them.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_JSONDOCUMENT_H
#define SHARDC_COMPILER_PT2_JSONDOCUMENT_H

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace shardc::pt2 {

using Json = nlohmann::json;

/// Longest JSON text that is read, in bytes. A 32-layer Llama 3 has 3 MB.
inline constexpr size_t maximumJsonBytes = size_t(128) << 20;

/// Deepest nesting of arrays and objects. A graph is at depth 3, and each
/// subgraph of a higher-order operator is 7 deeper than the graph around it.
inline constexpr size_t maximumJsonDepth = 256;

/// Most values of one JSON text. A parsed value takes some 50 bytes, so this
/// limits memory where the length of the text does not: "[[],[],[],…".
inline constexpr size_t maximumJsonValues = size_t(1) << 24;

/// Parses `text`, which error messages call `name`. Throws ReadFailure.
Json parseJson(std::string_view text, const std::string &name);

/// The member `key` of `object`; fails when `object` is not one or lacks it.
const Json &member(const Json &object, const char *key);

/// The member `key` of `object`, or null when it is absent or a JSON null.
const Json *optionalMember(const Json &object, const char *key);

/// The only member of a union, which the schema writes as an object with one
/// key: the tag and its value. `what` names the union in messages.
std::pair<const std::string &, const Json &> taggedValue(const Json &value,
                                                         const char *what);

// The value itself, or a failure that names `what`.
const Json &asObject(const Json &value, const char *what);
const Json &asArray(const Json &value, const char *what);
const Json &asObject(Json &&value, const char *what) = delete;
const Json &asArray(Json &&value, const char *what) = delete;
const std::string &asString(const Json &value, const char *what);
bool asBool(const Json &value, const char *what);
int64_t asInt(const Json &value, const char *what);
/// Accepts integers and the words "Infinity", "-Infinity" and "NaN".
double asDouble(const Json &value, const char *what);

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_JSONDOCUMENT_H
