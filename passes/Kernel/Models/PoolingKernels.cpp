//===- PoolingKernels.cpp - Average pooling as loop nests -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// adaptive_avg_pool2d where the output divides the input, so that all windows
// have one size. The window's loops index a tensor of the window's shape, as in
// linalg's pooling operations, because each loop needs an operand that it alone
// indexes.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Models/KernelModels.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace shardc {

namespace {

/// The loops (n, c, h, w, y, x): output element (h, w), window element (y, x).
struct WindowLoops {
  WindowLoops(RankedTensorType input, RankedTensorType output,
              OpBuilder &builder, Location location)
      : sizes(output.getShape()) {
    for (int64_t i : {2, 3})
      sizes.push_back(input.getDimSize(i) / output.getDimSize(i));
    window = tensor::EmptyOp::create(builder, location,
                                     ArrayRef(sizes).drop_front(4),
                                     input.getElementType());
    SmallVector<AffineExpr> d;
    for (unsigned i = 0; i < 6; ++i)
      d.push_back(builder.getAffineDimExpr(i));
    inputMap = AffineMap::get(
        6, 0, {d[0], d[1], d[2] * sizes[4] + d[4], d[3] * sizes[5] + d[5]},
        builder.getContext());
  }

  double elements() const { return sizes[4] * sizes[5]; }
  Read readWindow() const { return readAt(window, {4, 5}, 6); }

  SmallVector<int64_t> sizes;
  Value window;
  /// Where iteration (n, c, h, w, y, x) is in the pooled tensor.
  AffineMap inputMap;
};

} // namespace

static void buildPool(aten::AdaptiveAvgPool2dOp op,
                      aten::AdaptiveAvgPool2dOp::Adaptor inputs,
                      KernelBuilder &kernel) {
  Value self = inputs.getSelf();
  RankedTensorType type = tensorTypeOf(op.getResult());
  WindowLoops loops(tensorTypeOf(self), type, kernel.builder, kernel.location);
  Value sum =
      reduce(kernel.builder, kernel.location, loops.sizes, {4, 5},
             kernel.accumulatorOf(self), Combiner::Add,
             {{self, loops.inputMap}, loops.readWindow()}, 1,
             [](LoopBody &body) -> SmallVector<Scalar> { return {body[0]}; })
          .front();
  kernel.results.push_back(pointwise(
      kernel.builder, kernel.location, type, readAt(sum, {0, 1, 2, 3}, 4),
      [&](LoopBody &body) { return body[0] / loops.elements(); }));
}

static void buildPoolBackward(aten::AdaptiveAvgPool2dBackwardOp op,
                              aten::AdaptiveAvgPool2dBackwardOp::Adaptor inputs,
                              KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(op.getResult());
  WindowLoops loops(type, tensorTypeOf(inputs.getGradOutput()), kernel.builder,
                    kernel.location);
  kernel.results.push_back(pointwiseInto(
      kernel.builder, kernel.location, type, loops.inputMap,
      {readAt(inputs.getGradOutput(), {0, 1, 2, 3}, 6), loops.readWindow()},
      [&](LoopBody &body) { return body[0] / loops.elements(); }));
}

void attachPoolingKernels(MLIRContext *context) {
  using namespace aten;
  AdaptiveAvgPool2dOp::attachInterface<
      KernelModel<AdaptiveAvgPool2dOp, buildPool>>(*context);
  AdaptiveAvgPool2dBackwardOp::attachInterface<
      KernelModel<AdaptiveAvgPool2dBackwardOp, buildPoolBackward>>(*context);
}

} // namespace shardc
