//===- SizeExpression.cpp - Sizes as functions of symbols -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A recursive-descent reader of `srepr` that computes as it reads, and a table
// of the functions.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/SizeExpression.h"

#include "compiler/Pt2/ReadFailure.h"
#include "compiler/Pt2/TextCursor.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace shardc::pt2 {

namespace {

using Arguments = std::vector<SizeNumber>;
using Evaluate = SizeNumber (*)(const Arguments &);

SizeNumber sumOf(const Arguments &terms) {
  SizeNumber sum(0);
  for (const SizeNumber &term : terms)
    sum = sum + term;
  return sum;
}

SizeNumber productOf(const Arguments &factors) {
  SizeNumber product(1);
  for (const SizeNumber &factor : factors)
    product = product * factor;
  return product;
}

SizeNumber truncate(const SizeNumber &a) {
  return a < SizeNumber(0) ? ceilingOf(a) : floorOf(a);
}

/// Python's round(): halves go to the even neighbour.
SizeNumber roundToEven(const SizeNumber &a) {
  SizeNumber below = floorOf(a);
  SizeNumber rest = a - below;
  SizeNumber half = SizeNumber::fraction(1, 2);
  bool isOdd = modulo(below, SizeNumber(2)) == SizeNumber(1);
  return rest > half || (rest == half && isOdd) ? below + SizeNumber(1) : below;
}

/// A function and the number of its arguments; -1 for one or more.
struct Function {
  int arity;
  Evaluate evaluate;
};

const std::map<std::string_view, Function> &functions() {
  using A = const Arguments &;
  static const std::map<std::string_view, Function> table = {
      {"Add", {-1, sumOf}},
      {"Mul", {-1, productOf}},
      {"Pow", {2, [](A a) { return power(a[0], a[1]); }}},
      {"PowByNatural", {2, [](A a) { return power(a[0], a[1]); }}},
      {"FloatPow",
       {2,
        [](A a) {
          return SizeNumber::real(std::pow(a[0].toDouble(), a[1].toDouble()));
        }}},
      {"FloorDiv", {2, [](A a) { return floorDivide(a[0], a[1]); }}},
      {"CleanDiv", {2, [](A a) { return floorDivide(a[0], a[1]); }}},
      {"CeilDiv", {2, [](A a) { return ceilingOf(a[0] / a[1]); }}},
      {"Mod", {2, [](A a) { return modulo(a[0], a[1]); }}},
      {"PythonMod", {2, [](A a) { return modulo(a[0], a[1]); }}},
      {"ModularIndexing",
       {3, [](A a) { return modulo(floorDivide(a[0], a[1]), a[2]); }}},
      {"IntTrueDiv",
       {2, [](A a) { return SizeNumber::real((a[0] / a[1]).toDouble()); }}},
      {"FloatTrueDiv",
       {2, [](A a) { return SizeNumber::real((a[0] / a[1]).toDouble()); }}},
      {"Max", {-1, [](A a) { return *std::ranges::max_element(a); }}},
      {"Min", {-1, [](A a) { return *std::ranges::min_element(a); }}},
      {"floor", {1, [](A a) { return floorOf(a[0]); }}},
      {"ceiling", {1, [](A a) { return ceilingOf(a[0]); }}},
      {"FloorToInt", {1, [](A a) { return floorOf(a[0]); }}},
      {"CeilToInt", {1, [](A a) { return ceilingOf(a[0]); }}},
      {"TruncToInt", {1, [](A a) { return truncate(a[0]); }}},
      {"RoundToInt", {1, [](A a) { return roundToEven(a[0]); }}},
      {"ToFloat", {1, [](A a) { return SizeNumber::real(a[0].toDouble()); }}},
      {"Identity", {1, [](A a) { return a[0]; }}},
      {"Abs",
       {1,
        [](A a) {
          return a[0] < SizeNumber(0) ? SizeNumber(0) - a[0] : a[0];
        }}},
      {"OpaqueUnaryFn_sqrt",
       {1, [](A a) { return SizeNumber::real(std::sqrt(a[0].toDouble())); }}},
      {"Where", {3, [](A a) { return a[0].isTrue() ? a[1] : a[2]; }}},
      {"Equality", {2, [](A a) { return SizeNumber(a[0] == a[1]); }}},
      {"Unequality", {2, [](A a) { return SizeNumber(!(a[0] == a[1])); }}},
      {"StrictLessThan", {2, [](A a) { return SizeNumber(a[0] < a[1]); }}},
      {"LessThan", {2, [](A a) { return SizeNumber(a[0] <= a[1]); }}},
      {"StrictGreaterThan", {2, [](A a) { return SizeNumber(a[0] > a[1]); }}},
      {"GreaterThan", {2, [](A a) { return SizeNumber(a[0] >= a[1]); }}},
      {"Not", {1, [](A a) { return SizeNumber(!a[0].isTrue()); }}},
      {"And",
       {-1,
        [](A a) {
          return SizeNumber(std::ranges::all_of(a, &SizeNumber::isTrue));
        }}},
      {"Or", {-1, [](A a) {
                return SizeNumber(std::ranges::any_of(a, &SizeNumber::isTrue));
              }}}};
  return table;
}

/// Reads one expression and computes it.
class ExpressionReader {
public:
  ExpressionReader(std::string_view text, const SymbolValue &symbol)
      : cursor(text), symbol(symbol) {}

