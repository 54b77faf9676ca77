//===- ResamplingKernels.cpp - Weighted sums of taps as loop nests --------===//
// SPDX-License-Identifier: Apache-2.0
//
// aten.resample: indices and weights are constants of the code, one element is
// a load, several are a reduction with a loop over the taps.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Models/KernelModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace shardc {

namespace {

/// The constants of a resampling and what an iteration makes of them.
class TapReader {
public:
  TapReader(aten::ResampleOp op, Value self, KernelBuilder &kernel)
      : op(op), self(self), kernel(kernel),
        dim(static_cast<int64_t>(op.getDim())) {}

  /// The constants in a nest whose loops are the result's dimensions and, where
  /// there are several taps, one over these.
  SmallVector<Read> reads() {
    auto taps = static_cast<int64_t>(op.getTaps());
    int64_t rank = tensorTypeOf(self).getRank();
    SmallVector<int64_t> shape = {tensorTypeOf(op.getResult()).getDimSize(dim)};
    SmallVector<int64_t> at = {dim};
    if (taps > 1) {
      shape.push_back(taps);
      at.push_back(rank++);
    }
    OpBuilder &builder = kernel.builder;
    SmallVector<Read> list;
    auto add = [&](DenseElementsAttr elements) {
      list.push_back(
          readAt(arith::ConstantOp::create(builder, kernel.location, elements),
                 at, rank));
    };
    add(DenseElementsAttr::get(
        RankedTensorType::get(shape, builder.getI64Type()), op.getIndices()));
    if (op.getWeights()) {
      auto type = RankedTensorType::get(
          shape, computeType(tensorTypeOf(self).getElementType()));
      add(DenseElementsAttr::get(
          type, llvm::map_to_vector(*op.getWeights(),
                                    [&](double weight) -> Attribute {
                                      return builder.getFloatAttr(
                                          type.getElementType(), weight);
                                    })));
    }
    return list;
  }

  /// The element that a tap reads, weighted; 0 where it reads none.
  Scalar term(LoopBody &body) {
    RankedTensorType type = tensorTypeOf(self);
    auto [place, isPlace] = indexBelow(body[0], type.getDimSize(dim));
    SmallVector<Scalar> places;
    for (int64_t i = 0; i < type.getRank(); ++i)
      places.push_back(i == dim ? place : body.index(i));
    Scalar element = body.extract(self, places);
    element = element.to(computeType(element.getType()));
    if (op.getWeights())
      element = element * body[1];
    bool readsAll = !llvm::is_contained(op.getIndices(), -1);
    return readsAll ? element : select(isPlace, element, element.constant(0));
  }

private:
  aten::ResampleOp op;
  Value self;
  KernelBuilder &kernel;
  int64_t dim;
};

} // namespace

static void buildResample(aten::ResampleOp op, aten::ResampleOp::Adaptor inputs,
                          KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(op.getResult());
  TapReader reader(op, inputs.getSelf(), kernel);
  SmallVector<Read> reads = reader.reads();
  if (op.getTaps() == 1) {
    kernel.results.push_back(
        pointwise(kernel.builder, kernel.location, type, reads,
                  [&](LoopBody &body) { return reader.term(body); }));
    return;
  }
  SmallVector<int64_t> sizes(type.getShape());
  sizes.push_back(static_cast<int64_t>(op.getTaps()));
  Value sum =
      reduce(kernel.builder, kernel.location, sizes, {type.getRank()},
             kernel.accumulatorOf(inputs.getSelf()), Combiner::Add, reads, 1,
             [&](LoopBody &body) -> SmallVector<Scalar> {
               return {reader.term(body)};
             })
          .front();
  kernel.results.push_back(pointwise(kernel.builder, kernel.location, type,
                                     readBroadcast(sum, type.getRank()),
                                     [](LoopBody &body) { return body[0]; }));
}

void attachResamplingKernels(MLIRContext *context) {
  aten::ResampleOp::attachInterface<
      KernelModel<aten::ResampleOp, buildResample>>(*context);
}

} // namespace shardc
