//===- JsonField.cpp - strict access to a JSON document -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Typed access with a complaint for everything else, and the limits that keep
// a hostile document from exhausting memory or the stack.
//
//===----------------------------------------------------------------------===//

#include "runtime/format/JsonField.h"

#include <algorithm>
#include <set>

using nlohmann::json;

namespace shardc::format {

void JsonField::fail(const std::string &complaint) const {
  throw MalformedField{pointer, complaint};
}

/// Escapes a member name for a JSON pointer.
static std::string pointerToken(const std::string &key) {
  std::string token;
  for (const char character : key) {
    if (character == '~')
      token += "~0";
    else if (character == '/')
      token += "~1";
    else
      token += character;
  }
  return token;
}

JsonField JsonField::operator[](const std::string &key) const {
  std::optional<JsonField> member = find(key);
  if (!member)
    fail("expected a member '" + key + "'");
  return *member;
}

std::optional<JsonField> JsonField::find(const std::string &key) const {
  if (!value.is_object())
    fail("expected an object");
  auto found = value.find(key);
  if (found == value.end())
    return std::nullopt;
  return JsonField(*found, pointer + "/" + pointerToken(key));
}

std::vector<JsonField> JsonField::elements() const {
  if (!value.is_array())
    fail("expected an array");
  std::vector<JsonField> fields;
  fields.reserve(value.size());
  for (size_t i = 0; i < value.size(); ++i)
    fields.emplace_back(value[i], pointer + "/" + std::to_string(i));
  return fields;
}

std::vector<std::pair<std::string, JsonField>> JsonField::members() const {
  if (!value.is_object())
    fail("expected an object");
  std::vector<std::pair<std::string, JsonField>> fields;
  for (const auto &[key, member] : value.items())
    fields.emplace_back(key,
                        JsonField(member, pointer + "/" + pointerToken(key)));
  return fields;
}

std::string JsonField::text() const {
  if (!value.is_string())
    fail("expected a string");
  return value.get<std::string>();
}

bool JsonField::boolean() const {
  if (!value.is_boolean())
    fail("expected true or false");
  return value.get<bool>();
}

double JsonField::number() const {
  if (!value.is_number())
    fail("expected a number");
  return value.get<double>();
}

int64_t JsonField::integer(int64_t least, int64_t most) const {
  if (!value.is_number_integer())
    fail("expected an integer");
  const bool tooLarge =
      value.is_number_unsigned() &&
      value.get<uint64_t>() >
          static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  const int64_t integer = tooLarge ? 0 : value.get<int64_t>();
  if (tooLarge || integer < least || integer > most)
    fail("expected an integer from " + std::to_string(least) + " to " +
         std::to_string(most) + ", found " + value.dump());
  return integer;
}

std::vector<int64_t> JsonField::integers(int64_t least) const {
  std::vector<int64_t> values;
  for (const JsonField &element : elements())
    values.push_back(element.integer(least));
  return values;
}

std::vector<std::string> JsonField::texts() const {
  std::vector<std::string> values;
  for (const JsonField &element : elements())
    values.push_back(element.text());
  return values;
}

Dtype JsonField::dtype() const {
  const std::string name = text();
  const std::optional<Dtype> parsed = parseDtype(name);
  if (!parsed)
    fail("unknown dtype '" + name + "'");
  return *parsed;
}

Attributes JsonField::attributes() const {
  Attributes attributes;
  for (const auto &[key, member] : members()) {
    const json &attribute = member.value;
    if (attribute.is_boolean())
      attributes[key] = member.boolean();
    else if (attribute.is_number_integer())
      attributes[key] = member.integer(std::numeric_limits<int64_t>::min());
    else if (attribute.is_number())
      attributes[key] = member.number();
    else if (attribute.is_string())
      attributes[key] = member.text();
    else
      attributes[key] = member.integers(std::numeric_limits<int64_t>::min());
  }
  return attributes;
}

/// The deepest nesting of brackets outside of strings.
static int nestingDepth(std::string_view text) {
  int depth = 0, deepest = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char character = text[i];
    if (inString) {
      if (character == '\\')
        ++i;
      else if (character == '"')
        inString = false;
    } else if (character == '"') {
      inString = true;
    } else if (character == '{' || character == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (character == '}' || character == ']') {
      --depth;
    }
  }
  return deepest;
}

/// Parses and refuses objects that name a member twice, which parsers would
/// resolve differently.
static json parseWithoutRepetition(std::string_view text) {
  std::vector<std::set<std::string>> open;
  return json::parse(text, [&](int, json::parse_event_t event, json &parsed) {
    if (event == json::parse_event_t::object_start)
      open.emplace_back();
    else if (event == json::parse_event_t::object_end)
      open.pop_back();
    else if (event == json::parse_event_t::key &&
             !open.back().insert(parsed.get<std::string>()).second)
      throw MalformedField{"", "member '" + parsed.get<std::string>() +
                                   "' appears twice"};
    return true;
  });
}

Status parseDocument(Bytes text, const std::string &entry, ErrorCode code,
                     const std::function<void(const JsonField &)> &read) {
  constexpr size_t mostBytes = size_t(256) << 20;
  constexpr int deepestNesting = 16;
  const std::string quoted = "entry '" + entry + "'";
  if (text.size() > mostBytes)
    return Status(code, quoted + ": " + std::to_string(text.size()) +
                            " bytes of JSON exceed the limit of " +
                            std::to_string(mostBytes));
  if (nestingDepth(textOf(text)) > deepestNesting)
    return Status(code, quoted + ": JSON is nested deeper than " +
                            std::to_string(deepestNesting));
  try {
    const json document = parseWithoutRepetition(textOf(text));
    read(JsonField(document, ""));
  } catch (const MalformedField &malformed) {
    return Status(code, quoted + ", '" + malformed.place +
                            "': " + malformed.complaint);
  } catch (const json::exception &error) {
    return Status(code, quoted + ": " + error.what());
  }
  return Status();
}

} // namespace shardc::format
