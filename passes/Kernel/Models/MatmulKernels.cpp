//===- MatmulKernels.cpp - Products of batches of matrices ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// aten.matmul [*, n, k] x [*, k, m] as one loop nest, for what the library's
// product of two matrices does not compute. Each element is summed in the
// accumulator's type and rounded once.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Models/KernelModels.h"

using namespace mlir;

namespace shardc {

/// `matrix` in a nest of `loops` loops whose first are the batch dimensions of
/// `batch`, with its own last two dimensions read at `row` and `column`.
static Read readMatrix(Value matrix, ArrayRef<int64_t> batch, int64_t row,
                       int64_t column, int64_t loops) {
  RankedTensorType type = tensorTypeOf(matrix);
  int64_t batchRank = type.getRank() - 2;
  int64_t missing = static_cast<int64_t>(batch.size()) - batchRank;
  SmallVector<int64_t> at;
  for (int64_t i = 0; i < batchRank; ++i)
    at.push_back(type.getDimSize(i) == 1 ? -1 : i + missing);
  at.append({row, column});
  return readAt(matrix, at, loops);
}

static void buildMatmul(aten::MatmulOp op, aten::MatmulOp::Adaptor inputs,
                        KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(op.getResult());
  ArrayRef<int64_t> batch = type.getShape().drop_back(2);
  SmallVector<int64_t> sizes(type.getShape());
  sizes.push_back(tensorTypeOf(inputs.getSelf()).getShape().back());
  int64_t loops = sizes.size(), row = loops - 3, column = loops - 2,
          inner = loops - 1;
  FloatType accumulator = kernel.accumulatorOf(inputs.getSelf());
  Value sum =
      reduce(kernel.builder, kernel.location, sizes, inner, accumulator,
             Combiner::Add,
             {readMatrix(inputs.getSelf(), batch, row, inner, loops),
              readMatrix(inputs.getOther(), batch, inner, column, loops)},
             1,
             [&](LoopBody &body) -> SmallVector<Scalar> {
               return {body[0].to(accumulator) * body[1].to(accumulator)};
             })
          .front();
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  kernel.results.push_back(pointwise(kernel.builder, kernel.location, type,
                                     readAt(sum, dims, type.getRank()),
                                     [](LoopBody &body) { return body[0]; }));
}

void attachMatmulKernels(MLIRContext *context) {
  using aten::MatmulOp;
  MatmulOp::attachInterface<KernelModel<MatmulOp, buildMatmul>>(*context);
}

} // namespace shardc
