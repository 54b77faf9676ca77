//===- CommandLine.h - What all command lines share -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Help pages, and checks that CLI11 lacks. Options of numbers have a type name
// of one letter, such as N.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_COMMAND_LINE_COMMANDLINE_H
#define SHARDC_TOOLS_COMMAND_LINE_COMMANDLINE_H

#include <CLI/CLI.hpp>

#include <string>

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

/// Describes the first argument that `app` did not recognize, with the nearest
/// option.
std::string describeUnknown(const CLI::App &app);

/// The first numeric option of `app` whose value is an empty string, which
/// CLI11 would read as 0; null if there is none.
const CLI::Option *findEmptyNumber(const CLI::App &app);

} // namespace shardc

#endif // SHARDC_TOOLS_COMMAND_LINE_COMMANDLINE_H
