//===- RowRulesTest.cpp - operators that treat rows alike -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One node at a time, on tensors of which some have "u0" rows. A rule that
// takes too much would compute a wrong number without a word.
//
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/RowRules.h"

#include "compiler/Pt2/NodeWriter.h"
#include "compiler/Pt2/Selections.h"

#include <gtest/gtest.h>

using namespace shardc::pt2;

namespace {

/// "u0" is 15 rows at most.
constexpr int64_t places = 15;

/// Sizes of tensors: a number, or rows by their symbol.
struct Size {
  Size(int number) : number(number) {}
  Size(const char *symbol)
      : number(RowCount::fromText(symbol).factor * places), symbol(symbol) {}
  int64_t number;
  std::string symbol;
};
using Sizes = std::vector<Size>;

class RowRules : public testing::Test {
protected:
  Graph graph;
  Node node;

  void define(const std::string &name, const Sizes &sizes,
              ScalarType dtype = ScalarType::Float32) {
    TensorMeta meta;
    meta.dtype = dtype;
    for (const Size &size : sizes) {
      meta.sizes.push_back(SymInt{size.number, {}, {}});
      meta.counts.push_back(size.symbol);
    }
    graph.tensorValues.insert_or_assign(name, meta);
  }

  void SetUp() override {
    define("rows", {"u0", 4});
    define("others", {"u1", 4});
    define("columns", {4, "u0"});
    define("batches", {2, "u0", 4});
    define("line", {"u0"});
    define("places", {"u0"}, ScalarType::Int64);
    define("weight", {4, 4});
    define("bias", {4});
    define("table", {30, 4});
    define("tall", {15, 4});
  }