  SizeNumber readAll() {
    SizeNumber value = read();
    if (!cursor.atEnd())
      failSyntax();
    return value;
  }

private:
  TextCursor cursor;
  const SymbolValue &symbol;
  size_t depth = 0;

  [[noreturn]] void failSyntax() {
    fail(errors::uncomputableSize,
         "the size expression is malformed at character " +
             std::to_string(cursor.position()));
  }

  void expect(char c) {
    if (!cursor.consume(c))
      failSyntax();
  }

  int64_t readInteger() {
    std::optional<int64_t> value = cursor.readInteger();
    if (!value)
      failSyntax();
    return *value;
  }

  std::string_view readQuoted() {
    std::optional<std::string_view> text = cursor.readQuoted();
    if (!text)
      failSyntax();
    return *text;
  }

  /// `, positive=True, precision=53)`: assumptions do not change values.
  void skipKeywords() {
    while (cursor.consume(',')) {
      if (cursor.readWord().empty())
        failSyntax();
      expect('=');
      if (!cursor.readInteger() && cursor.readWord().empty())
        failSyntax();
    }
    expect(')');
  }

  SizeNumber readFloat() {
    std::string digits(readQuoted());
    skipKeywords();
    char *end = nullptr;
    double value = std::strtod(digits.c_str(), &end);
    if (digits.empty() || *end != '\0')
      failSyntax();
    return SizeNumber::real(value);
  }

  Arguments readArguments() {
    Arguments arguments;
    if (cursor.consume(')'))
      return arguments;
    do
      arguments.push_back(read());
    while (cursor.consume(','));
    expect(')');
    return arguments;
  }

  SizeNumber readCall(std::string_view name) {
    auto function = functions().find(name);
    if (function == functions().end())
      fail(errors::uncomputableSize,
           "the size expression has the unknown function '" +
               std::string(name) + "'");
    Arguments arguments = readArguments();
    int arity = function->second.arity;
    if (arity < 0 ? arguments.empty()
                  : arguments.size() != static_cast<size_t>(arity))
      failSyntax();
    return function->second.evaluate(arguments);
  }

  SizeNumber readNamed(std::string_view name) {
    if (name == "true" || name == "false")
      return SizeNumber(name == "true");
    expect('(');
    if (name == "Symbol") {
      std::string_view text = readQuoted();
      skipKeywords();
      return symbol(text);
    }
    if (name == "Integer") {
      int64_t value = readInteger();
      expect(')');
      return SizeNumber(value);
    }
    if (name == "Rational") {
      int64_t numerator = readInteger();
      expect(',');
      int64_t denominator = readInteger();
      expect(')');
      return SizeNumber::fraction(numerator, denominator);
    }
    return name == "Float" ? readFloat() : readCall(name);
  }

  SizeNumber read() {
    if (++depth > TextCursor::maximumDepth)
      fail(errors::inputLimit,
           "a size expression is nested deeper than the limit of " +
               std::to_string(TextCursor::maximumDepth) + " levels");
    std::string_view name = cursor.readWord();
    if (name.empty())
      failSyntax();
    SizeNumber value = readNamed(name);
    --depth;
    return value;
  }
};

} // namespace

SizeNumber evaluateExpression(std::string_view text,
                              const SymbolValue &symbol) {
  return ExpressionReader(text, symbol).readAll();
}

std::optional<std::string> asSymbol(std::string_view text) {
  TextCursor cursor(text);
  if (cursor.readWord() != "Symbol" || !cursor.consume('('))
    return std::nullopt;
  std::optional<std::string_view> name = cursor.readQuoted();
  // The assumptions have no brackets, so the first one ends the expression.
  if (!name || text.find(')') != text.size() - 1)
    return std::nullopt;
  return std::string(*name);
}

} // namespace shardc::pt2
