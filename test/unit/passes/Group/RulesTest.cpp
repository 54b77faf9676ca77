//===- RulesTest.cpp - What holds for some modules or parameters ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a rule may say, and for whom it holds.
//===----------------------------------------------------------------------===//

#include "passes/Group/Rules.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace shardc;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

using Problem = RuleSelection::Problem;

static ParsedRules parseParameters(const char *text) {
  return parseRules(text, parameterRuleKeys());
}

TEST(ParseRules, Text) {
  ParsedRules parsed = parseParameters(
      " (?:.*\\.)?bias : weight_decay=0 ; e:weight_decay=1e-2, lr_scale = 2;");
  EXPECT_EQ(parsed.problem, "");
  ASSERT_THAT(parsed.rules, SizeIs(2));
  EXPECT_EQ(parsed.rules[0].pattern, "(?:.*\\.)?bias");
  EXPECT_THAT(parsed.rules[0].settings, ElementsAre(Pair("weight_decay", "0")));
  EXPECT_EQ(parsed.rules[1].pattern, "e");
  EXPECT_THAT(parsed.rules[1].settings,
              ElementsAre(Pair("lr_scale", "2"), Pair("weight_decay", "1e-2")));
  EXPECT_THAT(parseParameters("").rules, IsEmpty());
}

TEST(PatternOfNames, MatchesThemAlone) {
  const std::vector<std::string> names = {"layers.0", "layers.12", "head",
                                          "m.3.b",    "m.4.b",     "a+b.1"};
  const std::string pattern = patternOfNames(names);
  EXPECT_EQ(pattern, R"(layers\.(0|12)|head|m\.(3|4)\.b|a\+b\.1)");
  const std::vector<Rule> rules = {{pattern, {{"weight_decay", "0"}}}};
  std::vector<std::vector<std::string>> subjects;
  for (const char *other : {"layers.1", "layers.01", "head.x", "m.3", "aab.1"})
    subjects.push_back({other});
  EXPECT_EQ(selectRules(subjects, rules).problem, Problem::noMatch);
  for (const std::string &name : names)
    subjects.push_back({name});
  const RuleSelection selection = selectRules(subjects, rules);
  for (size_t i = 0; i < subjects.size(); ++i)
    EXPECT_EQ(selection.chosen[i].size(), i < 5 ? 0u : 1u) << subjects[i][0];
}

TEST(ParseRules, TheRootHasNoName) {
  ParsedRules parsed =
      parseRules(":reshard_after_forward=never", moduleRuleKeys());
  EXPECT_EQ(parsed.problem, "");
  ASSERT_THAT(parsed.rules, SizeIs(1));
  EXPECT_EQ(parsed.rules[0].pattern, "");
}

TEST(ParseRules, Problems) {
  auto problem = [](const char *text) { return parseParameters(text).problem; };
  EXPECT_EQ(problem("bias"),
            "expected PATTERN:KEY=VALUE[,KEY=VALUE], got 'bias'");
  EXPECT_EQ(
      problem("b:lr_sale=1"),
      "unknown key 'lr_sale'; did you mean 'lr_scale'? (keys: "
      "weight_decay, lr_scale, optimizer, frozen, ignored) in 'b:lr_sale=1'");
  EXPECT_EQ(problem("b:lr_scale"),
            "expected KEY=VALUE, got 'lr_scale' in 'b:lr_scale'");
  for (const char *number : {"", "x", "1x", "-1", "nan", "inf", "1.1e6"})
    EXPECT_THAT(problem(("b:lr_scale=" + std::string(number)).c_str()),
                HasSubstr("expected a number from 0 to 1e6 for lr_scale, got"))
        << number;
  EXPECT_EQ(problem("b:lr_scale=1,lr_scale=2"),
            "lr_scale is there twice in 'b:lr_scale=1,lr_scale=2'");
  EXPECT_THAT(parseRules(".*:param_dtype=fp8", moduleRuleKeys()).problem,
              HasSubstr("expected f32, bf16, f16 or none for param_dtype, "
                        "got 'fp8'"));
}