  /// What `target` makes of its arguments, with a result of these sizes.
  RowUse use(const std::string &target, std::vector<NamedArgument> inputs,
             const Sizes &result) {
    node = Node();
    node.target = "torch.ops.aten." + target;
    node.inputs = std::move(inputs);
    node.outputs = {Argument{TensorRef{"result"}}};
    define("result", result);
    return rowUse(graph, node);
  }
};

NamedArgument tensor(std::string name, std::string value) {
  return tensorArgument(std::move(name), std::move(value));
}
NamedArgument tensors(std::string name, std::vector<std::string> values) {
  TensorList list;
  for (std::string &value : values)
    list.push_back(TensorRef{std::move(value)});
  return argument(std::move(name), std::move(list));
}
NamedArgument dim(int64_t value) { return argument("dim", value); }
NamedArgument dims(IntList values) { return argument("dim", values); }

// Operands broadcast with the rows in one place from the right.
TEST_F(RowRules, elementwise) {
  auto add = [&](const char *other, const Sizes &result) {
    return use("add.Tensor", {tensor("self", "rows"), tensor("other", other)},
               result);
  };
  EXPECT_EQ(add("bias", {"u0", 4}), RowUse::Alone);
  EXPECT_EQ(add("rows", {"u0", 4}), RowUse::Alone);
  EXPECT_EQ(add("batches", {2, "u0", 4}), RowUse::Alone);
  // A tensor of as many rows as there are places has none of the mask.
  EXPECT_EQ(add("tall", {"u0", 4}), RowUse::Unknown);
  EXPECT_EQ(add("others", {"u0", 4}), RowUse::Unknown);
}

// Along other dimensions than the rows', counted from either end.
TEST_F(RowRules, mixing_along_a_dimension) {
  for (const char *name : {"softmax.int", "cumsum.default", "sort.default"}) {
    EXPECT_EQ(use(name, {tensor("self", "rows"), dim(1)}, {"u0", 4}),
              RowUse::Alone);
    EXPECT_EQ(use(name, {tensor("self", "rows"), dim(-1)}, {"u0", 4}),
              RowUse::Alone);
    EXPECT_EQ(use(name, {tensor("self", "rows"), dim(0)}, {"u0", 4}),
              RowUse::Unknown);
    EXPECT_EQ(use(name, {tensor("self", "rows"), dim(-2)}, {"u0", 4}),
              RowUse::Unknown);
  }
  EXPECT_EQ(use("amax.default", {tensor("self", "rows"), dims({1})}, {"u0"}),
            RowUse::Alone);
  // Over rows, or over everything.
  EXPECT_EQ(use("amax.default", {tensor("self", "rows"), dims({0})}, {4}),
            RowUse::Unknown);
  EXPECT_EQ(use("amax.default", {tensor("self", "rows")}, {}), RowUse::Unknown);
  EXPECT_EQ(use("std.correction", {tensor("self", "rows"), dims({0})}, {4}),
            RowUse::Unknown);
  // `slice` is along the first dimension if nothing else is said.
  EXPECT_EQ(use("slice.Tensor", {tensor("self", "rows")}, {"u0", 4}),
            RowUse::Unknown);
}

TEST_F(RowRules, sums_and_means) {
  EXPECT_EQ(use("sum.default", {tensor("self", "rows")}, {}), RowUse::Sum);
  EXPECT_EQ(
      use("sum.dim_IntList", {tensor("self", "rows"), dims({-1})}, {"u0"}),
      RowUse::Alone);
  EXPECT_EQ(use("mean.dim", {tensor("self", "batches"), dims({0, 1})}, {4}),
            RowUse::Mean);
  EXPECT_EQ(use("mse_loss.default",
                {tensor("self", "rows"), tensor("target", "rows")}, {}),
            RowUse::ElementLoss);
  EXPECT_EQ(use("mse_loss.default",
                {tensor("self", "rows"), tensor("target", "tall")}, {}),
            RowUse::Unknown);
  EXPECT_EQ(use("cross_entropy_loss.default",
                {tensor("self", "rows"), tensor("target", "places")}, {}),
            RowUse::ClassLoss);
}

TEST_F(RowRules, joining) {
  auto cat = [&](std::vector<std::string> parts, int64_t along,
                 const Sizes &result) {
    return use("cat.default", {tensors("tensors", parts), dim(along)}, result);
  };
  EXPECT_EQ(cat({"rows", "rows"}, 1, {"u0", 8}), RowUse::Alone);
  EXPECT_EQ(cat({"rows", "tall"}, 1, {"u0", 8}), RowUse::Unknown);
  EXPECT_EQ(cat({"rows", "rows"}, 0, {"2*u0", 4}), RowUse::Unknown);
}

// Each row as one or several, in the order of elements.
TEST_F(RowRules, changes_of_shape) {
  auto view = [&](const char *self, const Sizes &result) {
    return use("view.default", {tensor("self", self)}, result);
  };
  EXPECT_EQ(view("rows", {"u0", 2, 2}), RowUse::Alone);
  EXPECT_EQ(view("rows", {"4*u0"}), RowUse::Alone);
  EXPECT_EQ(view("rows", {"2*u0", 2}), RowUse::Alone);
  // The rows come second: the elements of one row are not together.
  EXPECT_EQ(view("columns", {"4*u0"}), RowUse::Unknown);
  EXPECT_EQ(view("columns", {"u0", 4}), RowUse::Unknown);
  EXPECT_EQ(use("t.default", {tensor("self", "columns")}, {"u0", 4}),
            RowUse::Alone);
}

TEST_F(RowRules, products) {
  auto matmul = [&](const char *left, const char *right, const Sizes &result) {
    return use("matmul.default", {tensor("self", left), tensor("other", right)},
               result);
  };
  EXPECT_EQ(matmul("rows", "weight", {"u0", 4}), RowUse::Alone);
  EXPECT_EQ(matmul("weight", "columns", {4, "u0"}), RowUse::Alone);
  EXPECT_EQ(matmul("rows", "bias", {"u0"}), RowUse::Alone);
  // The sum of products is over the rows.
  EXPECT_EQ(matmul("columns", "rows", {4, 4}), RowUse::Unknown);
  EXPECT_EQ(matmul("line", "rows", {4}), RowUse::Unknown);
  EXPECT_EQ(use("linear.default",
                {tensor("input", "rows"), tensor("weight", "weight"),
                 tensor("bias", "bias")},
                {"u0", 4}),
            RowUse::Alone);
  EXPECT_EQ(use("linear.default",
                {tensor("input", "weight"), tensor("weight", "rows")},
                {4, "u0"}),
            RowUse::Unknown);
}

TEST_F(RowRules, indices) {
  EXPECT_EQ(use("index.Tensor",
                {tensor("self", "table"), tensors("indices", {"places"})},
                {"u0", 4}),
            RowUse::Alone);
  EXPECT_EQ(use("index.Tensor",
                {tensor("self", "rows"), tensors("indices", {"places"})},
                {"u0", 4}),
            RowUse::Unknown);
  EXPECT_EQ(use("index_select.default",
                {tensor("self", "table"), dim(0), tensor("index", "places")},
                {"u0", 4}),
            RowUse::Alone);
  EXPECT_EQ(use("index_add.default",
                {tensor("self", "table"), dim(0), tensor("index", "places"),
                 tensor("source", "rows")},
                {30, 4}),
            RowUse::Accumulation);
  EXPECT_EQ(use("embedding.default",
                {tensor("weight", "table"), tensor("indices", "places")},
                {"u0", 4}),
            RowUse::Alone);
}

// An operator that no rule names is refused.
TEST_F(RowRules, unknown_operator) {
  EXPECT_EQ(use("fft_fft.default", {tensor("self", "rows"), dim(1)}, {"u0", 4}),
            RowUse::Unknown);
}

} // namespace
