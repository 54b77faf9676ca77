//===- StridedViewTest.cpp - The algebra of strided views -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every view is held against the list of elements that it names.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Models/StridedView.h"

#include "dialects/Exec/Layout.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

namespace shardc {

using testing::ElementsAre;

static StridedView rowMajor(llvm::ArrayRef<int64_t> shape) {
  return {0, llvm::to_vector(shape), mlir::computeStrides(shape)};
}

/// The storage's elements in the order in which the view counts them.
static std::vector<int64_t> elementsOf(const StridedView &view) {
  std::vector<int64_t> elements = {view.offset};
  for (size_t dim = 0; dim < view.shape.size(); ++dim) {
    std::vector<int64_t> next;
    for (int64_t element : elements)
      for (int64_t i = 0; i < view.shape[dim]; ++i)
        next.push_back(element + i * view.strides[dim]);
    elements = std::move(next);
  }
  return elements;
}

TEST(StridedView, PermuteReordersDimensions) {
  StridedView view = permute(rowMajor({2, 3, 4}), {2, 0, 1});
  EXPECT_THAT(view.shape, ElementsAre(4, 2, 3));
  EXPECT_THAT(view.strides, ElementsAre(1, 12, 4));
}

TEST(StridedView, SliceMovesTheOffset) {
  StridedView view = slice(rowMajor({2, 6}), 1, 2, 5);
  EXPECT_THAT(elementsOf(view), ElementsAre(2, 3, 4, 8, 9, 10));
}

TEST(StridedView, ExpandRepeatsWithStrideZero) {
  StridedView view = expand(rowMajor({2, 1}), {3, 2, 2});
  EXPECT_THAT(view.strides, ElementsAre(0, 1, 0));
}

TEST(StridedView, ReshapeKeepsTheOrderOfElements) {
  StridedView piece = slice(rowMajor({4, 6}), 1, 2, 6);
  for (const std::vector<int64_t> &shape : {std::vector<int64_t>{4, 2, 2},
                                            {2, 2, 4},
                                            {2, 2, 2, 2},
                                            {4, 1, 4},
                                            {1, 4, 4, 1}}) {
    std::optional<StridedView> view = reshape(piece, shape);
    ASSERT_TRUE(view);
    EXPECT_EQ(elementsOf(*view), elementsOf(piece));
  }
}

TEST(StridedView, ReshapeAcrossAGapHasNoStrides) {
  StridedView piece = slice(rowMajor({4, 6}), 1, 2, 6);
  EXPECT_FALSE(reshape(piece, {16}));
  EXPECT_FALSE(reshape(piece, {8, 2}));
  EXPECT_FALSE(reshape(piece, {2, 8}));
}

TEST(StridedView, ReshapeOfATransposition) {
  StridedView transposed = permute(rowMajor({6, 4}), {1, 0});
  EXPECT_FALSE(reshape(transposed, {24}));
  std::optional<StridedView> view = reshape(transposed, {2, 2, 3, 2});
  ASSERT_TRUE(view);
  EXPECT_EQ(elementsOf(*view), elementsOf(transposed));
}

TEST(StridedView, ReshapeOfABroadcast) {
  StridedView view = expand(rowMajor({1, 4}), {3, 4});
  EXPECT_FALSE(reshape(view, {12}));
  std::optional<StridedView> split = reshape(view, {3, 2, 2});
  ASSERT_TRUE(split);
  EXPECT_EQ(elementsOf(*split), elementsOf(view));
}

TEST(StridedView, ReshapeToAndFromOneElement) {
  std::optional<StridedView> view = reshape(rowMajor({1, 1}), {});
  ASSERT_TRUE(view);
  EXPECT_THAT(elementsOf(*view), ElementsAre(0));
  EXPECT_TRUE(reshape(rowMajor({}), {1, 1, 1}));
}

} // namespace shardc
