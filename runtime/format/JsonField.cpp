//===- JsonField.cpp - Strict access to a JSON document -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Typed access with a complaint for everything else, and the limits that keep
// a hostile document from exhausting memory or the stack.
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

int64_t JsonField::integer(int64_t min, int64_t max) const {
  if (!value.is_number_integer())
    fail("expected an integer");
  const bool tooLarge =
      value.is_number_unsigned() &&
      value.get<uint64_t>() >
          static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  const int64_t integer = tooLarge ? 0 : value.get<int64_t>();
  if (tooLarge || integer < min || integer > max)
    fail("expected an integer from " + std::to_string(min) + " to " +
         std::to_string(max) + ", got " + value.dump());
  return integer;
}

std::vector<int64_t> JsonField::integers(int64_t min) const {
  std::vector<int64_t> values;
  for (const JsonField &element : elements())
    values.push_back(element.integer(min));
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

namespace {
/// What is wrong with a document, and the JSON pointer of the place, where it
/// is at one.
struct Complaint {
  std::optional<std::string> place;
  std::string text;
};
} // namespace

static std::optional<Complaint>
findComplaint(std::string_view text,
              const std::function<void(const JsonField &)> &read) {
  constexpr size_t maxBytes = size_t(256) << 20;
  constexpr int deepestNesting = 16;
  if (text.size() > maxBytes)
    return Complaint{{},
                     std::to_string(text.size()) +
                         " bytes of JSON exceed the limit of " +
                         std::to_string(maxBytes)};
  if (nestingDepth(text) > deepestNesting)
    return Complaint{
        {}, "JSON is nested deeper than " + std::to_string(deepestNesting)};
  try {
    const json document = parseWithoutRepetition(text);
    read(JsonField(document, ""));
  } catch (const MalformedField &malformed) {
    return Complaint{malformed.place, malformed.complaint};
  } catch (const json::exception &error) {
    return Complaint{{}, error.what()};
  }
  return std::nullopt;
}

Status parseDocument(Bytes text, const std::string &entry, ErrorCode code,
                     const std::function<void(const JsonField &)> &read) {
  const std::optional<Complaint> complaint = findComplaint(textOf(text), read);
  if (!complaint)
    return Status();
  std::string message = "entry '" + entry + "'";
  if (complaint->place)
    message += ", '" + *complaint->place + "'";
  return Status(code, message + ": " + complaint->text);
}

//===----------------------------------------------------------------------===//
// Files that people write
//===----------------------------------------------------------------------===//

namespace {
/// Walks through JSON that has been parsed without complaint.
class JsonCursor {
public:
  explicit JsonCursor(std::string_view text) : text(text) { skipSpace(); }

  /// Moves from an object or array to the member or element that a token of a
  /// JSON pointer names; false if it has none.
  bool enter(const std::string &token) {
    const char open = text[at];
    if (open != '{' && open != '[')
      return false;
    advance(1);
    for (int64_t element = 0; text[at] != '}' && text[at] != ']'; ++element) {
      std::string name = std::to_string(element);
      if (open == '{') {
        const size_t begin = at;
        skipString();
        name = pointerToken(
            json::parse(text.substr(begin, at - begin)).get<std::string>());
        skipSpace();
        advance(1);
      }
      if (name == token)
        return true;
      skipValue();
      if (text[at] == ',')
        advance(1);
    }
    return false;
  }

  int64_t line() const {
    return 1 + std::count(text.begin(),
                          text.begin() + static_cast<ptrdiff_t>(at), '\n');
  }

private:
  std::string_view text;
  size_t at = 0;

  void skipSpace() {
    at = std::min(text.find_first_not_of(" \t\r\n", at), text.size());
  }
  void advance(size_t count) {
    at += count;
    skipSpace();
  }
  void skipString() {
    for (++at; text[at] != '"'; ++at)
      at += text[at] == '\\';
    ++at;
  }
  void skipValue() {
    int depth = 0;
    do {
      if (text[at] == '"') {
        skipString();
        continue;
      }
      depth += text[at] == '{' || text[at] == '[';
      depth -= text[at] == '}' || text[at] == ']';
      ++at;
    } while (depth > 0 ||
             (text[at] != ',' && text[at] != '}' && text[at] != ']'));
    skipSpace();
  }
};
} // namespace

/// The line, from 1, of the value at a JSON pointer.
static int64_t lineOf(std::string_view text, const std::string &pointer) {
  JsonCursor cursor(text);
  size_t begin = 1;
  while (begin < pointer.size()) {
    const size_t end = std::min(pointer.find('/', begin), pointer.size());
    if (!cursor.enter(pointer.substr(begin, end - begin)))
      break;
    begin = end + 1;
  }
  return cursor.line();
}

Status parseFile(Bytes text, const std::string &path, ErrorCode code,
                 const std::function<void(const JsonField &)> &read) {
  const std::optional<Complaint> complaint = findComplaint(textOf(text), read);
  if (!complaint)
    return Status();
  std::string message = "'" + path + "'";
  if (complaint->place)
    message += ", line " +
               std::to_string(lineOf(textOf(text), *complaint->place)) +
               (complaint->place->empty() ? "" : ", " + *complaint->place);
  // Of the parser's own complaints, without its name for them.
  const size_t tag = complaint->text.starts_with("[json.exception")
                         ? complaint->text.find("] ")
                         : std::string::npos;
  return Status(code, message + ": " +
                          (tag == std::string::npos
                               ? complaint->text
                               : complaint->text.substr(tag + 2)));
}

} // namespace shardc::format
