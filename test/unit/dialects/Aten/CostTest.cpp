//===- CostTest.cpp - What operators cost ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One operator of each kind of cost.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace shardc;

namespace {

struct Cost {
  int64_t flops;
  int64_t bytes;
  bool operator==(const Cost &) const = default;
};

/// How GoogleTest prints it.
std::ostream &operator<<(std::ostream &stream, const Cost &cost) {
  return stream << cost.flops << " flops, " << cost.bytes << " bytes";
}

} // namespace

/// The cost of the first operator of a function with `arguments`.
static Cost costOf(StringRef arguments, StringRef op) {
  MLIRContext context;
  context.loadDialect<aten::AtenDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(
      ("func.func @f(" + arguments + ") {\n" + op + "\n return\n}").str(),
      &context);
  if (!module)
    return {-1, -1};
  auto function = *module->getOps<func::FuncOp>().begin();
  auto cost = cast<aten::CostOpInterface>(function.getBody().front().front());
  return {cost.getFlops(), cost.getBytes()};
}

TEST(Cost, PointwiseOperatorsCountResultElements) {
  EXPECT_EQ(costOf("%x: tensor<2x3xf32>, %y: tensor<3xbf16>",
                   "%0 = aten.maximum %x, %y : (tensor<2x3xf32>, "
                   "tensor<3xbf16>) -> tensor<2x3xf32>"),
            (Cost{6, 24 + 6 + 24}));
}

TEST(Cost, ReductionsCountOperandElements) {
  EXPECT_EQ(costOf("%x: tensor<2x3xf32>",
                   "%0 = aten.sum %x [1] : (tensor<2x3xf32>) -> tensor<2xf32>"),
            (Cost{6, 24 + 8}));
  EXPECT_EQ(costOf("%x: tensor<2x3xf32>",
                   "%0:2 = aten.max.dim %x dim 1 : (tensor<2x3xf32>) -> "
                   "(tensor<2xf32>, tensor<2xi64>)"),
            (Cost{6, 24 + 8 + 16}));
}

TEST(Cost, SoftmaxCountsFiveAnElement) {
  EXPECT_EQ(costOf("%x: tensor<2x3xf16>",
                   "%0 = aten.softmax %x dim 1 : (tensor<2x3xf16>) -> "
                   "tensor<2x3xf16>"),
            (Cost{30, 12 + 12}));
}

TEST(Cost, SortingCountsComparisons) {
  EXPECT_EQ(costOf("%x: tensor<2x8xf32>",
                   "%0:2 = aten.sort %x dim 1 : (tensor<2x8xf32>) -> "
                   "(tensor<2x8xf32>, tensor<2x8xi64>)"),
            (Cost{16 * 3, 64 + 64 + 128}));
}

TEST(Cost, MovingElementsIsBytesAlone) {
  EXPECT_EQ(costOf("%x: tensor<4x2xf32>, %i: tensor<3xi64>",
                   "%0 = aten.index %x at %i of [0] : (tensor<4x2xf32>, "
                   "tensor<3xi64>) -> tensor<3x2xf32>"),
            (Cost{0, 32 + 24 + 24}));
}

TEST(Cost, AccumulatingCountsWhatIsAdded) {
  StringRef arguments =
      "%x: tensor<4x2xf32>, %i: tensor<3xi64>, %v: tensor<2xf32>";
  std::string types = " : (tensor<4x2xf32>, tensor<3xi64>, tensor<2xf32>) -> "
                      "tensor<4x2xf32>";
  EXPECT_EQ(costOf(arguments, "%0 = aten.index_put %x at %i of [0] from %v "
                              "{accumulate = true}" +
                                  types)
                .flops,
            6);
  EXPECT_EQ(
      costOf(arguments, "%0 = aten.index_put %x at %i of [0] from %v" + types)
          .flops,
      0);
}

TEST(Cost, BooleansTakeAByteAndComplexNumbersTwoFloats) {
  EXPECT_EQ(costOf("%x: tensor<4xcomplex<f64>>",
                   "%0 = aten.eq %x, %x : (tensor<4xcomplex<f64>>, "
                   "tensor<4xcomplex<f64>>) -> tensor<4xi1>")
                .bytes,
            64 + 64 + 4);
}
