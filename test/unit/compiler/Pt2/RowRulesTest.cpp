//===- RowRulesTest.cpp - Operators that treat rows alike -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One node at a time, on tensors of which some have "u0" rows. A rule that
// takes too much would compute a wrong number without a word.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/RowRules.h"

#include "compiler/Pt2/NodeWriter.h"
#include "compiler/Pt2/Selections.h"

#include <gtest/gtest.h>

#include <limits>

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
TEST_F(RowRules, Elementwise) {
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
TEST_F(RowRules, MixingAlongADimension) {
  for (const char *name :
       {"cummax.default", "cumsum.default", "sort.default"}) {
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
  EXPECT_EQ(use("argmax.default", {tensor("self", "rows"), dim(0)}, {4}),
            RowUse::Unknown);
  EXPECT_EQ(use("median.default", {tensor("self", "rows")}, {}),
            RowUse::Unknown);
  EXPECT_EQ(use("std.correction", {tensor("self", "rows"), dims({0})}, {4}),
            RowUse::Unknown);
  // `slice` is along the first dimension if nothing else is said.
  EXPECT_EQ(use("slice.Tensor", {tensor("self", "rows")}, {"u0", 4}),
            RowUse::Unknown);
}

// What a number keeps out: the lowest for a maximum.
TEST_F(RowRules, Reductions) {
  EXPECT_EQ(use("amax.default", {tensor("self", "rows"), dims({0})}, {4}),
            RowUse::Reduction);
  EXPECT_EQ(std::get<double>(neutralNumber(node, ScalarType::Float32)),
            -std::numeric_limits<double>::infinity());
  EXPECT_EQ(use("any.default", {tensor("self", "rows")}, {}),
            RowUse::Reduction);
  EXPECT_EQ(use("norm.ScalarOpt_dim",
                {tensor("self", "rows"), argument("p", int64_t(2)), dims({0})},
                {4}),
            RowUse::Reduction);
  // A norm of order 0 or less counts or divides by zeros.
  EXPECT_EQ(use("norm.ScalarOpt_dim",
                {tensor("self", "rows"), argument("p", int64_t(-1)), dims({0})},
                {4}),
            RowUse::Unknown);
  EXPECT_EQ(use("softmax.int", {tensor("self", "rows"), dim(0)}, {"u0", 4}),
            RowUse::Along);
}

TEST_F(RowRules, SumsAndMeans) {
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
  // The rows of one sample are its classes.
  EXPECT_EQ(use("cross_entropy_loss.default",
                {tensor("self", "line"), tensor("target", "line")}, {}),
            RowUse::Unknown);
  auto cosine = [&](const char *left, const char *right) {
    return use("cosine_embedding_loss.default",
               {tensor("input1", left), tensor("input2", right),
                tensor("target", "line")},
               {});
  };
  EXPECT_EQ(cosine("rows", "rows"), RowUse::RowLoss);
  EXPECT_EQ(cosine("line", "line"), RowUse::Unknown);
  EXPECT_EQ(cosine("rows", "tall"), RowUse::Unknown);
}

TEST_F(RowRules, Joining) {
  auto cat = [&](std::vector<std::string> parts, int64_t along,
                 const Sizes &result) {
    return use("cat.default", {tensors("tensors", parts), dim(along)}, result);
  };
  EXPECT_EQ(cat({"rows", "rows"}, 1, {"u0", 8}), RowUse::Alone);
  EXPECT_EQ(cat({"rows", "tall"}, 1, {"u0", 8}), RowUse::Unknown);
  EXPECT_EQ(cat({"rows", "rows"}, 0, {"2*u0", 4}), RowUse::Unknown);
}

// Each row as one or several, in the order of elements.
TEST_F(RowRules, ChangesOfShape) {
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

TEST_F(RowRules, Products) {
  auto matmul = [&](const char *left, const char *right, const Sizes &result) {
    return use("matmul.default", {tensor("self", left), tensor("other", right)},
               result);
  };
  EXPECT_EQ(matmul("rows", "weight", {"u0", 4}), RowUse::Alone);
  EXPECT_EQ(matmul("weight", "columns", {4, "u0"}), RowUse::Alone);
  EXPECT_EQ(matmul("rows", "bias", {"u0"}), RowUse::Alone);
  // The sum of products is over the rows, of both operands or of one.
  EXPECT_EQ(matmul("columns", "rows", {4, 4}), RowUse::Contraction);
  EXPECT_EQ(matmul("line", "rows", {4}), RowUse::Contraction);
  EXPECT_EQ(matmul("columns", "tall", {4, 4}), RowUse::Unknown);
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

TEST_F(RowRules, Indices) {
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

// The first dimension is that of samples in some forms alone.
TEST_F(RowRules, Samples) {
  define("images", {"u0", 4, 8, 8});
  define("sequence", {"u0", 6, 4});
  auto pad = [&](const char *self, IntList sizes, const Sizes &result) {
    return use("pad.default", {tensor("self", self), argument("pad", sizes)},
               result);
  };
  EXPECT_EQ(pad("rows", {1, 1}, {"u0", 6}), RowUse::Alone);
  EXPECT_EQ(pad("rows", {0, 0, 1, -1}, {"u0", 4}), RowUse::Unknown);
  EXPECT_EQ(
      use("avg_pool2d.default", {tensor("self", "images")}, {"u0", 4, 4, 4}),
      RowUse::Alone);
  // Channels come first in [C, H, W].
  EXPECT_EQ(
      use("avg_pool2d.default", {tensor("self", "sequence")}, {"u0", 3, 2}),
      RowUse::Unknown);
  auto attention = [&](const char *name, const Sizes &result) {
    return use(
        "scaled_dot_product_attention.default",
        {tensor("query", name), tensor("key", name), tensor("value", name)},
        result);
  };
  EXPECT_EQ(attention("sequence", {"u0", 6, 4}), RowUse::Alone);
  EXPECT_EQ(attention("rows", {"u0", 4}), RowUse::Unknown);
}

TEST_F(RowRules, Letters) {
  auto einsum = [&](std::string equation, std::vector<std::string> operands,
                    const Sizes &result) {
    return use("einsum.default",
               {argument("equation", equation), tensors("operands", operands)},
               result);
  };
  EXPECT_EQ(einsum("nd,nd->n", {"rows", "rows"}, {"u0"}), RowUse::Alone);
  EXPECT_EQ(einsum("nd,de->ne", {"rows", "weight"}, {"u0", 4}), RowUse::Alone);
  EXPECT_EQ(einsum("nd,ne->de", {"rows", "rows"}, {4, 4}), RowUse::Unknown);
  EXPECT_EQ(einsum("nd,md->nm", {"rows", "tall"}, {"u0", 15}), RowUse::Alone);
  EXPECT_EQ(einsum("nd,nd->n", {"rows", "tall"}, {"u0"}), RowUse::Unknown);
}

// An operator that no rule names is refused.
TEST_F(RowRules, UnknownOperator) {
  EXPECT_EQ(use("fft_fft.default", {tensor("self", "rows"), dim(1)}, {"u0", 4}),
            RowUse::Unknown);
}

} // namespace
