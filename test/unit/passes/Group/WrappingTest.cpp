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

using Problem = WrapSelection::Problem;

MATCHER_P2(IsGroup, modules, parameters, "") {
  return arg.modules == modules && arg.parameters == parameters;
}

WrappedModules modules(WrappedModules paths) { return paths; }
const WrappedModules root;

/// Groups of `count` parameters of one element.
std::vector<ParameterGroup> groupsOf(size_t count,
                                     std::vector<ParameterUse> uses,
                                     std::vector<WrappedModules> wrapped) {
  return assignGroups({{}, std::move(uses), std::vector<int64_t>(count, 1)},
                      wrapped);
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

// As in torchvision's ViT.
TEST(FindRepeatedBlocks, NamesThatEndInNumbers) {
  EXPECT_THAT(findRepeatedBlocks({{"layers.encoder_layer_0", "EncoderBlock"},
                                  {"layers.encoder_layer_0.mlp", "MLPBlock"},
                                  {"layers.encoder_layer_0.mlp.0", "Linear"},
                                  {"layers.encoder_layer_0.mlp.3", "Linear"},
                                  {"layers.encoder_layer_1", "EncoderBlock"},
                                  {"layers.encoder_layer_1.mlp", "MLPBlock"},
                                  {"norm1", "Norm"},
                                  {"norm2", "Norm"}}),
              ElementsAre("layers.encoder_layer_0", "layers.encoder_layer_1"));
}

// As in torchvision's DenseNet.
TEST(FindRepeatedBlocks, StagesAreMadeOfBlocks) {
  std::vector<CalledModule> modules;
  std::vector<std::string> layers;
  for (const std::string block : {"block1", "block2"}) {
    modules.push_back({block, "DenseBlock"});
    for (const std::string layer : {".layer1", ".layer2", ".layer3"}) {
      layers.push_back(block + layer);
      modules.push_back({layers.back(), "DenseLayer"});
      modules.push_back({layers.back() + ".conv", "Conv2d"});
    }
  }
  EXPECT_EQ(findRepeatedBlocks(modules), layers);
}

TEST(FindRepeatedBlocks, PartsOfBlocksMayBeRepeated) {
  std::vector<CalledModule> modules;
  std::vector<std::string> layers;
  for (const std::string layer : {"layer_0", "layer_1", "layer_2"}) {
    layers.push_back(layer);
    modules.push_back({layer, "Layer"});
    for (const std::string part : {".attn_1", ".attn_2", ".rep.0", ".rep.1"}) {
      modules.push_back({layer + part, "Attention"});
      modules.push_back({layer + part + ".query", "Linear"});
    }
  }
  EXPECT_EQ(findRepeatedBlocks(modules), layers);
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

WrapSelection select(std::vector<CalledModule> called,
                     std::vector<std::string> entries) {
  return selectWrapped({std::move(called), {}, {}}, entries);
}

TEST(SelectWrapped, WholePathsInTheOrderOfModules) {
  WrapSelection selection =
      select({{"h.0", "Block"}, {"h.0.fc", "Linear"}, {"h.1", "Block"}},
             {"h\\.1", "h\\.0"});
  EXPECT_EQ(selection.problem, Problem::none);
  EXPECT_THAT(selection.groups,
              ElementsAre(modules({"h.0"}), modules({"h.1"})));
}

/// "h.0" as a pattern would match "h10" too.
TEST(SelectWrapped, APathIsNoPattern) {
  EXPECT_THAT(select({{"h.0", "Block"}, {"h10", "Block"}}, {"h.0"}).groups,
              ElementsAre(modules({"h.0"})));
}

TEST(SelectWrapped, SeveralModulesTogether) {
  WrapSelection selection = select({{"h.0", "Block"},
                                    {"h.1", "Block"},
                                    {"norm", "Norm"},
                                    {"head", "Linear"}},
                                   {"head&norm", "blocks"});
  EXPECT_EQ(selection.problem, Problem::none);
  EXPECT_THAT(selection.groups, ElementsAre(modules({"h.0"}), modules({"h.1"}),
                                            modules({"norm", "head"})));
}

/// Each row by itself: "encoder.2" and "decoder.0" are no neighbours.
TEST(SelectWrapped, NeighbouringBlocksTogether) {
  const std::vector<CalledModule> called = {
      {"encoder.0", "Block"}, {"encoder.1", "Block"}, {"encoder.2", "Block"},
      {"decoder.0", "Block"}, {"decoder.1", "Block"}, {"head", "Linear"}};
  EXPECT_THAT(select(called, {"blocks:2"}).groups,
              ElementsAre(modules({"encoder.0", "encoder.1"}),
                          modules({"encoder.2"}),
                          modules({"decoder.0", "decoder.1"})));
  EXPECT_THAT(select(called, {"head", "blocks:4"}).groups,
              ElementsAre(modules({"encoder.0", "encoder.1", "encoder.2"}),
                          modules({"decoder.0", "decoder.1"}),
                          modules({"head"})));
  EXPECT_EQ(select(called, {"blocks:1"}).groups,
            select(called, {"blocks"}).groups);
  EXPECT_FALSE(select(called, {"blocks:2"}).joinsNothing);
  const std::vector<CalledModule> inTurns = {
      {"a.0", "A"}, {"b.0", "B"}, {"a.1", "A"}, {"b.1", "B"}};
  EXPECT_TRUE(select(inTurns, {"blocks:2"}).joinsNothing);
  EXPECT_FALSE(select(inTurns, {"blocks"}).joinsNothing);
  for (const char *wrong : {"blocks:", "blocks:0", "blocks:-2", "blocks:2x",
                            "&", "head&", "&head", "encoder.0&&head"})
    EXPECT_EQ(select(called, {wrong}).problem, Problem::invalidEntry) << wrong;
  EXPECT_EQ(select(called, {"auto", "head"}).problem, Problem::invalidEntry);
  EXPECT_EQ(select(called, {"blocks:2", "encoder.1"}).problem,
            Problem::wrappedTwice);
}

/// As FSDP's size_based_auto_wrap_policy: what is inside counts no more.
TEST(SelectWrapped, InnermostModulesOfASize) {
  WrappingProblem problem = {
      {{"a", "A"}, {"a.b", "B"}, {"a.c", "C"}, {"d", "D"}},
      {{0, {"a", "a.b"}}, {1, {"a", "a.c"}}, {2, {"a"}}, {3, {"d"}}},
      {10, 4, 5, 8}};
  EXPECT_THAT(selectWrapped(problem, {">=9"}).groups,
              ElementsAre(modules({"a"}), modules({"a.b"})));
  EXPECT_THAT(selectWrapped(problem, {">=9", "a"}).groups,
              ElementsAre(modules({"a"}), modules({"a.b"})));
  EXPECT_EQ(selectWrapped(problem, {">=x"}).problem, Problem::invalidEntry);
}

TEST(SelectWrapped, OneModuleTwice) {
  WrapSelection selection =
      select({{"norm", "Norm"}, {"head", "Linear"}}, {"norm&head", "n.*"});
  EXPECT_EQ(selection.problem, Problem::wrappedTwice);
  EXPECT_EQ(selection.entry, "n.*");
  EXPECT_EQ(selection.other, "norm&head");
  EXPECT_EQ(selection.module, "norm");
}

TEST(SelectWrapped, FirstPatternWithoutAMatch) {
  WrapSelection selection =
      select({{"h.0", "Block"}}, {"h.0", "fc", "lm_head"});
  EXPECT_EQ(selection.problem, Problem::noMatch);
  EXPECT_EQ(selection.entry, "fc");
  EXPECT_THAT(selection.groups, IsEmpty());
}

TEST(SelectWrapped, InvalidPatternHasAReason) {
  WrapSelection selection = select({{"h.0", "Block"}}, {"h.(0"});
  EXPECT_EQ(selection.problem, Problem::invalidEntry);
  EXPECT_EQ(selection.entry, "h.(0");
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
  EXPECT_THAT(groupsOf(3,
                       {{0, {"a"}}, {1, {"a", "a.b"}}, {2, {"a", "a.b", "x"}}},
                       {{"a"}, {"a.b"}}),
              ElementsAre(IsGroup(modules({"a"}), parameters({0})),
                          IsGroup(modules({"a.b"}), parameters({1, 2})),
                          IsGroup(root, parameters({}))));
}

TEST(AssignGroups, OrderOfFirstUseAndMembersOfDeclaration) {
  EXPECT_THAT(groupsOf(4, {{3, {}}, {2, {"h.1"}}, {1, {"h.1"}}, {0, {"h.0"}}},
                       {{"h.0"}, {"h.1"}}),
              ElementsAre(IsGroup(root, parameters({3})),
                          IsGroup(modules({"h.1"}), parameters({1, 2})),
                          IsGroup(modules({"h.0"}), parameters({0}))));
}

TEST(AssignGroups, ModulesThatAreWrappedTogether) {
  EXPECT_THAT(
      groupsOf(2, {{0, {"norm"}}, {1, {"head"}}}, {{"norm", "head"}}),
      ElementsAre(IsGroup(modules({"norm", "head"}), parameters({0, 1})),
                  IsGroup(root, parameters({}))));
}

TEST(AssignGroups, TiedParameterOfModulesThatAreWrappedTogether) {
  EXPECT_THAT(groupsOf(1, {{0, {"wte"}}, {0, {"head"}}}, {{"wte", "head"}}),
              ElementsAre(IsGroup(modules({"wte", "head"}), parameters({0})),
                          IsGroup(root, parameters({}))));
}

TEST(AssignGroups, TiedParameterGoesToTheCommonAncestor) {
  EXPECT_THAT(
      groupsOf(2, {{0, {"m", "m.a"}}, {1, {"m", "m.a"}}, {0, {"m", "m.b"}}},
               {{"m"}, {"m.a"}}),
      ElementsAre(IsGroup(modules({"m"}), parameters({0})),
                  IsGroup(modules({"m.a"}), parameters({1})),
                  IsGroup(root, parameters({}))));
}

TEST(AssignGroups, TiedParameterWithoutCommonAncestorGoesToTheRoot) {
  EXPECT_THAT(
      groupsOf(2, {{0, {"wte"}}, {0, {"head"}}, {1, {"head"}}}, {{"head"}}),
      ElementsAre(IsGroup(root, parameters({0})),
                  IsGroup(modules({"head"}), parameters({1}))));
}

TEST(AssignGroups, UnusedParameterGoesToTheRoot) {
  EXPECT_THAT(groupsOf(2, {{1, {"a"}}}, {{"a"}}),
              ElementsAre(IsGroup(modules({"a"}), parameters({1})),
                          IsGroup(root, parameters({0}))));
}

TEST(AssignGroups, AWrappedModuleWithoutParametersIsLast) {
  EXPECT_THAT(groupsOf(1, {{0, {}}}, {{"relu"}}),
              ElementsAre(IsGroup(root, parameters({0})),
                          IsGroup(modules({"relu"}), parameters({}))));
}

} // namespace
