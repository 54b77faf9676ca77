//===- PoolingOperators.cpp - Translation of pooling ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Pooling over one dimension is pooling over two of which the first has one
// element. An image without a batch becomes a batch of one.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

/// `self` with `dimensions` dimensions after [N, C]: what PyTorch leaves out is
/// in front, and a single dimension gets a first one of size 1.
static Value completeImage(NodeCall &call, int64_t dimensions) {
  Decomposition build(call);
  Value self = call.tensor("self");
  if (Decomposition::typeOf(self).getRank() == dimensions + 1)
    self = build.unsqueeze(self, 0);
  if (dimensions == 1 && self)
    self = build.unsqueeze(self, 2);
  return self;
}

/// The numbers of a window, after `missing` for a dimension that was added.
static SmallVector<int64_t> complete(SmallVector<int64_t> numbers,
                                     int64_t dimensions, int64_t missing) {
  if (dimensions == 1)
    numbers.insert(numbers.begin(), missing);
  return numbers;
}

/// The results in the export's shapes.
static LogicalResult finishPool(NodeCall &call, Operation *pool) {
  Decomposition build(call);
  SmallVector<Value> results;
  for (size_t i = 0;
       i < std::min<size_t>(call.resultCount(), pool->getNumResults()); ++i) {
    RankedTensorType type = call.resultType(i);
    results.push_back(type ? build.view(pool->getResult(i), type.getShape())
                           : pool->getResult(i));
  }
  return build.finish(results);
}

namespace {
/// The window of a pool.
struct PoolWindow {
  SmallVector<int64_t> kernel, stride, padding;
};
} // namespace

static FailureOr<PoolWindow> readWindow(NodeCall &call, int64_t dimensions) {
  if (failed(call.checkRange("kernel_size", 1)) ||
      failed(call.checkRange("stride", 1)) ||
      failed(call.checkRange("padding", 0)))
    return failure();
  PoolWindow window;
  window.kernel = complete(call.integers("kernel_size"), dimensions, 1);
  SmallVector<int64_t> stride = call.integers("stride");
  window.stride =
      stride.empty() ? window.kernel : complete(stride, dimensions, 1);
  window.padding = complete(call.integers("padding"), dimensions, 0);
  return window;
}

template <typename Op, int64_t dimensions>
static LogicalResult translateMaxPool(NodeCall &call) {
  FailureOr<PoolWindow> window = readWindow(call, dimensions);
  if (failed(window) || failed(call.checkRange("dilation", 1)))
    return failure();
  Value self = completeImage(call, dimensions);
  if (!self)
    return failure();
  FailureOr<Op> op = call.create<Op>(
      self, ArrayRef<int64_t>(window->kernel),
      ArrayRef<int64_t>(window->stride), ArrayRef<int64_t>(window->padding),
      ArrayRef<int64_t>(complete(call.integers("dilation"), dimensions, 1)),
      call.boolean("ceil_mode"));
  return failed(op) ? failure() : finishPool(call, *op);
}

template <typename Op, int64_t dimensions>
static LogicalResult translateAveragePool(NodeCall &call) {
  FailureOr<PoolWindow> window = readWindow(call, dimensions);
  if (failed(window))
    return failure();
  IntegerAttr divisor;
  if (dimensions > 1 && !call.isNone("divisor_override"))
    divisor =
        call.builder().getI64IntegerAttr(call.integer("divisor_override"));
  Value self = completeImage(call, dimensions);
  if (!self)
    return failure();
  FailureOr<Op> op = call.create<Op>(
      self, ArrayRef<int64_t>(window->kernel),
      ArrayRef<int64_t>(window->stride), ArrayRef<int64_t>(window->padding),
      call.boolean("ceil_mode"), call.boolean("count_include_pad"), divisor);
  return failed(op) ? failure() : finishPool(call, *op);
}

