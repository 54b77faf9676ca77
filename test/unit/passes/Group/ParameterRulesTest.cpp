//===- ParameterRulesTest.cpp - Options of some parameters alone ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a rule may say, and which parameters it holds for.
//===----------------------------------------------------------------------===//

#include "passes/Group/ParameterRules.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace shardc;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::Pair;
using testing::SizeIs;

using Problem = RuleSelection::Problem;

TEST(ParseParameterRules, Text) {
  ParsedRules parsed = parseParameterRules(
      " (?:.*\\.)?bias : weight_decay=0 ; e:weight_decay=1e-2, lr_scale = 2;");
  EXPECT_EQ(parsed.problem, "");
  ASSERT_THAT(parsed.rules, SizeIs(2));
  EXPECT_EQ(parsed.rules[0].pattern, "(?:.*\\.)?bias");
  EXPECT_THAT(parsed.rules[0].options, ElementsAre(Pair("weight_decay", 0.0)));
  EXPECT_EQ(parsed.rules[1].pattern, "e");
  EXPECT_THAT(parsed.rules[1].options,
              ElementsAre(Pair("lr_scale", 2.0), Pair("weight_decay", 0.01)));
  EXPECT_THAT(parseParameterRules("").rules, IsEmpty());
}

TEST(ParseParameterRules, Problems) {
  auto problem = [](const char *text) {
    return parseParameterRules(text).problem;
  };
  EXPECT_EQ(problem("bias"),
            "expected PATTERN:KEY=NUMBER[,KEY=NUMBER], got 'bias'");
  EXPECT_THAT(problem(":weight_decay=0"), HasSubstr("expected PATTERN"));
  EXPECT_EQ(problem("b:lr=1"),
            "expected weight_decay or lr_scale, got 'lr' in 'b:lr=1'");
  EXPECT_EQ(problem("b:lr_scale"),
            "expected KEY=NUMBER, got 'lr_scale' in 'b:lr_scale'");
  for (const char *number : {"", "x", "1x", "-1", "nan", "inf", "1.1e6"})
    EXPECT_THAT(problem(("b:lr_scale=" + std::string(number)).c_str()),
                HasSubstr("expected a number from 0 to 1e6 for lr_scale, got"))
        << number;
  EXPECT_EQ(problem("b:lr_scale=1,lr_scale=2"),
            "lr_scale is there twice in 'b:lr_scale=1,lr_scale=2'");
}

TEST(SelectParameterRules, FirstRuleHoldsForWholeNames) {
  RuleSelection selection = selectParameterRules(
      {{"h.0.bias"}, {"h.0.weight"}, {"head.weight", "wte.weight"}, {"bias"}},
      {{".*\\.bias", {}}, {"h\\.0\\..*", {}}, {"wte.*", {}}});
  EXPECT_EQ(selection.problem, Problem::none);
  EXPECT_THAT(selection.rules, ElementsAre(Optional(0u), Optional(1u),
                                           Optional(2u), std::nullopt));
}

TEST(SelectParameterRules, Problems) {
  RuleSelection none =
      selectParameterRules({{"a"}, {"b"}}, {{"[ab]", {}}, {"b", {}}});
  EXPECT_EQ(none.problem, Problem::noMatch);
  EXPECT_EQ(none.pattern, "b");
  RuleSelection invalid = selectParameterRules({{"a"}}, {{"(", {}}});
  EXPECT_EQ(invalid.problem, Problem::invalidPattern);
  EXPECT_FALSE(invalid.reason.empty());
}
