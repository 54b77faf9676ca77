//===- CommandOptions.h - Options of shardrun, with what they allow -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each option is declared once: its flag, where its value goes, its help, its
// range or words, and which option it needs. CLI11 parses them; ranges, words
// and needs are checked when all values are known.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_SHARDRUN_COMMANDOPTIONS_H
#define SHARDC_TOOLS_SHARDRUN_COMMANDOPTIONS_H

#include "runtime/format/Status.h"
#include "tools/command_line/CommandLine.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace shardc {

/// The options of one command. What values are read into outlives it.
class CommandOptions {
public:
  /// Declares `--help` and formats the help page.
  explicit CommandOptions(CLI::App &app);

  /// Sets the group of the help page that options are added to from now on.
  void startGroup(const char *name) { group = name; }

  /// One declared option, to say more of it.
  class Declaration {
  public:
    Declaration(CommandOptions &owner, CLI::Option *option)
        : owner(owner), option(option) {}

    /// Takes numbers from `min` to `max`; others fail with E0003.
    template <typename Number>
    Declaration &inRange(const Number &value, double min, double max) {
      owner.checks.push_back([option = option, &value, min, max] {
        return option->count() == 0
                   ? Status()
                   : checkRange(*option, double(value), min, max);
      });
      return *this;
    }
    template <typename Number>
    Declaration &inRange(const std::optional<Number> &value, double min,
                         double max) {
      owner.checks.push_back([option = option, &value, min, max] {
        return value ? checkRange(*option, double(*value), min, max) : Status();
      });
      return *this;
    }

    /// Fails with E0002 where the option is given without `other`, an option
    /// with its argument: "--save FILE".
    Declaration &needs(const std::string &other);

    /// Shows the default on the help page.
    Declaration &showDefault() {
      option->capture_default_str();
      return *this;
    }

  private:
    CommandOptions &owner;
    CLI::Option *option;
  };

  /// An option with a value, `type` on the help page. Whole numbers may be
  /// written as 1e3.
  template <typename T>
  Declaration add(const char *flag, T &value, const char *type,
                  const char *help) {
    CLI::Option *option = app.add_option(flag, value, help);
    if constexpr (std::is_integral_v<T> ||
                  std::is_same_v<T, std::optional<int64_t>>)
      option->transform(CLI::Validator(spellOut, ""));
    if constexpr (std::is_same_v<T, uint64_t> ||
                  std::is_same_v<T, std::optional<uint64_t>>)
      option->check(isUnsigned());
    return declare(option->type_name(type));
  }

  /// An option that is one of some words, the first of which is the default;
  /// others fail with E0001.
  template <typename T>
  Declaration addWords(const char *flag, T &value,
                       std::vector<std::pair<std::string, T>> words,
                       const char *help) {
    std::vector<std::string> names;
    for (const auto &[word, meaning] : words)
      names.push_back(word);
    CLI::Option *option =
        app.add_option_function<std::string>(
               flag,
               [&value, words = std::move(words)](const std::string &text) {
                 for (const auto &[word, meaning] : words)
                   if (word == text)
                     value = meaning;
               },
               help)
            ->type_name(CLI::detail::join(names, "|"))
            ->default_str(names.front());
    checks.push_back([option, names] { return checkWord(*option, names); });
    return declare(option);
  }

  /// A switch, which sets its value to `meaning`.
  Declaration addFlag(const char *flag, bool &value, const char *help,
                      bool meaning = true) {
    return declare(app.add_flag_callback(
        flag, [&value, meaning] { value = meaning; }, help));
  }

  /// Parses the arguments, all but the first of `argv`, and checks values.
  /// Fails with E0001, E0002 or E0003. After --help nothing is checked.
  Status parse(int argc, char **argv);

  bool wantsHelp() const { return help; }

private:
  Declaration declare(CLI::Option *option) {
    return {*this, option->group(group)};
  }
  static std::string spellOut(std::string &text);
  static Status checkRange(const CLI::Option &option, double value, double min,
                           double max);
  static Status checkWord(const CLI::Option &option,
                          const std::vector<std::string> &words);

  CLI::App &app;
  const char *group = "Options";
  bool help = false;
  std::vector<std::function<Status()>> checks;
};

} // namespace shardc

#endif // SHARDC_TOOLS_SHARDRUN_COMMANDOPTIONS_H
