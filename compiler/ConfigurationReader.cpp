//===- ConfigurationReader.cpp - Options from a file ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each object of the file has a list of keys; the option table has those that
// are a number, a word or a switch. A reader throws Malformed with the JSON
// pointer of what it cannot take; readConfiguration() turns it into a Status.
//===----------------------------------------------------------------------===//

#include "compiler/Configuration.h"
#include "compiler/OptionTable.h"
#include "passes/Group/Rules.h"
#include "runtime/format/MappedFile.h"
#include "runtime/format/NearestName.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <map>
#include <set>

namespace shardc {

using Json = nlohmann::json;

namespace {

struct Malformed {
  std::string pointer, complaint;
};

/// A value and the JSON pointer (RFC 6901) to it.
struct Field {
  const Json &value;
  std::string pointer;

  [[noreturn]] void fail(const std::string &complaint) const {
    throw Malformed{pointer, complaint};
  }
};

using Reader = std::function<void(const Field &)>;

} // namespace

static std::string quote(std::string_view text) {
  return "'" + std::string(text) + "'";
}

static const char *kindOf(const Json &value) {
  return value.is_object()    ? "an object"
         : value.is_array()   ? "a list"
         : value.is_string()  ? "a string"
         : value.is_boolean() ? "true or false"
         : value.is_null()    ? "null"
                              : "a number";
}

[[noreturn]] static void failKind(const Field &field, const char *expected) {
  field.fail(std::string("expected ") + expected + ", got " +
             kindOf(field.value));
}

static std::string readText(const Field &field) {
  if (!field.value.is_string())
    failKind(field, "a string");
  return field.value.get<std::string>();
}

/// Calls the reader of each key of an object. An unknown key is an error that
/// names the closest.
static void readObject(const Field &field,
                       const std::map<std::string, Reader> &readers) {
  if (!field.value.is_object())
    failKind(field, "an object");
  for (const auto &[key, value] : field.value.items()) {
    auto found = readers.find(key);
    if (found != readers.end()) {
      found->second({value, field.pointer + "/" + key});
      continue;
    }
    std::vector<std::string_view> known;
    for (const auto &[name, reader] : readers)
      known.push_back(name);
    field.fail(describeUnknownKey(key, known));
  }
}

static void readList(const Field &field, const Reader &readElement) {
  if (!field.value.is_array())
    failKind(field, "a list");
  for (size_t i = 0; i < field.value.size(); ++i)
    readElement({field.value[i], field.pointer + "/" + std::to_string(i)});
}

//===----------------------------------------------------------------------===//
// Numbers, words, switches
//===----------------------------------------------------------------------===//

static void checkRange(const Field &field, double number,
                       const NumberRange &range) {
  if (std::string complaint = describeOutOfRange(number, range);
      !complaint.empty())
    field.fail(complaint);
}

static void read(const Field &field, const OptionEntry &entry, double &value) {
  if (!field.value.is_number())
    failKind(field, "a number");
  value = field.value.get<double>();
  checkRange(field, value, entry.range);
}

static void read(const Field &field, const OptionEntry &entry, int64_t &value) {
  if (!field.value.is_number_integer())
    failKind(field, "an integer");
  checkRange(field, field.value.get<double>(), entry.range);
  value = field.value.get<int64_t>();
}

static void read(const Field &field, const OptionEntry &, bool &value) {
  if (!field.value.is_boolean())
    failKind(field, "true or false");
  value = field.value.get<bool>();
}

/// A word of the table's, or a text of another form, which may be a number.
static void read(const Field &field, const OptionEntry &entry,
                 std::string &value) {
  if (entry.words.empty()) {
    value = field.value.is_number() ? shortest(field.value.get<double>())
                                    : readText(field);
    if (std::string complaint = entry.complain ? entry.complain(value) : "";
        !complaint.empty())
      field.fail(complaint);
    return;
  }
  value = meantWord(readText(field), entry.words);
  if (std::find(entry.words.begin(), entry.words.end(), value) !=
      entry.words.end())
    return;
  std::string all;
  for (std::string_view word : entry.words)
    all += (all.empty() ? "" : ", ") + std::string(word);
  const auto nearest = format::nearestName(value, entry.words);
  field.fail("expected one of " + all + ", got " + quote(value) +
             (nearest ? "; did you mean " + quote(*nearest) + "?" : ""));
}

/// Adds readers of the table's keys: of `section`, or those without one.
static void addTableReaders(std::string_view section, Options &options,
                            std::map<std::string, Reader> &readers) {
  for (const OptionEntry &entry : optionTable()) {
    size_t dot = entry.key.find('.');
    bool hasSection = dot != std::string_view::npos;
    if (entry.key.empty() || hasSection == section.empty() ||
        (hasSection && entry.key.substr(0, dot) != section))
      continue;
    std::string key(hasSection ? entry.key.substr(dot + 1) : entry.key);
    readers[key] = [&entry, &options](const Field &field) {
      std::visit(
          [&](auto member) {
            if (field.value.is_null()) // The default.
              options.*member = Options().*member;
            else
              read(field, entry, options.*member);
          },
          entry.member);
    };
  }
}

//===----------------------------------------------------------------------===//
// Wrapping and rules
//===----------------------------------------------------------------------===//

/// Entries of `--wrap`; a list in the list is one group.
static std::string readWrap(const Field &field) {
  std::string wrap;
  readList(field, [&](const Field &entry) {
    std::string text;
    if (!entry.value.is_array())
      text = readText(entry);
    else
      readList(entry, [&](const Field &module) {
        text += (text.empty() ? "" : "&") + readText(module);
      });
    if (text.empty())
      entry.fail("expected a module");
    wrap += (wrap.empty() ? "" : ",") + text;
  });
  return wrap;
}

/// A setting as the text of rules has it.
static std::string settingOf(const Field &field) {
  const Json &value = field.value;
  if (value.is_null())
    return "none";
  if (value.is_boolean())
    return value.get<bool>() ? "true" : "false";
  if (value.is_number_integer())
    return std::to_string(value.get<int64_t>());
  return value.is_number() ? shortest(value.get<double>()) : readText(field);
}

/// fully_shard's None is a word here.
static std::string normalized(std::string_view key,
                              const std::string &setting) {
  return key == "reshard_after_forward" && setting == "none"
             ? "default"
             : meantSetting(key, setting);
}

static std::string readRules(const Field &field,
                             std::span<const RuleKey> keys) {
  std::vector<Rule> rules;
  readList(field, [&](const Field &element) {
    Rule rule;
    bool matches = false;
    std::map<std::string, Reader> readers;
    readers["match"] = [&](const Field &pattern) {
      rule.pattern = readText(pattern);
      matches = true;
    };
    for (const RuleKey &key : keys)
      readers[std::string(key.name)] = [&, key](const Field &setting) {
        std::string value = normalized(key.name, settingOf(setting));
        if (std::string complaint = describeInvalidValue(key.name, value, keys);
            !complaint.empty())
          setting.fail(complaint);
        rule.settings[std::string(key.name)] = value;
      };
    readObject(element, readers);
    if (!matches)
      element.fail("expected a key 'match': a module path or a pattern");
    if (rule.settings.empty())
      element.fail("expected a setting besides 'match'");
    rules.push_back(std::move(rule));
  });
  return printRules(rules);
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

static void readSections(const Field &root, Options &options) {
  std::map<std::string, Reader> sections;
  addTableReaders("", options, sections);
  for (const char *name : {"mesh", "optimizer", "gradients"})
    sections[name] = [name, &options](const Field &field) {
      std::map<std::string, Reader> readers;
      addTableReaders(name, options, readers);
      readObject(field, readers);
    };
  sections["wrap"] = [&](const Field &field) {
    options.wrap = readWrap(field);
  };
  sections["modules"] = [&](const Field &field) {
    options.moduleRules = readRules(field, moduleRuleKeys());
  };
  sections["buffers"] = [&](const Field &field) {
    options.bufferRules = readRules(field, bufferRuleKeys());
  };
  sections["parameters"] = [&](const Field &field) {
    options.paramGroups = readRules(field, parameterRuleKeys());
  };
  readObject(root, sections);
}

/// A parser's callback that throws where an object has a key twice, of which
/// the library would take the last.
static Json::parser_callback_t refuseRepetition() {
  return [open = std::vector<std::set<std::string>>()](
             int, Json::parse_event_t event, Json &parsed) mutable {
    if (event == Json::parse_event_t::object_start)
      open.emplace_back();
    else if (event == Json::parse_event_t::object_end)
      open.pop_back();
    else if (event == Json::parse_event_t::key &&
             !open.back().insert(parsed.get<std::string>()).second)
      throw Malformed{"", "key " + quote(parsed.get<std::string>()) +
                              " appears twice in an object"};
    return true;
  };
}

Status readConfiguration(const std::string &path, Options &options) {
  auto file = format::MappedFile::open(path, ErrorCode::E0004);
  if (!file.ok())
    return file.status();
  format::Bytes text = (*file)->bytes();
  try {
    Json root = Json::parse(text.begin(), text.end(), refuseRepetition(),
                            /*allow_exceptions=*/true,
                            /*ignore_comments=*/true);
    readSections({root, ""}, options);
  } catch (const Json::exception &error) {
    std::string_view reason = error.what();
    return Status(ErrorCode::E0005,
                  "'" + path + "' is not valid JSON: " +
                      std::string(reason.substr(reason.find("] ") + 2)));
  } catch (const Malformed &problem) {
    return Status(ErrorCode::E0005,
                  "'" + path + "', at " +
                      (problem.pointer.empty() ? "the top" : problem.pointer) +
                      ": " + problem.complaint);
  }
  return Status();
}

} // namespace shardc
