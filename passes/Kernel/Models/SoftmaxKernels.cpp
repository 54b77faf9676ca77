//===- SoftmaxKernels.cpp - Softmax and its logarithm as loop nests -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Along any dimension, with the largest element taken away before exponentials
// are, as in PyTorch's aten/src/ATen/native/SoftMax.cpp.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Models/KernelModels.h"
#include "passes/Kernel/Models/RowExponentials.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace shardc {

namespace {
/// Elements, and what their slices along a dimension have in common.
struct Slices {
  Read elements, largest, sum;
};
} // namespace

/// The largest element of each slice along `dim`, and the sum of exp(element -
/// largest) in the accumulator's dtype. A tensor without dimensions is one
/// slice.
static Slices buildSlices(Value self, int64_t dim, KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(self);
  int64_t rank = type.getRank();
  if (rank == 0) {
    Read element = readBroadcast(self, 0);
    Value one = pointwise(kernel.builder, kernel.location, type, element,
                          [](LoopBody &body) { return body[0].constant(1); });
    return {element, element, readBroadcast(one, 0)};
  }
  auto all = llvm::to_vector(llvm::seq(rank)), others = all;
  others.erase(others.begin() + dim);
  RowExponentials rows =
      sumExponentials(self, dim, /*onesApart=*/false, kernel);
  return {readAt(self, all, rank), readAt(rows.largest, others, rank),
          readAt(rows.sum, others, rank)};
}

/// `finish` on an element less the largest, and the sum in its dtype.
template <typename OpTy, Scalar (*finish)(Scalar, Scalar)>
static void buildOfSlices(OpTy op, typename OpTy::Adaptor inputs,
                          KernelBuilder &kernel) {
  Slices slices =
      buildSlices(inputs.getSelf(), static_cast<int64_t>(op.getDim()), kernel);
  kernel.results.push_back(pointwise(
      kernel.builder, kernel.location, tensorTypeOf(op.getResult()),
      {slices.elements, slices.largest, slices.sum}, [](LoopBody &body) {
        Scalar below = body[0] - body[1];
        return finish(below, body[2].to(below.getType()));
      }));
}

static Scalar share(Scalar below, Scalar sum) {
  return withoutSubnormal(exponentialOf(below) / sum);
}

static Scalar logarithmOfShare(Scalar below, Scalar sum) {
  return below - log(sum);
}

void attachSoftmaxKernels(MLIRContext *context) {
  using namespace aten;
  SoftmaxOp::attachInterface<
      KernelModel<SoftmaxOp, buildOfSlices<SoftmaxOp, share>>>(*context);
  LogSoftmaxOp::attachInterface<
      KernelModel<LogSoftmaxOp, buildOfSlices<LogSoftmaxOp, logarithmOfShare>>>(
      *context);
}

} // namespace shardc
