//===- OperatorSchemaTest.cpp - Signatures as PyTorch writes them ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// The parser of operator signatures.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/OperatorSchema.h"

#include "gtest/gtest.h"

using namespace shardc;
using namespace shardc::translation;

TEST(OperatorSchema, TargetNamesTheDefaultOverload) {
  EXPECT_EQ(parseSchema("relu(Tensor self) -> Tensor").target(),
            "torch.ops.aten.relu.default");
  EXPECT_EQ(parseSchema("add.Tensor(Tensor self) -> Tensor").target(),
            "torch.ops.aten.add.Tensor");
}

TEST(OperatorSchema, AliasAnnotations) {
  OperatorSchema schema =
      parseSchema("add_.Tensor(Tensor(a!) self, Tensor other, *, "
                  "Scalar alpha=1) -> Tensor(a!)");
  ASSERT_EQ(schema.parameters.size(), 3u);
  EXPECT_EQ(schema.parameters[0].aliasSet, 'a');
  EXPECT_TRUE(schema.parameters[0].isMutated);
  EXPECT_EQ(schema.parameters[1].aliasSet, 0);
  ASSERT_EQ(schema.results.size(), 1u);
  EXPECT_TRUE(schema.results[0].isMutated);

  SchemaResult pieces =
      parseSchema("split(Tensor(a) self) -> Tensor(a)[]").results.front();
  EXPECT_EQ(pieces.aliasSet, 'a');
  EXPECT_FALSE(pieces.isMutated);
  EXPECT_TRUE(pieces.isList);
}

TEST(OperatorSchema, Defaults) {
  OperatorSchema schema = parseSchema(
      "f(Tensor? weight=None, int[2] stride=1, int[2] kernel=[], "
      "float eps=1e-05, bool ceil=False, str mode='none', int reduction=Mean, "
      "SymInt ignore=-100, Scalar alpha=1) -> Tensor");
  auto value = [&](const char *name) -> const pt2::Argument & {
    return *schema.find(name)->defaultValue;
  };
  EXPECT_TRUE(value("weight").is<pt2::None>());
  EXPECT_EQ(*value("stride").getIf<int64_t>(), 1);
  EXPECT_EQ(schema.find("stride")->listLength, 2);
  EXPECT_TRUE(value("kernel").getIf<pt2::IntList>()->empty());
  EXPECT_EQ(*value("eps").getIf<double>(), 1e-5);
  EXPECT_EQ(*value("ceil").getIf<bool>(), false);
  EXPECT_EQ(*value("mode").getIf<std::string>(), "none");
  EXPECT_EQ(*value("reduction").getIf<int64_t>(), 1);
  EXPECT_EQ(*value("ignore").getIf<int64_t>(), -100);
  EXPECT_EQ(*value("alpha").getIf<int64_t>(), 1);
}

TEST(OperatorSchema, RequiredParametersHaveNoDefault) {
  OperatorSchema schema = parseSchema("f(Tensor self, int dim) -> ()");
  EXPECT_FALSE(schema.find("dim")->defaultValue.has_value());
  EXPECT_EQ(schema.find("other"), nullptr);
  EXPECT_TRUE(schema.results.empty());
}

TEST(OperatorSchema, TupleOfResults) {
  EXPECT_EQ(parseSchema("f(Tensor self) -> (Tensor out, Tensor indices)")
                .results.size(),
            2u);
}
