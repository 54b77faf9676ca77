//===- OptionTable.h - The options of a compilation -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One line for each option that is a number, a word or a switch: its flag, its
// key in a configuration file, what values it has. The command line,
// configurations, and what prints either of them read this table.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_OPTIONTABLE_H
#define SHARDC_COMPILER_OPTIONTABLE_H

#include "compiler/Options.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace shardc {

/// The numbers from `min` to `max`, which may be one of them or not.
struct NumberRange {
  double min = 0, max = 0;
  bool hasMax = true;
};

struct OptionEntry {
  std::string_view flag;
  /// "gradients.clip_norm": a section of a configuration and a key in it, or a
  /// key alone; empty for what is no part of one.
  std::string_view key;
  /// Where the help page has it.
  std::string_view group;
  std::variant<double Options::*, int64_t Options::*, bool Options::*,
               std::string Options::*>
      member;
  std::string_view help;
  /// Of numbers.
  NumberRange range = {};
  /// Of texts: the words that one may be; none for texts of another form.
  std::vector<std::string_view> words = {};
  /// What stands for a value of another form on help pages, and what is wrong
  /// with such a text; empty where nothing is.
  std::string_view form = {};
  std::string (*complain)(const std::string &text) = nullptr;
};

/// In the order of help pages.
std::span<const OptionEntry> optionTable();

/// The bytes that a text such as "80GB", "75.5GiB" or "8000000000" means;
/// nothing for another text.
std::optional<int64_t> parseBytes(const std::string &text);

/// What is wrong with a number; NaN is in no range. Else empty.
std::string describeOutOfRange(double value, const NumberRange &range);

/// The value as the command line has it, "true" or "false" of a switch.
std::string valueOf(const OptionEntry &entry, const Options &options);
/// Whether the value is one of the option's, not what stands for "as usual": an
/// empty text or a number out of range.
bool hasValue(const OptionEntry &entry, const Options &options);
/// The shortest text that is read as `number`.
std::string shortest(double number);

/// The options that are not the defaults as words of a command line.
std::vector<std::string> argumentsOf(const Options &options);

} // namespace shardc

#endif // SHARDC_COMPILER_OPTIONTABLE_H
