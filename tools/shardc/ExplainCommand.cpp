//===- ExplainCommand.cpp - shardc explain --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Prints the section of docs/Errors.md about an error number. The page is part
// of the program since its build, so there is one text.
//===----------------------------------------------------------------------===//

#include "runtime/format/Status.h"
#include "tools/command_line/CommandLine.h"
#include "tools/shardc/Commands.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <regex>
#include <sstream>

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

/// "docs/Data.md#tokens" for "[Data.md](Data.md#tokens)", and the same in
/// parentheses after another text.
static std::string withoutLinks(const std::string &text) {
  static const std::regex link("\\[([^\\]]*)\\]\\(([^)]*)\\)");
  std::string result;
  auto rest = text.cbegin();
  for (std::smatch match; std::regex_search(rest, text.cend(), match, link);
       rest = match.suffix().first) {
    result += match.prefix();
    const std::string page = "docs/" + match[2].str();
    result += match[1].str().ends_with(".md")
                  ? page
                  : match[1].str() + " (" + page + ")";
  }
  return result + std::string(rest, text.cend());
}

/// The section in lines of at most 80 columns; tables stay as they are.
static void printSection(std::string_view section) {
  std::istringstream lines{std::string(section)};
  std::string paragraph;
  auto flush = [&] {
    const bool isItem = paragraph.starts_with("- ");
    if (!paragraph.empty())
      std::cout << (isItem ? "- " : "")
                << wrap(withoutLinks(paragraph.substr(isItem ? 2 : 0)),
                        isItem ? 2 : 0)
                << "\n";
    paragraph.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with('|') || line.starts_with("- "))
      flush();
    if (line.empty() || line.starts_with('|'))
      std::cout << line << "\n";
    else
      paragraph += (paragraph.empty() ? "" : " ") + line;
  }
  flush();
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
    Status error(ErrorCode::E0003,
                 number.empty()
                     ? "expected an error number such as E0103, got '" + text +
                           "'"
                     : "there is no error " + number);
    error.setHelp("'shardc explain' lists all errors");
    std::cerr << render(error, "shardc");
    return exitCode(error.code());
  }
  printSection(section);
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