TEST(ParseRules, TakesPyTorchsWords) {
  const ParsedRules parsed =
      parseRules("a:param_dtype=torch.bfloat16,reduce_dtype=fp32,"
                 "reshard_after_forward=True; b:reshard_after_forward=false",
                 moduleRuleKeys());
  EXPECT_EQ(parsed.problem, "");
  EXPECT_EQ(printRules(parsed.rules),
            "a:param_dtype=bf16,reduce_dtype=f32,reshard_after_forward=always;"
            "b:reshard_after_forward=never");
}

TEST(PrintRules, IsReadAgain) {
  std::vector<Rule> rules = {
      {"h\\.[0-9]+", {{"param_dtype", "bf16"}}},
      {"", {{"output_dtype", "f32"}, {"reshard_after_forward", "never"}}}};
  EXPECT_EQ(printRules(rules), "h\\.[0-9]+:param_dtype=bf16;:output_dtype=f32,"
                               "reshard_after_forward=never");
  EXPECT_EQ(parseRules(printRules(rules), moduleRuleKeys()).rules, rules);
  EXPECT_EQ(printRules({{"a;b", {{"frozen", "true"}}}}), "a\\x3bb:frozen=true");
}

/// The values that hold for each subject.
static std::vector<std::map<std::string, std::string>>
valuesOf(const std::vector<std::vector<std::string>> &names,
         const std::vector<Rule> &rules) {
  RuleSelection selection = selectRules(names, rules);
  EXPECT_EQ(selection.problem, Problem::none);
  std::vector<std::map<std::string, std::string>> values;
  for (const auto &chosen : selection.chosen) {
    auto &all = values.emplace_back();
    for (const auto &[key, rule] : chosen)
      all[key] = rules[rule].settings.at(key);
  }
  return values;
}

TEST(SelectRules, TheLastRuleHoldsForEachKeyOfWholeNames) {
  EXPECT_THAT(valuesOf({{"h.0.bias"},
                        {"h.0.weight"},
                        {"head.weight", "wte.weight"},
                        {"bias"}},
                       {{"h\\.0\\..*", {{"a", "1"}, {"b", "1"}}},
                        {".*\\.bias", {{"a", "2"}}},
                        {"wte.*", {{"a", "3"}}}}),
              ElementsAre(ElementsAre(Pair("a", "2"), Pair("b", "1")),
                          ElementsAre(Pair("a", "1"), Pair("b", "1")),
                          ElementsAre(Pair("a", "3")), IsEmpty()));
}

/// "h.1" as a pattern would match "h01" too.
TEST(SelectRules, AWholeNameWinsOverPatterns) {
  EXPECT_THAT(
      valuesOf({{"h.1"}, {"h01"}},
               {{"h.1", {{"a", "1"}}}, {"h.*", {{"a", "2"}}}}),
      ElementsAre(ElementsAre(Pair("a", "1")), ElementsAre(Pair("a", "2"))));
}

TEST(SelectRules, Problems) {
  RuleSelection none = selectRules({{"a"}, {"b"}}, {{"[ab]", {}}, {"c", {}}});
  EXPECT_EQ(none.problem, Problem::noMatch);
  EXPECT_EQ(none.rule, 1u);
  RuleSelection invalid = selectRules({{"a"}}, {{"(", {}}});
  EXPECT_EQ(invalid.problem, Problem::invalidPattern);
  EXPECT_FALSE(invalid.reason.empty());
}

TEST(SelectRules, Contradictions) {
  std::vector<std::vector<std::string>> names = {{"norm", "head"}, {"h"}};
  auto contradicts = [&](const std::vector<Rule> &rules) {
    RuleSelection selection = selectRules(names, rules);
    EXPECT_TRUE(selection.problem != Problem::contradiction ||
                (selection.other == 0 && selection.rule == 1 &&
                 selection.reason == "k"));
    return selection.problem == Problem::contradiction;
  };
  // The two modules of one group.
  EXPECT_TRUE(contradicts({{"norm", {{"k", "1"}}}, {"head", {{"k", "2"}}}}));
  EXPECT_TRUE(contradicts({{"h.*", {{"k", "1"}}}, {"h.*", {{"k", "2"}}}}));
  EXPECT_FALSE(contradicts({{"norm", {{"k", "1"}}}, {"head", {{"k", "1"}}}}));
  EXPECT_FALSE(contradicts({{"h.*", {{"k", "1"}}}, {".*", {{"k", "2"}}}}));
  EXPECT_FALSE(contradicts({{"h", {{"k", "1"}}}, {"norm", {{"k", "2"}}}}));
}
