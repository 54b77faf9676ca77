//===- ExplainCommand.cpp - shardc explain --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Prints the section of docs/Errors.md about an error number. The page is part
// of the program since its build, so there is one text.
//===----------------------------------------------------------------------===//

#include "runtime/format/Status.h"
#include "tools/shardc/Commands.h"

#include <algorithm>
#include <iostream>
#include <memory>

namespace shardc {

/// docs/Errors.md; made by EmbedText.cmake.
extern const char *const errorsPage;

/// "E0103" for "E0103", "e103" and "103"; empty for other strings.
static std::string canonicalNumber(std::string_view text) {
  if (text.starts_with('E') || text.starts_with('e'))
    text.remove_prefix(1);
  constexpr size_t digits = 4;
  bool isNumber =
      std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (text.empty() || text.size() > digits || !isNumber)
    return {};
  return "E" + std::string(digits - text.size(), '0') + std::string(text);
}

/// The section about `number` without the marks of its heading; empty when
/// there is none.
static std::string_view findSection(const std::string &number) {
  const std::string_view page = errorsPage;
  constexpr std::string_view mark = "\n## ";
  size_t start = page.find(std::string(mark) + number + ": ");
  if (start == std::string_view::npos)
    return {};
  start += mark.size();
  return page.substr(start, page.find(mark, start) - start);
}

static int listNumbers() {
  for (ErrorCode code : allErrorCodes())
    std::cout << errorNumber(code) << "  " << errorTitle(code) << "\n";
  return 0;
}

static int runExplain(const std::string &text) {
  if (text.empty())
    return listNumbers();
  std::string number = canonicalNumber(text);
  std::string_view section = findSection(number);
  if (number.empty() || section.empty()) {
    const std::vector<ErrorCode> &codes = allErrorCodes();
    Status error(ErrorCode::E0003, "expected an error number between " +
                                       std::string(errorNumber(codes.front())) +
                                       " and " +
                                       std::string(errorNumber(codes.back())) +
                                       ", got '" + text + "'");
    error.setHelp("'shardc explain' lists all of them");
    std::cerr << render(error, "shardc");
    return exitCode(error.code());
  }
  std::cout << section << (section.ends_with('\n') ? "" : "\n");
  return 0;
}

void addExplainCommand(CLI::App &app, Run &run) {
  CLI::App *command =
      app.add_subcommand("explain", "Explain an error by its number");
  auto number = std::make_shared<std::string>();
  command
      ->add_option("NUMBER", *number,
                   "Error number, such as E0103 (default: list all)")
      ->type_name("E0103");
  command->footer(exitCodes);
  command->callback(
      [number, &run] { run = [=] { return runExplain(*number); }; });
}

} // namespace shardc
