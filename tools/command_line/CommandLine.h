//===- CommandLine.h - What all command lines share -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Help pages, and checks that CLI11 lacks. Options of numbers have a type name
// of one letter, such as N.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_COMMAND_LINE_COMMANDLINE_H
#define SHARDC_TOOLS_COMMAND_LINE_COMMANDLINE_H

#include "runtime/format/Status.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardc {

/// Help pages of 80 columns. CLI11 2.1 does not wrap descriptions and prints
/// defaults as part of an option's type; here a default ends the description.
class HelpFormatter : public CLI::Formatter {
public:
  HelpFormatter() {
    column_width(24);
    label("Positionals", "Arguments");
    label("SUBCOMMAND", "COMMAND");
  }

  std::string make_help(const CLI::App *app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_option(const CLI::Option *option,
                          bool isPositional) const override;
};

/// The beginning of a message about a number out of range, which is E0003.
inline constexpr std::string_view outOfRange = "must be ";

/// What is wrong with a command line, in our words: E0001 for what cannot be
/// parsed, E0002 for what is missing, E0003 for a number out of range.
Status usageStatus(const CLI::App &app, const CLI::ParseError &error);

/// `code`, once all that was printed is written; if that fails, the exit code
/// of E0601, which `program` prints.
int flushOutput(int code, const char *program);

/// Of options of uint64_t, for which CLI11 takes the nearest number.
CLI::Validator isUnsigned();

/// What is wrong with a value that is none of some words: "expected a, b or c,
/// got 'd'".
std::string describeWrongWord(const std::vector<std::string> &words,
                              const std::string &got);

/// The words of `text` in lines of at most 80 columns. The first line continues
/// one that is `column` wide; further ones are indented by `column`.
std::string wrap(const std::string &text, size_t column);

/// Describes the first argument that `app` did not recognize, with the nearest
/// option.
std::string describeUnknown(const CLI::App &app);

/// What is wrong with the first numeric option of `app` whose value CLI11 reads
/// as another number than it looks like: nothing as 0, 010 as 8, 0x10 as 16.
std::optional<std::string> findMisreadNumber(const CLI::App &app);

} // namespace shardc

#endif // SHARDC_TOOLS_COMMAND_LINE_COMMANDLINE_H
