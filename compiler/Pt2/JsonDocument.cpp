//===- JsonDocument.cpp - JSON that is not trusted ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Limits, repairs and parses JSON text, and reads its members with checks.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/JsonDocument.h"

#include "compiler/Pt2/ReadFailure.h"

#include <cmath>
#include <limits>

namespace shardc::pt2 {

namespace {

constexpr std::string_view nonFiniteWords[] = {"-Infinity", "Infinity", "NaN"};

/// The non-finite word that `text` begins with, or an empty view.
std::string_view nonFiniteWordAt(std::string_view text) {
  for (std::string_view word : nonFiniteWords)
    if (text.starts_with(word))
      return word;
  return {};
}

/// Index of the quote that ends the string literal whose first character is at
/// `start`, or the length of the text.
size_t endOfString(std::string_view text, size_t start) {
  size_t i = start;
  while (i < text.size() && text[i] != '"')
    i += text[i] == '\\' ? 2 : 1;
  return std::min(i, text.size());
}

/// Checks the nesting depth and the number of values, and returns `text` with
/// its bare non-finite words in quotes. What is not JSON is left for the parser
/// to complain about.
std::string limitAndQuote(std::string_view text, const std::string &name) {
  std::string result;
  size_t copied = 0;
  size_t depth = 0;
  size_t valueCount = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    // Each value but the first follows one of these.
    valueCount += c == ',' || c == '[' || c == '{';
    if (valueCount > maximumJsonValues)
      fail(errors::inputLimit, "'" + name + "' has more than " +
                                   std::to_string(maximumJsonValues) +
                                   " values");
    if (c == '"') {
      i = endOfString(text, i + 1);
    } else if (c == '[' || c == '{') {
      if (++depth > maximumJsonDepth)
        fail(errors::inputLimit,
             "'" + name + "' is nested deeper than the limit of " +
                 std::to_string(maximumJsonDepth) + " levels");
    } else if (c == ']' || c == '}') {
      depth -= depth > 0;
    } else if (c == '-' || c == 'I' || c == 'N') {
      std::string_view word = nonFiniteWordAt(text.substr(i));
      if (word.empty())
        continue;
      result.append(text.substr(copied, i - copied));
      result.append("\"").append(word).append("\"");
      copied = i + word.size();
      i = copied - 1;
    }
  }
  result.append(text.substr(copied));
  return result;
}

[[noreturn]] void failExpected(const char *what, const char *kind,
                               const Json &value) {
  fail(errors::schemaViolation, "expected " + std::string(what) + " to be " +
                                    kind + ", got " + value.type_name());
}

} // namespace

Json parseJson(std::string_view text, const std::string &name) {
  if (text.size() > maximumJsonBytes)
    fail(errors::inputLimit,
         "'" + name + "' has " + std::to_string(text.size()) +
             " bytes, the limit is " + std::to_string(maximumJsonBytes));
  try {
    return Json::parse(limitAndQuote(text, name));
  } catch (const Json::parse_error &error) {
    fail(errors::malformedJson, "'" + name + "' is not valid JSON at byte " +
                                    std::to_string(error.byte));
  } catch (const Json::exception &) { // A number outside the range of double.
    fail(errors::malformedJson,
         "'" + name + "' has a number that no double can hold");
  }
}

const Json *optionalMember(const Json &object, const char *key) {
  if (!object.is_object())
    failExpected((std::string("the parent of '") + key + "'").c_str(),
                 "an object", object);
  auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

const Json &member(const Json &object, const char *key) {
  const Json *found = optionalMember(object, key);
  if (!found)
    fail(errors::schemaViolation,
         std::string("expected a member '") + key + "'");
  return *found;
}

std::pair<const std::string &, const Json &> taggedValue(const Json &value,
                                                         const char *what) {
  if (!value.is_object() || value.size() != 1)
    failExpected(what, "an object with one key", value);
  auto only = value.begin();
  return {only.key(), only.value()};
}

const Json &asObject(const Json &value, const char *what) {
  if (!value.is_object())
    failExpected(what, "an object", value);
  return value;
}

const Json &asArray(const Json &value, const char *what) {
  if (!value.is_array())
    failExpected(what, "an array", value);
  return value;
}

const std::string &asString(const Json &value, const char *what) {
  if (!value.is_string())
    failExpected(what, "a string", value);
  return value.get_ref<const std::string &>();
}

bool asBool(const Json &value, const char *what) {
  if (!value.is_boolean())
    failExpected(what, "a boolean", value);
  return value.get<bool>();
}

int64_t asInt(const Json &value, const char *what) {
  constexpr uint64_t maximum = std::numeric_limits<int64_t>::max();
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<uint64_t>() > maximum))
    failExpected(what, "a 64-bit integer", value);
  return value.get<int64_t>();
}

double asDouble(const Json &value, const char *what) {
  if (value.is_number())
    return value.get<double>();
  const std::string *word = value.get_ptr<const std::string *>();
  if (!word || nonFiniteWordAt(*word) != *word || word->empty())
    failExpected(what, "a number", value);
  if (*word == "NaN")
    return std::numeric_limits<double>::quiet_NaN();
  double infinity = std::numeric_limits<double>::infinity();
  return *word == "Infinity" ? infinity : -infinity;
}

} // namespace shardc::pt2
