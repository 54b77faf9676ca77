//===- TextCursor.h - Reads small expressions -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The tokens that sympy's `srepr` and Python's expressions share: words,
// integers, quoted names and single characters, with blanks between them.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_TEXTCURSOR_H
#define SHARDC_COMPILER_PT2_TEXTCURSOR_H

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace shardc::pt2 {

class TextCursor {
public:
  /// Deepest nesting of brackets that the readers of expressions follow.
  static constexpr size_t maximumDepth = 200;

  explicit TextCursor(std::string_view text) : text(text) {}

  size_t position() const { return next; }

  bool atEnd() {
    skipBlanks();
    return next == text.size();
  }

  /// Moves past `token` when it comes next.
  bool consume(std::string_view token) {
    skipBlanks();
    if (!text.substr(next).starts_with(token))
      return false;
    next += token.size();
    return true;
  }
  bool consume(char c) { return consume(std::string_view(&c, 1)); }

  /// Letters, digits and underscores that begin with no digit; empty when
  /// something else comes next.
  std::string_view readWord() {
    skipBlanks();
    size_t start = next;
    while (next < text.size() &&
           (isLetter(text[next]) || (next > start && isDigit(text[next]))))
      ++next;
    return text.substr(start, next - start);
  }

  /// An integer with its sign; empty when none comes next or it has more than
  /// 64 bits.
  std::optional<int64_t> readInteger() {
    skipBlanks();
    int64_t value = 0;
    const char *end = text.data() + text.size();
    auto [rest, error] = std::from_chars(text.data() + next, end, value);
    if (error != std::errc())
      return std::nullopt;
    next = static_cast<size_t>(rest - text.data());
    return value;
  }

  /// The text between two single quotes.
  std::optional<std::string_view> readQuoted() {
    if (!consume('\''))
      return std::nullopt;
    size_t end = text.find('\'', next);
    if (end == std::string_view::npos)
      return std::nullopt;
    std::string_view quoted = text.substr(next, end - next);
    next = end + 1;
    return quoted;
  }

private:
  std::string_view text;
  size_t next = 0;

  static bool isDigit(char c) { return c >= '0' && c <= '9'; }
  static bool isLetter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  void skipBlanks() {
    while (next < text.size() && text[next] == ' ')
      ++next;
  }
};

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_TEXTCURSOR_H
