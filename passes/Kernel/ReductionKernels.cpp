//===- ReductionKernels.cpp - Sums and means as loop nests ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The operators of AtenReduction.td: one reduction or scan in the accumulator's
// type, rounded once to the result.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/KernelModels.h"

using namespace mlir;

namespace shardc {

/// The sum of `self` over `dims`, divided by `divisor`, as the type of
/// `result`.
static void buildScaledSum(Value result, Value self, ArrayRef<int64_t> dims,
                           bool keepDims, double divisor,
                           KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(self);
  auto loops = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  if (dims.empty()) { // The sum of each element by itself.
    kernel.results.push_back(pointwise(kernel.builder, kernel.location,
                                       tensorTypeOf(result),
                                       readAt(self, loops, type.getRank()),
                                       [](LoopBody &body) { return body[0]; }));
    return;
  }
  Value sum = reduce(
      kernel.builder, kernel.location, type.getShape(), dims,
      kernel.accumulatorOf(self), Combiner::Add,
      readAt(self, loops, type.getRank()), 1,
      [](LoopBody &body) -> SmallVector<Scalar> { return {body[0]}; })[0];
  RankedTensorType resultType = tensorTypeOf(result);
  SmallVector<int64_t> at;
  int64_t next = 0;
  for (int64_t loop : loops) {
    bool isReduced = llvm::is_contained(dims, loop);
    if (!isReduced)
      at.push_back(next);
    next += !isReduced || keepDims;
  }
  kernel.results.push_back(
      pointwise(kernel.builder, kernel.location, resultType,
                readAt(sum, at, resultType.getRank()), [&](LoopBody &body) {
                  return divisor == 1.0 ? body[0] : body[0] / divisor;
                }));
}

static void buildSum(aten::SumOp op, aten::SumOp::Adaptor inputs,
                     KernelBuilder &kernel) {
  buildScaledSum(op.getResult(), inputs.getSelf(), op.getDim(), op.getKeepdim(),
                 1.0, kernel);
}

static void buildMean(aten::MeanOp op, aten::MeanOp::Adaptor inputs,
                      KernelBuilder &kernel) {
  double elements = 1;
  for (int64_t dim : op.getDim())
    elements *= tensorTypeOf(inputs.getSelf()).getDimSize(dim);
  buildScaledSum(op.getResult(), inputs.getSelf(), op.getDim(), op.getKeepdim(),
                 elements, kernel);
}

/// Each element combined with all before it along the dimension, from `start`:
/// sums of floats in the accumulator's type, as PyTorch's on the CPU.
template <typename OpTy>
static void buildScan(OpTy op, typename OpTy::Adaptor inputs, double start,
                      function_ref<Scalar(Scalar, Scalar)> combine,
                      KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(op.getResult());
  TypedAttr first =
      isa<FloatType>(type.getElementType())
          ? TypedAttr(kernel.builder.getFloatAttr(
                kernel.accumulatorOf(inputs.getSelf()), start))
          : kernel.builder.getIntegerAttr(type.getElementType(),
                                          static_cast<int64_t>(start));
  if (type.getRank() == 0) { // The element, which PyTorch scans too.
    kernel.results.push_back(pointwise(kernel.builder, kernel.location, type,
                                       readBroadcast(inputs.getSelf(), 0),
                                       [](LoopBody &body) { return body[0]; }));
    return;
  }
  Value carried = scan(kernel.builder, kernel.location, inputs.getSelf(),
                       op.getDim(), first, [&](LoopBody &body, Scalar before) {
                         return combine(before, body[0].to(before.getType()));
                       });
  kernel.results.push_back(
      pointwise(kernel.builder, kernel.location, type,
                readBroadcast(carried, type.getRank()),
                [](LoopBody &body) { return body.stored(0); }));
}

static void buildCumsum(aten::CumsumOp op, aten::CumsumOp::Adaptor inputs,
                        KernelBuilder &kernel) {
  buildScan(op, inputs, 0, [](Scalar a, Scalar b) { return a + b; }, kernel);
}

static void buildCumprod(aten::CumprodOp op, aten::CumprodOp::Adaptor inputs,
                         KernelBuilder &kernel) {
  buildScan(op, inputs, 1, [](Scalar a, Scalar b) { return a * b; }, kernel);
}

void attachReductionKernels(MLIRContext *context) {
  using namespace aten;
  SumOp::attachInterface<KernelModel<SumOp, buildSum>>(*context);
  MeanOp::attachInterface<KernelModel<MeanOp, buildMean>>(*context);
  CumsumOp::attachInterface<KernelModel<CumsumOp, buildCumsum>>(*context);
  CumprodOp::attachInterface<KernelModel<CumprodOp, buildCumprod>>(*context);
}

} // namespace shardc
