//===- WrappingTest.cpp - Tests of the grouping decision ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Module trees of the shapes that models have, reduced to paths.
//===----------------------------------------------------------------------===//

#include "passes/Group/Wrapping.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace shardc;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

using Problem = PatternSelection::Problem;

MATCHER_P2(IsGroup, module, parameters, "") {
  return arg.module == module && arg.parameters == parameters;
}

std::vector<size_t> parameters(std::vector<size_t> indices) { return indices; }

//===----------------------------------------------------------------------===//
// Repeated blocks
//===----------------------------------------------------------------------===//

TEST(FindRepeatedBlocks, TransformerLayers) {
  EXPECT_THAT(findRepeatedBlocks({{"transformer.wte", "Embedding"},
                                  {"transformer.h.0", "Block"},
                                  {"transformer.h.0.attn", "Attention"},
                                  {"transformer.h.1", "Block"},
                                  {"lm_head", "Linear"}}),
              ElementsAre("transformer.h.0", "transformer.h.1"));
}

TEST(FindRepeatedBlocks, EveryStageOfAResNet) {
  EXPECT_THAT(findRepeatedBlocks({{"layer1", "Sequential"},
                                  {"layer1.0", "BasicBlock"},
                                  {"layer1.1", "BasicBlock"},
                                  {"layer2", "Sequential"},
                                  {"layer2.0", "BasicBlock"},
                                  {"layer2.0.downsample.0", "Conv2d"},
                                  {"layer2.0.downsample.1", "BatchNorm2d"},
                                  {"layer2.1", "BasicBlock"}}),
              ElementsAre("layer1.0", "layer1.1", "layer2.0", "layer2.1"));
}

TEST(FindRepeatedBlocks, OutermostRepetitionOnly) {
  EXPECT_THAT(findRepeatedBlocks({{"layers.0", "Block"},
                                  {"layers.0.mlp.0", "Linear"},
                                  {"layers.0.mlp.2", "Linear"},
                                  {"layers.1", "Block"}}),
              ElementsAre("layers.0", "layers.1"));
}

TEST(FindRepeatedBlocks, OneLayerIsNoRepetition) {
  EXPECT_THAT(findRepeatedBlocks({{"h.0", "Block"}, {"h.0.fc", "Linear"}}),
              IsEmpty());
}

TEST(FindRepeatedBlocks, SiblingsOfDifferentClassesAreNoRepetition) {
  EXPECT_THAT(findRepeatedBlocks({{"net.0", "Linear"}, {"net.1", "ReLU"}}),
              IsEmpty());
}

TEST(FindRepeatedBlocks, ARootThatIsASequence) {
  EXPECT_THAT(
      findRepeatedBlocks({{"0", "Block"}, {"1", "Block"}, {"2", "Linear"}}),
      ElementsAre("0", "1"));
}