/// adaptive_avg_pool and adaptive_max_pool. A size of None keeps the image's;
/// exports have resolved it.
template <typename Op, int64_t dimensions>
static LogicalResult translateAdaptivePool(NodeCall &call) {
  if (failed(call.checkRange("output_size", 1)))
    return failure();
  Value self = completeImage(call, dimensions);
  if (!self)
    return failure();
  FailureOr<Op> op = call.create<Op>(
      self,
      ArrayRef<int64_t>(complete(call.integers("output_size"), dimensions, 1)));
  return failed(op) ? failure() : finishPool(call, *op);
}

/// Zeros in the result's shape with each element where a pool found it.
template <int64_t dimensions>
static LogicalResult translateUnpool(NodeCall &call) {
  Decomposition build(call);
  RankedTensorType type = call.typeOf("self"), result = call.resultType();
  if (!result || type.getRank() < dimensions)
    return call.unsupported("self", "images [N, C, *] or [C, *]");
  auto flat = [&](RankedTensorType of) -> SmallVector<int64_t> {
    int64_t planes = 1;
    for (int64_t count : of.getShape().drop_back(dimensions))
      planes *= count;
    return {planes, planes ? of.getNumElements() / planes : 0};
  };
  Value index = build.view(call.tensor("indices"), flat(type));
  Value self = build.view(call.tensor("self"), flat(type));
  Value zeros = build.zeros(flat(result), self);
  if (!zeros || !index)
    return failure();
  return build.finish(build.view(
      build.build<aten::ScatterOp>(zeros, 1, index, self), result.getShape()));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

template <typename MaxPool, typename AveragePool, typename AdaptiveAverage,
          typename AdaptiveMax, int64_t dimensions>
static void addPools(OperatorTable &table) {
  std::string d = std::to_string(dimensions), list = "int[" + d + "]";
  std::string window = "(Tensor self, " + list + " kernel_size, " + list +
                       " stride=[], " + list + " padding=0, ";
  std::string maxPool =
      window + list + " dilation=1, bool ceil_mode=False) -> ";
  table.add("max_pool" + d + "d" + maxPool + "Tensor",
            translateMaxPool<MaxPool, dimensions>);
  table.add("max_pool" + d + "d_with_indices" + maxPool + "(Tensor, Tensor)",
            translateMaxPool<MaxPool, dimensions>);
  table.add("avg_pool" + d + "d" + window +
                "bool ceil_mode=False, bool count_include_pad=True" +
                (dimensions > 1 ? ", int? divisor_override=None" : "") +
                ") -> Tensor",
            translateAveragePool<AveragePool, dimensions>);
  std::string adaptive = "(Tensor self, SymInt[" + d + "] output_size) -> ";
  table.add("adaptive_avg_pool" + d + "d" + adaptive + "Tensor",
            translateAdaptivePool<AdaptiveAverage, dimensions>);
  if (dimensions > 1)
    table.add("_adaptive_avg_pool" + d + "d" + adaptive + "Tensor",
              translateAdaptivePool<AdaptiveAverage, dimensions>);
  table.add("adaptive_max_pool" + d + "d" + adaptive + "(Tensor, Tensor)",
            translateAdaptivePool<AdaptiveMax, dimensions>);
}

void translation::addPoolingOperators(OperatorTable &table) {
  using namespace aten;
  addPools<MaxPool2dOp, AvgPool2dOp, AdaptiveAvgPool2dOp, AdaptiveMaxPool2dOp,
           1>(table);
  addPools<MaxPool2dOp, AvgPool2dOp, AdaptiveAvgPool2dOp, AdaptiveMaxPool2dOp,
           2>(table);
  addPools<MaxPool3dOp, AvgPool3dOp, AdaptiveAvgPool3dOp, AdaptiveMaxPool3dOp,
           3>(table);
  table.add("max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) "
            "-> Tensor",
            translateUnpool<2>);
  table.add("max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, "
            "int[3] stride, int[3] padding) -> Tensor",
            translateUnpool<3>);
}
