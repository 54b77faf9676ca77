//===- ModelsTest.cpp - Real exports, whole and damaged -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The committed PyTorch exports through translation and the import phase, and
// the same exports with arguments replaced: whatever a file says, the outcome
// is a program or an error.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/SymbolBindings.h"
#include "test/unit/compiler/Translation/ExportBuilder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <set>

using namespace shardc;
using namespace shardc::translation;
using testing::HasSubstr;
using testing::Not;

static pt2::ExportedModel read(const std::string &name) {
  StatusOr<pt2::ExportedModel> model = pt2::readArchive("test/models/" + name);
  EXPECT_TRUE(model.ok());
  return *model;
}

static size_t count(const std::string &text, const std::string &word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + 1))
    ++found;
  return found;
}

TEST(Models, NanoGpt) {
  Outcome outcome = translate(read("nanogpt.pt2"), /*import=*/true);
  ASSERT_TRUE(outcome.succeeded) << outcome.diagnostics;
  EXPECT_EQ(outcome.diagnostics, "");
  EXPECT_THAT(outcome.module,
              HasSubstr("fsdp.parameter @transformer.wte.weight aliases "
                        "[\"lm_head.weight\"] : tensor<58x48xf32>"));
  EXPECT_EQ(count(outcome.module, "\" : \"Block\""), 4u);
  EXPECT_EQ(count(outcome.module, "aten.linear "), 17u);
  EXPECT_EQ(count(outcome.module, "aten.scaled_dot_product_attention "), 4u);
  // Two reads of one tensor: the embedding and the head.
  EXPECT_EQ(count(outcome.module, "fsdp.read @transformer.wte.weight"), 2u);
}

TEST(Models, ResNet) {
  Outcome outcome = translate(read("resnet.pt2"), /*import=*/true);
  ASSERT_TRUE(outcome.succeeded) << outcome.diagnostics;
  EXPECT_EQ(outcome.diagnostics, "");
  EXPECT_EQ(count(outcome.module, "aten.convolution "), 20u);
  EXPECT_EQ(count(outcome.module, "aten.batch_norm "), 20u);
  // Running mean, running variance and the number of batches of each.
  EXPECT_EQ(count(outcome.module, "fsdp.write "), 60u);
  EXPECT_THAT(outcome.module, HasSubstr("\"ReLU\" call 1 ("));
  EXPECT_THAT(outcome.module, Not(HasSubstr("shardc.modules")));
}

TEST(Models, OldExportWithDropout) {
  Outcome outcome = translate(read("nanogpt-torch-2.6.pt2"), /*import=*/true);
  EXPECT_TRUE(outcome.succeeded) << outcome.diagnostics;
  EXPECT_THAT(outcome.module, HasSubstr("aten.dropout"));
}

TEST(Models, SymbolicSizesAreSpecialized) {
  pt2::ExportedModel model = read("symbolic.pt2");
  ASSERT_TRUE(pt2::bindSymbols(model, {}).ok());
  Outcome outcome = translate(model, /*import=*/true);
  EXPECT_TRUE(outcome.succeeded) << outcome.diagnostics;
}

//===----------------------------------------------------------------------===//
// Damaged exports
//===----------------------------------------------------------------------===//

/// Values that a damaged file could give an argument.
static std::vector<pt2::Argument> replacements() {
  return {none(),
          integer(-1),
          integer(INT64_MAX),
          integers({}),
          integers({-7, 0, 3}),
          integers({0, 0}),
          integers({-1, -1}),
          integers({1 << 30, 1 << 30}),
          integers({1, 1, 1, 1, 1, 1, 1}),
          argument(1e300),
          argument(true),
          argument(std::string("?")),
          argument(pt2::ScalarType::Complex64),
          argument(pt2::TensorList{}),
          tensor("targets"),
          tensor("undefined")};
}

static void damageEveryOperator(const std::string &name) {
  pt2::ExportedModel model = read(name);
  std::set<std::string> seen;
  for (pt2::Node &node : model.program.graph.nodes) {
    if (!seen.insert(node.target).second)
      continue;
    for (pt2::NamedArgument &input : node.inputs)
      for (const pt2::Argument &replacement : replacements()) {
        pt2::Argument original = std::exchange(input.argument, replacement);
        Outcome outcome = translate(model);
        EXPECT_TRUE(outcome.succeeded ||
                    outcome.diagnostics.starts_with("error: E01") ||
                    outcome.diagnostics.starts_with("warning: "))
            << node.target << " " << input.name << ": " << outcome.diagnostics;
        input.argument = original;
      }
  }
}

TEST(Models, DamagedNanoGpt) { damageEveryOperator("nanogpt.pt2"); }

TEST(Models, DamagedResNet) { damageEveryOperator("resnet.pt2"); }

/// Tensors of other ranks, sizes and dtypes than their operators expect.
static void damageEveryType(const std::string &name) {
  pt2::ExportedModel model = read(name);
  std::set<std::string> seen;
  for (const pt2::Node &node : model.program.graph.nodes) {
    if (!seen.insert(node.target).second)
      continue;
    for (const pt2::NamedArgument &input : node.inputs) {
      const auto *reference = input.argument.getIf<pt2::TensorRef>();
      if (!reference)
        continue;
      pt2::TensorMeta &meta = model.program.graph.tensorValues[reference->name];
      const pt2::TensorMeta original = meta;
      std::vector<pt2::SymInt> scalar,
          larger(original.sizes.size() + 3, pt2::SymInt{2, "", ""});
      for (const std::vector<pt2::SymInt> &sizes : {scalar, larger}) {
        meta.sizes = sizes;
        EXPECT_EQ(translate(model).succeeded,
                  sizes.size() == original.sizes.size())
            << node.name << " " << input.name << " " << sizes.size();
      }
      meta = original;
      meta.dtype = pt2::ScalarType::Bool;
      EXPECT_FALSE(translate(model).succeeded)
          << node.name << " " << input.name;
      meta = original;
    }
  }
}

TEST(Models, DamagedTypesOfNanoGpt) { damageEveryType("nanogpt.pt2"); }

TEST(Models, DamagedTypesOfResNet) { damageEveryType("resnet.pt2"); }
