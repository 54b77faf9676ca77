//===- SizeExpressionTest.cpp - Sizes as functions of symbols -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The evaluator against sympy: test/models/size_expressions.json has
// expressions as torch writes them and the values that sympy computes.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/SizeExpression.h"

#include "compiler/Pt2/JsonDocument.h"
#include "compiler/Pt2/ReadFailure.h"
#include "test/unit/compiler/Pt2/ArchiveEditor.h"

#include <gmock/gmock.h>

using namespace shardc;
using namespace shardc::pt2;

namespace {

/// Evaluates `text` with s0 = 10 and s1 = 4.
StatusOr<SizeNumber> evaluate(std::string_view text) {
  return catchFailure<SizeNumber>([&] {
    return evaluateExpression(text, [](std::string_view name) {
      return SizeNumber(name == "s0" ? 10 : 4);
    });
  });
}

ErrorCode errorOf(std::string_view text) {
  StatusOr<SizeNumber> value = evaluate(text);
  if (value.ok())
    throw std::runtime_error("got " + value->toText());
  return value.status().code();
}

// Every function that torch uses for sizes has the value that torch gives it.
TEST(Pt2SizeExpression, AgreesWithSympy) {
  const std::string path = "test/models/size_expressions.json";
  Json cases = parseJson(readFile(path), path);
  ASSERT_GE(cases.size(), 30U);
  for (const Json &each : cases)
    for (const Json &row : each["values"]) {
      auto expression = each["expression"].get<std::string>();
      SizeNumber value =
          evaluateExpression(expression, [&](std::string_view symbol) {
            return SizeNumber(row[symbol == "s0" ? 0 : 1].get<int64_t>());
          });
      EXPECT_EQ(value.toDouble(), row[2].get<double>())
          << expression << " at " << row.dump();
    }
}

// Fractions stay exact where doubles would round: a third of 3*(2^60 + 1).
TEST(Pt2SizeExpression, ComputesExactly) {
  StatusOr<SizeNumber> value =
      evaluate("Mul(Rational(1, 3), Integer(3458764513820540931))");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->toInteger(), 1152921504606846977);
  EXPECT_EQ(evaluate("Mul(Rational(1, 4), Symbol('s0'))")->toInteger(),
            std::nullopt);
  EXPECT_EQ(evaluate("Mul(Rational(1, 4), Symbol('s0'))")->toText(), "5/2");
  EXPECT_EQ(evaluate("Pow(Symbol('s1'), Integer(-2))")->toText(), "1/16");
}

TEST(Pt2SizeExpression, HasNoValueBeyond64Bits) {
  EXPECT_EQ(errorOf("Mul(Integer(9223372036854775807), Symbol('s1'))"),
            ErrorCode::E0141);
  EXPECT_EQ(errorOf("Pow(Symbol('s0'), Integer(1000000000))"),
            ErrorCode::E0141);
  EXPECT_EQ(errorOf("Integer(99999999999999999999)"), ErrorCode::E0141);
  EXPECT_EQ(errorOf("FloorToInt(FloatPow(Float('1e300'), Integer(1)))"),
            ErrorCode::E0141);
}

TEST(Pt2SizeExpression, HasNoValueForADivisionByZero) {
  for (const char *text :
       {"FloorDiv(Symbol('s0'), Integer(0))", "Rational(1, 0)",
        "Mod(Symbol('s0'), Integer(0))", "Pow(Integer(0), Integer(-1))",
        "FloatTrueDiv(Float('1.0', precision=53), Float('0.0', precision=53))"})
    EXPECT_EQ(errorOf(text), ErrorCode::E0141) << text;
}

TEST(Pt2SizeExpression, RefusesWhatIsMalformed) {
  for (const char *text :
       {"", "Add(", "Add()", "Add(Integer(1)", "Add(Integer(1)) 2",
        "Integer('1')", "Symbol(s0)", "Symbol('s0", "Mod(Integer(1))",
        "Symbol('s0', positive)", "Float('x', precision=53)", "1 + 1",
        "Lambda(Integer(1))"})
    EXPECT_EQ(errorOf(text), ErrorCode::E0141) << text;
}

TEST(Pt2SizeExpression, RefusesDeepNesting) {
  std::string text;
  for (int i = 0; i < 100000; ++i)
    text += "Add(";
  EXPECT_EQ(errorOf(text), ErrorCode::E0106);
}

TEST(Pt2SizeExpression, RecognisesPlainSymbols) {
  EXPECT_EQ(asSymbol("Symbol('s77', positive=True, integer=True)"), "s77");
  EXPECT_EQ(asSymbol("Add(Symbol('s77'), Integer(1))"), std::nullopt);
  EXPECT_EQ(asSymbol(""), std::nullopt);
}

/// Evaluates a guard; input "x" has sizes 10, 4 and strides 4, 1.
std::optional<bool> holds(std::string_view text) {
  return evaluateGuard(text,
                       [](std::string_view input, std::string_view property,
                          int64_t dimension) -> std::optional<SizeNumber> {
                         if (input != "x" || dimension > 1)
                           return std::nullopt;
                         if (property == "size")
                           return SizeNumber(dimension == 0 ? 10 : 4);
                         return SizeNumber(dimension == 0 ? 4 : 1);
                       });
}

// Conditions are Python expressions over the inputs' sizes.
TEST(Pt2SizeExpression, EvaluatesGuards) {
  EXPECT_EQ(holds("(8*L['x'].size()[0]) == (20*L['x'].size()[1])"), true);
  EXPECT_EQ(holds("(1 + (((-1) + L['x'].size()[1]) // 2)) != 2"), false);
  EXPECT_EQ(holds("(3*torch.sym_max(1, L['x'].size()[0] // 4)) == 6"), true);
  EXPECT_EQ(holds("torch.sym_min(7, L['x'].size()[1]) <= 3"), false);
  EXPECT_EQ(holds("L['x'].stride()[0] >= 2 and not L['x'].size()[0] < 3"),
            true);
  EXPECT_EQ(holds("L['x'].size()[0] % 3 == 1 or 1/0 == 2"), std::nullopt);
  EXPECT_EQ(holds("2**3 - 1 > -L['x'].size()[0] / 4"), true);
  EXPECT_EQ(holds("L['x'].size()[0] - 3 - 2 == 5"), true);
}

// What the evaluator does not know is undecided, never true.
TEST(Pt2SizeExpression, LeavesUnknownGuardsUndecided) {
  for (const char *text :
       {"L['y'].size()[0] == 3", "L['x'].size()[7] == 3",
        "L['x'][0].size()[0] == 3", "isinstance(L['x'], int)",
        "L['x'].size()[0] == ", "(1 == 1", "1 == 1 1", ""})
    EXPECT_EQ(holds(text), std::nullopt) << text;
  EXPECT_EQ(holds(std::string(100000, '(')), std::nullopt);
  EXPECT_EQ(holds(std::string(100000, '-')), std::nullopt);
}

} // namespace
