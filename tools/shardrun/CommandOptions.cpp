//===- CommandOptions.cpp - Options of shardrun, with what they allow -----===//
// SPDX-License-Identifier: Apache-2.0
//
// Turns what CLI11 and the checks find wrong into our messages.
//===----------------------------------------------------------------------===//

#include "tools/shardrun/CommandOptions.h"

#include "tools/command_line/CommandLine.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iomanip>
#include <sstream>

namespace shardc {

CommandOptions::CommandOptions(CLI::App &app) : app(app) {
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag();
  app.add_flag("-h,--help", help, "Print this help message and exit");
}

/// Writes the digits of a whole number such as 1e3.
std::string CommandOptions::spellOut(std::string &text) {
  double number = 0;
  const char *const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  constexpr double exact = 9007199254740992; // Integers up to 2^53 are.
  if (text.find_first_of("eE.") != std::string::npos && error == std::errc() &&
      rest == end && std::abs(number) <= exact && number == std::floor(number))
    text = std::to_string(static_cast<int64_t>(number));
  return "";
}

Status CommandOptions::checkRange(const CLI::Option &option, double value,
                                  double min, double max) {
  if (value >= min && value <= max)
    return Status();
  auto text = [](double number) {
    std::ostringstream stream;
    stream << std::setprecision(12) << number;
    return stream.str();
  };
  return Status(ErrorCode::E0003, option.get_name() + " must be from " +
                                      text(min) + " to " + text(max) +
                                      ", got " + text(value));
}

Status CommandOptions::checkWord(const CLI::Option &option,
                                 const std::vector<std::string> &words) {
  if (option.count() == 0 || std::find(words.begin(), words.end(),
                                       option.results().back()) != words.end())
    return Status();
  return Status(ErrorCode::E0001,
                option.get_name() + ": " +
                    describeWrongWord(words, option.results().back()));
}

CommandOptions::Declaration &
CommandOptions::Declaration::needs(const std::string &other) {
  owner.checks.push_back([&app = owner.app, option = option, other] {
    const std::string flag = other.substr(0, other.find(' '));
    return option->count() == 0 || app.count(flag) != 0
               ? Status()
               : Status(ErrorCode::E0002,
                        option->get_name() + " needs " + other);
  });
  return *this;
}

Status CommandOptions::parse(int argc, char **argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return usageStatus(app, error)
        .setHelp("run '" + app.get_name() + " --help'");
  }
  if (const std::optional<std::string> problem = findMisreadNumber(app))
    return Status(ErrorCode::E0001, *problem);
  if (help)
    return Status();
  for (const std::function<Status()> &check : checks)
    if (Status status = check(); !status.ok())
      return status;
  return Status();
}

} // namespace shardc
