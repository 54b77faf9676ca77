//===- GuardExpression.cpp - The conditions of an export ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Evaluates the Python expressions in which an export states the conditions on
// its inputs' sizes: precedence climbing over `or`, `and`, `not`, comparisons
// and arithmetic. What is not understood is left undecided.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/ReadFailure.h"
#include "compiler/Pt2/SizeExpression.h"
#include "compiler/Pt2/TextCursor.h"

#include <algorithm>

namespace shardc::pt2 {

namespace {

/// Thrown on what this evaluator does not understand.
struct NotUnderstood {};

class GuardReader {
public:
  GuardReader(std::string_view text, const InputValue &input)
      : cursor(text), input(input) {}

  SizeNumber readAll() {
    SizeNumber value = readOr();
    if (!cursor.atEnd())
      throw NotUnderstood();
    return value;
  }

private:
  TextCursor cursor;
  const InputValue &input;
  size_t depth = 0;

  bool consumeWord(std::string_view word) {
    TextCursor ahead = cursor;
    if (ahead.readWord() != word)
      return false;
    cursor = ahead;
    return true;
  }

  void expect(std::string_view token) {
    if (!cursor.consume(token))
      throw NotUnderstood();
  }

  SizeNumber readOr() {
    SizeNumber value = readAnd();
    while (consumeWord("or")) {
      SizeNumber right = readAnd();
      value = SizeNumber(value.isTrue() || right.isTrue());
    }
    return value;
  }

  SizeNumber readAnd() {
    SizeNumber value = readNot();
    while (consumeWord("and")) {
      SizeNumber right = readNot();
      value = SizeNumber(value.isTrue() && right.isTrue());
    }
    return value;
  }

  SizeNumber readNot() {
    bool isNegated = false;
    while (consumeWord("not"))
      isNegated = !isNegated;
    SizeNumber value = readComparison();
    return isNegated ? SizeNumber(!value.isTrue()) : value;
  }

  SizeNumber readComparison() {
    SizeNumber left = readSum();
    // Longer operators first: "<" begins "<=".
    if (cursor.consume("=="))
      return SizeNumber(left == readSum());
    if (cursor.consume("!="))
      return SizeNumber(!(left == readSum()));
    if (cursor.consume("<="))
      return SizeNumber(left <= readSum());
    if (cursor.consume(">="))
      return SizeNumber(left >= readSum());
    if (cursor.consume("<"))
      return SizeNumber(left < readSum());
    if (cursor.consume(">"))
      return SizeNumber(left > readSum());
    return left;
  }

  SizeNumber readSum() {
    SizeNumber value = readProduct();
    for (;;) {
      if (cursor.consume('+'))
        value = value + readProduct();
      else if (cursor.consume('-'))
        value = value - readProduct();
      else
        return value;
    }
  }

  SizeNumber readProduct() {
    SizeNumber value = readPower();
    for (;;) {
      if (cursor.consume("//"))
        value = floorDivide(value, readPower());
      else if (cursor.consume('/'))
        value = value / readPower();
      else if (cursor.consume('%'))
        value = modulo(value, readPower());
      else if (cursor.consume('*'))
        value = value * readPower();
      else
        return value;
    }
  }

  SizeNumber readPower() {
    SizeNumber base = readOperand();
    return cursor.consume("**") ? power(base, readOperand()) : base;
  }

  SizeNumber readOperand() {
    if (++depth > TextCursor::maximumDepth)
      throw NotUnderstood();
    SizeNumber value = readPrimary();
    --depth;
    return value;
  }

  SizeNumber readPrimary() {
    if (cursor.consume('(')) {
      SizeNumber value = readOr();
      expect(")");
      return value;
    }
    if (std::optional<int64_t> integer = cursor.readInteger())
      return SizeNumber(*integer);
    if (cursor.consume('-'))
      return SizeNumber(0) - readOperand();
    std::string_view word = cursor.readWord();
    if (word == "True" || word == "False")
      return SizeNumber(word == "True");
    if (word == "L")
      return readInput();
    if (word == "torch") {
      expect(".");
      word = cursor.readWord();
    }
    if (word == "sym_max" || word == "Max" || word == "max")
      return readExtremum(
          [](const SizeNumber &a, const SizeNumber &b) { return a < b; });
    if (word == "sym_min" || word == "Min" || word == "min")
      return readExtremum(
          [](const SizeNumber &a, const SizeNumber &b) { return a > b; });
    throw NotUnderstood();
  }

  /// `(a, b, …)`, of which the one that `isBefore` puts last is the value.
  template <typename IsBefore>
  SizeNumber readExtremum(IsBefore isBefore) {
    expect("(");
    SizeNumber best = readOr();
    while (cursor.consume(',')) {
      SizeNumber next = readOr();
      if (isBefore(best, next))
        best = next;
    }
    expect(")");
    return best;
  }

  /// `['x'].size()[0]` after `L`.
  SizeNumber readInput() {
    expect("[");
    std::optional<std::string_view> name = cursor.readQuoted();
    if (!name)
      throw NotUnderstood();
    expect("]");
    expect(".");
    std::string_view property = cursor.readWord();
    expect("()[");
    std::optional<int64_t> dimension = cursor.readInteger();
    expect("]");
    if (!dimension)
      throw NotUnderstood();
    std::optional<SizeNumber> value = input(*name, property, *dimension);
    if (!value)
      throw NotUnderstood();
    return *value;
  }
};

} // namespace

std::optional<bool> evaluateGuard(std::string_view text,
                                  const InputValue &input) {
  try {
    return GuardReader(text, input).readAll().isTrue();
  } catch (const NotUnderstood &) {
    return std::nullopt;
  } catch (const ReadFailure &) { // A division by zero, an overflow.
    return std::nullopt;
  }
}

} // namespace shardc::pt2
