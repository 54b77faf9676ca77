//===- PoolingOperators.cpp - translation of pooling ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Max pooling and adaptive average pooling over the last two dimensions.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/OperatorTable.h"
#include "dialects/Aten/Aten.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

static LogicalResult translateMaxPool(NodeCall &call) {
  if (call.boolean("ceil_mode"))
    return call.unsupported("ceil_mode", "False");
  if (failed(call.checkRange("kernel_size", 1)) ||
      failed(call.checkRange("stride", 1)) ||
      failed(call.checkRange("padding", 0)) ||
      failed(call.checkRange("dilation", 1)))
    return failure();
  SmallVector<int64_t> kernel = call.integers("kernel_size");
  SmallVector<int64_t> stride = call.integers("stride");
  if (stride.empty())
    stride = kernel;
  FailureOr<aten::MaxPool2dOp> op = call.create<aten::MaxPool2dOp>(
      call.tensor("self"), ArrayRef<int64_t>(kernel), ArrayRef<int64_t>(stride),
      ArrayRef<int64_t>(call.integers("padding")),
      ArrayRef<int64_t>(call.integers("dilation")));
  if (failed(op))
    return failure();
  call.setResults(op->getOperation()->getResults().take_front(
      std::min<size_t>(call.resultCount(), 2)));
  return success();
}

static LogicalResult translateAdaptiveAveragePool(NodeCall &call) {
  RankedTensorType type = call.typeOf("self");
  SmallVector<int64_t> size = call.integers("output_size");
  if (type.getRank() != 4 || size.size() != 2)
    return call.unsupported("self", "a tensor [N, C, H, W]");
  for (int i : {0, 1})
    if (size[i] < 1 || type.getDimSize(i + 2) % size[i] != 0)
      return call.unsupported("output_size", "sizes that divide [H, W]");
  return call.translate<aten::AdaptiveAvgPool2dOp>(call.tensor("self"),
                                                   ArrayRef<int64_t>(size));
}

void translation::addPoolingOperators(OperatorTable &table) {
  table.add("max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], "
            "int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> "
            "Tensor",
            translateMaxPool);
  table.add("max_pool2d_with_indices(Tensor self, int[2] kernel_size, "
            "int[2] stride=[], int[2] padding=0, int[2] dilation=1, "
            "bool ceil_mode=False) -> (Tensor, Tensor)",
            translateMaxPool);
  table.add("adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
            translateAdaptiveAveragePool);
}
