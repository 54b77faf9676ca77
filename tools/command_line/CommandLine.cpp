//===- CommandLine.cpp - What all command lines share ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Wraps help pages between words, and finds the option that was meant.
//===----------------------------------------------------------------------===//

#include "tools/command_line/CommandLine.h"

#include "runtime/format/NearestName.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <sstream>
#include <vector>

namespace shardc {

static constexpr size_t pageWidth = 80;

std::string wrap(const std::string &text, size_t column) {
  std::istringstream words(text);
  std::string lines;
  size_t width = column;
  for (std::string word; words >> word;) {
    const bool isFirst = width == column;
    if (!isFirst && width + 1 + word.size() > pageWidth) {
      lines += "\n" + std::string(column, ' ');
      width = column;
    } else if (!isFirst) {
      lines += " ";
      ++width;
    }
    lines += word;
    width += word.size();
  }
  return lines;
}

/// CLI11 separates groups of options by two empty lines.
std::string HelpFormatter::make_help(const CLI::App *app, std::string name,
                                     CLI::AppFormatMode mode) const {
  return CLI::detail::find_and_replace(
      Formatter::make_help(app, std::move(name), mode), "\n\n\n", "\n\n");
}

std::string HelpFormatter::make_option(const CLI::Option *option,
                                       bool isPositional) const {
  std::string heading = "  " + make_option_name(option, isPositional);
  const std::string type = option->get_type_name();
  if (option->get_type_size() != 0 && !isPositional && !type.empty())
    heading += " " + type;
  std::string text = option->get_description();
  if (!option->get_default_str().empty())
    text += " (default: " + option->get_default_str() + ")";
  const size_t column = get_column_width();
  heading += heading.size() + 2 > column
                 ? "\n" + std::string(column, ' ')
                 : std::string(column - heading.size(), ' ');
  return heading + wrap(text, column) + "\n";
}

std::string describeUnknown(const CLI::App &app) {
  const std::string argument = app.remaining(/*recurse=*/true).front();
  const bool isCommand =
      app.get_require_subcommand_min() > 0 && app.get_subcommands().empty();
  std::vector<std::string> names;
  const auto suggestion = [&] {
    const auto nearest =
        format::nearestName(argument.substr(0, argument.find('=')), names);
    return nearest ? "; did you mean '" + *nearest + "'?" : std::string();
  };
  if (isCommand && !argument.starts_with('-')) {
    for (const CLI::App *command : app.get_subcommands(nullptr))
      names.push_back(command->get_name());
    return "unknown command '" + argument + "'" + suggestion();
  }
  if (!argument.starts_with('-'))
    return "unexpected argument '" + argument + "'";
  std::vector<const CLI::App *> levels = {&app};
  for (const CLI::App *command : app.get_subcommands())
    levels.push_back(command);
  for (const CLI::App *level : levels)
    for (const CLI::Option *option : level->get_options())
      for (const std::string &name : option->get_lnames())
        names.push_back("--" + name);
  return "unknown option '" + argument + "'" + suggestion();
}

/// Lower case, one line, no final period.
static std::string tidied(std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  // A sentence, not the name of an argument.
  if (message.size() > 1 && std::islower(message[1]))
    message[0] = static_cast<char>(std::tolower(message[0]));
  while (message.ends_with('.') || message.ends_with(' '))
    message.pop_back();
  return message;
}

/// What the option of this name takes: N is an integer, X any number.
static std::string describeNumberOf(const CLI::App &app,
                                    const std::string &name) {
  const CLI::App *command =
      app.get_subcommands().empty() ? &app : app.get_subcommands().front();
  const CLI::Option *option = command->get_option_no_throw(name);
  return option && option->get_type_name() == "N" ? "an integer" : "a number";
}

/// CLI11's texts are "Could not convert: --steps = x", "--steps: 1 required K
/// missing" and "--wrap: At Most 1 required but received 2".
static Status describeValues(const CLI::App &app, const std::string &text) {
  const std::string_view conversion = "Could not convert: ";
  if (text.starts_with(conversion)) {
    const size_t equals = text.find(" = ");
    const std::string name =
        text.substr(conversion.size(), equals - conversion.size());
    return Status(ErrorCode::E0001,
                  name + ": expected " + describeNumberOf(app, name) +
                      ", got '" + text.substr(equals + 3) + "'");
  }
  const std::string option = text.substr(0, text.find(':'));
  if (text.find("At Most") != std::string::npos)
    return Status(ErrorCode::E0001, option + " is given more than once");
  if (text.ends_with(" missing"))
    return Status(ErrorCode::E0002, option + " needs a value");
  if (const size_t at = text.find(" excludes "); at != std::string::npos)
    return Status(ErrorCode::E0001, text.substr(0, at) +
                                        " cannot be combined with " +
                                        text.substr(at + 10));
  return Status(ErrorCode::E0001, tidied(text));
}

Status usageStatus(const CLI::App &app, const CLI::ParseError &error) {
  // An option that is misspelt is one that is missing.
  const bool isMissing = dynamic_cast<const CLI::RequiredError *>(&error);
  if (dynamic_cast<const CLI::ExtrasError *>(&error) ||
      (isMissing && app.remaining_size(/*recurse=*/true) > 0))
    return Status(ErrorCode::E0001, describeUnknown(app));
  const std::string text = error.what();
  if (isMissing)
    return Status(ErrorCode::E0002, text.starts_with("A subcommand")
                                        ? "expected a command"
                                        : text);
  if (text.find(outOfRange) != std::string::npos)
    return Status(ErrorCode::E0003, text);
  return describeValues(app, text);
}

int flushOutput(int code, const char *program) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0)
    return code;
  const Status status(ErrorCode::E0601, std::string("cannot write the standard "
                                                    "output: ") +
                                            std::strerror(errno));
  std::cerr << render(status, program);
  return code != 0 ? code : exitCode(status.code());
}

CLI::Validator isUnsigned() {
  return CLI::Validator(
      [](const std::string &text) {
        uint64_t value = 0;
        const char *const end = text.data() + text.size();
        const bool isInteger =
            text.find_first_not_of("0123456789", text.starts_with('-')) ==
            std::string::npos;
        return isInteger && std::from_chars(text.data(), end, value).ec !=
                                std::errc()
                   ? std::string(outOfRange) +
                         "from 0 to 18446744073709551615, got " + text
                   : std::string();
      },
      "");
}

std::string describeWrongWord(const std::vector<std::string> &words,
                              const std::string &got) {
  std::string expected;
  for (size_t i = 0; i < words.size(); ++i)
    expected += (i == 0                  ? ""
                 : i + 1 == words.size() ? " or "
                                         : ", ") +
                words[i];
  return "expected " + expected + ", got '" + got + "'";
}

static bool isMisread(std::string_view value) {
  if (value.starts_with('-') || value.starts_with('+'))
    value.remove_prefix(1);
  return value.empty() ||
         (value.size() > 1 && value[0] == '0' &&
          std::string_view(".eE").find(value[1]) == std::string_view::npos);
}

std::optional<std::string> findMisreadNumber(const CLI::App &app) {
  for (const CLI::Option *option : app.get_options())
    if (option->get_type_name().size() == 1)
      for (const std::string &value : option->results())
        if (isMisread(value))
          return option->get_name() + ": expected a " +
                 (value.empty() ? "" : "decimal ") + "number, got '" + value +
                 "'";
  return std::nullopt;
}

} // namespace shardc