TEST(FindRepeatedBlocks, NamesWithDigitsAreNoIntegers) {
  EXPECT_THAT(findRepeatedBlocks(
                  {{"fc1", "Linear"}, {"fc2", "Linear"}, {"a.b1", "Linear"}}),
              IsEmpty());
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

TEST(SplitPatterns, CommasBetweenPatterns) {
  EXPECT_THAT(splitPatterns("wte,h\\.[0-9]+,,lm_head"),
              ElementsAre("wte", "h\\.[0-9]+", "lm_head"));
  EXPECT_THAT(splitPatterns(""), IsEmpty());
}

TEST(SplitPatterns, CommasInsideOfBracketsStay) {
  EXPECT_THAT(splitPatterns("h\\.\\d{1,2},(a,b)[,]"),
              ElementsAre("h\\.\\d{1,2}", "(a,b)[,]"));
}

TEST(SplitPatterns, AnEscapedBracketOpensNothing) {
  EXPECT_THAT(splitPatterns("a\\(,b"), ElementsAre("a\\(", "b"));
}

TEST(SelectByPatterns, WholePathsInTheOrderOfModules) {
  PatternSelection selection = selectByPatterns(
      {{"h.0", "Block"}, {"h.0.fc", "Linear"}, {"h.1", "Block"}},
      {"h\\.1", "h\\.[0-9]"});
  EXPECT_EQ(selection.problem, Problem::none);
  EXPECT_THAT(selection.paths, ElementsAre("h.0", "h.1"));
}

TEST(SelectByPatterns, FirstPatternWithoutAMatch) {
  PatternSelection selection =
      selectByPatterns({{"h.0", "Block"}}, {"h.0", "fc", "lm_head"});
  EXPECT_EQ(selection.problem, Problem::noMatch);
  EXPECT_EQ(selection.pattern, "fc");
  EXPECT_THAT(selection.paths, IsEmpty());
}

TEST(SelectByPatterns, InvalidPatternHasAReason) {
  PatternSelection selection = selectByPatterns({{"h.0", "Block"}}, {"h.(0"});
  EXPECT_EQ(selection.problem, Problem::invalidPattern);
  EXPECT_EQ(selection.pattern, "h.(0");
  EXPECT_FALSE(selection.reason.empty());
}

TEST(ClosestPaths, ByEditDistance) {
  std::vector<CalledModule> modules = {{"transformer.wte", "Embedding"},
                                       {"transformer.h.0", "Block"},
                                       {"lm_head", "Linear"}};
  EXPECT_THAT(closestPaths(modules, "transformer.h.9", 2),
              ElementsAre("transformer.h.0", "transformer.wte"));
  EXPECT_THAT(closestPaths({}, "h", 2), IsEmpty());
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

TEST(AssignGroups, InnermostWrappedModule) {
  EXPECT_THAT(
      assignGroups(3, {{0, {"a"}}, {1, {"a", "a.b"}}, {2, {"a", "a.b", "x"}}},
                   {"a", "a.b"}),
      ElementsAre(IsGroup("a", parameters({0})),
                  IsGroup("a.b", parameters({1, 2})),
                  IsGroup("", parameters({}))));
}

TEST(AssignGroups, OrderOfFirstUseAndMembersOfDeclaration) {
  EXPECT_THAT(assignGroups(4,
                           {{3, {}}, {2, {"h.1"}}, {1, {"h.1"}}, {0, {"h.0"}}},
                           {"h.0", "h.1"}),
              ElementsAre(IsGroup("", parameters({3})),
                          IsGroup("h.1", parameters({1, 2})),
                          IsGroup("h.0", parameters({0}))));
}

TEST(AssignGroups, TiedParameterGoesToTheCommonAncestor) {
  EXPECT_THAT(
      assignGroups(2, {{0, {"m", "m.a"}}, {1, {"m", "m.a"}}, {0, {"m", "m.b"}}},
                   {"m", "m.a", "m.b"}),
      ElementsAre(IsGroup("m", parameters({0})),
                  IsGroup("m.a", parameters({1})),
                  IsGroup("", parameters({}))));
}

TEST(AssignGroups, TiedParameterWithoutCommonAncestorGoesToTheRoot) {
  EXPECT_THAT(
      assignGroups(1, {{0, {"wte"}}, {0, {"lm_head"}}}, {"wte", "lm_head"}),
      ElementsAre(IsGroup("", parameters({0}))));
}

TEST(AssignGroups, UnusedParameterGoesToTheRoot) {
  EXPECT_THAT(
      assignGroups(2, {{1, {"a"}}}, {"a"}),
      ElementsAre(IsGroup("a", parameters({1})), IsGroup("", parameters({0}))));
}

TEST(AssignGroups, AWrappedModuleWithoutParametersHasNoGroup) {
  EXPECT_THAT(assignGroups(1, {{0, {}}}, {"relu"}),
              ElementsAre(IsGroup("", parameters({0}))));
}

} // namespace
