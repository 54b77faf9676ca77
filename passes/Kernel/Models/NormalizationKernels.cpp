//===- NormalizationKernels.cpp - Row normalizations as loop nests --------===//
// SPDX-License-Identifier: Apache-2.0
//
// layer_norm, its backward, and rms_norm. The variance is centred (two passes
// over a row that is in cache). Formulas:
// aten/src/ATen/native/cpu/layer_norm_kernel.cpp.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Models/KernelModels.h"

using namespace mlir;

namespace shardc {

namespace {

/// The loops of a normalization over the trailing dimensions of `type`: the
/// leading ones count rows, the others columns.
struct RowLoops {
  RowLoops(RankedTensorType type, int64_t normalized)
      : sizes(type.getShape()), rank(type.getRank()),
        leading(type.getRank() - normalized) {
    for (int64_t size : sizes.drop_front(leading))
      columnCount *= size;
  }

  SmallVector<int64_t> rows() const {
    return llvm::to_vector(llvm::seq<int64_t>(0, leading));
  }
  SmallVector<int64_t> columns() const {
    return llvm::to_vector(llvm::seq<int64_t>(leading, rank));
  }

  /// A tensor of the input's shape.
  Read everywhere(Value tensor) const {
    return readAt(tensor, llvm::to_vector(llvm::seq<int64_t>(0, rank)), rank);
  }
  /// A tensor with one element a row, as `reduce` returns it.
  Read byRow(Value tensor) const { return readAt(tensor, rows(), rank); }
  /// A statistic: the input's shape with normalized dimensions of size 1.
  Read byKeptRow(Value tensor) const {
    SmallVector<int64_t> at = rows();
    at.append(rank - leading, -1);
    return readAt(tensor, at, rank);
  }
  /// A tensor with one element a column, as weight and bias.
  Read byColumn(Value tensor) const { return readAt(tensor, columns(), rank); }

  ArrayRef<int64_t> sizes;
  int64_t rank, leading;
  int64_t columnCount = 1;
};

} // namespace

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// Means over rows of `body`'s values, of the accumulator's type.
static Value rowMean(const RowLoops &loops, ArrayRef<Read> reads,
                     FloatType accumulator, KernelBuilder &kernel,
                     function_ref<Scalar(LoopBody &)> body) {
  Value sum = reduce(
      kernel.builder, kernel.location, loops.sizes, loops.columns(),
      accumulator, Combiner::Add, reads, 1,
      [&](LoopBody &inner) -> SmallVector<Scalar> { return {body(inner)}; })[0];
  RankedTensorType type = tensorTypeOf(sum);
  return pointwise(
      kernel.builder, kernel.location, type, readBroadcast(sum, type.getRank()),
      [&](LoopBody &inner) { return inner[0] / loops.columnCount; });
}

/// One element a row, rounded to the type of a statistic.
static Value statistic(Value likeResult, Value perRow, const RowLoops &loops,
                       KernelBuilder &kernel,
                       function_ref<Scalar(Scalar)> body) {
  RankedTensorType type = tensorTypeOf(likeResult);
  return pointwise(kernel.builder, kernel.location, type,
                   readAt(perRow, loops.rows(), type.getRank()),
                   [&](LoopBody &inner) { return body(inner[0]); });
}

static void buildLayerNorm(aten::LayerNormOp op,
                           aten::LayerNormOp::Adaptor inputs,
                           KernelBuilder &kernel) {
  Value input = inputs.getInput();
  RowLoops loops(tensorTypeOf(input), op.getNormalizedShape().size());
  FloatType accumulator = kernel.accumulatorOf(input);
  Value wideMean = rowMean(loops, loops.everywhere(input), accumulator, kernel,
                           [](LoopBody &body) { return body[0]; });
  Value variance =
      rowMean(loops, {loops.everywhere(input), loops.byRow(wideMean)},
              accumulator, kernel, [&](LoopBody &body) {
                Scalar centred = body[0].to(accumulator) - body[1];
                return centred * centred;
              });
  Value mean = statistic(op.getMean(), wideMean, loops, kernel,
                         [](Scalar value) { return value; });
  double epsilon = op.getEps().convertToDouble();
  Value rstd =
      statistic(op.getRstd(), variance, loops, kernel,
                [&](Scalar value) { return 1.0 / sqrt(value + epsilon); });

  SmallVector<Read> reads = {loops.everywhere(input), loops.byKeptRow(mean),
                             loops.byKeptRow(rstd)};
  if (inputs.getWeight())
    reads.push_back(loops.byColumn(inputs.getWeight()));
  if (inputs.getBias())
    reads.push_back(loops.byColumn(inputs.getBias()));
  Value result =
      pointwise(kernel.builder, kernel.location, tensorTypeOf(op.getResult()),
                reads, [&](LoopBody &body) {
                  Scalar y = (body[0] - body[1]) * body[2];
                  unsigned next = 3;
                  if (inputs.getWeight())
                    y = y * body[next++].to(y.getType());
                  return inputs.getBias() ? y + body[next].to(y.getType()) : y;
                });
  kernel.results.append({result, mean, rstd});
}

/// One pass over a row for its mean square, and one to divide.
static void buildRmsNorm(aten::RmsNormOp op, aten::RmsNormOp::Adaptor inputs,
                         KernelBuilder &kernel) {
  Value input = inputs.getInput();
  RowLoops loops(tensorTypeOf(input), op.getNormalizedShape().size());
  FloatType accumulator = kernel.accumulatorOf(input);
  Value square = rowMean(loops, loops.everywhere(input), accumulator, kernel,
                         [&](LoopBody &body) {
                           Scalar wide = body[0].to(accumulator);
                           return wide * wide;
                         });
  double epsilon = op.getEps().convertToDouble();
  Value rstd =
      statistic(op.getRstd(), square, loops, kernel,
                [&](Scalar value) { return 1.0 / sqrt(value + epsilon); });
  SmallVector<Read> reads = {loops.everywhere(input), loops.byKeptRow(rstd)};
  if (inputs.getWeight())
    reads.push_back(loops.byColumn(inputs.getWeight()));
  Value result =
      pointwise(kernel.builder, kernel.location, tensorTypeOf(op.getResult()),
                reads, [&](LoopBody &body) {
                  Scalar y = body[0] * body[1];
                  return inputs.getWeight() ? y * body[2].to(y.getType()) : y;
                });
  kernel.results.append({result, rstd});
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

/// What backward reads in every iteration: gradient, input, mean, rstd.
static SmallVector<Read>
backwardReads(const RowLoops &loops,
              aten::LayerNormBackwardOp::Adaptor inputs) {
  return {loops.everywhere(inputs.getGradOutput()),
          loops.everywhere(inputs.getInput()),
          loops.byKeptRow(inputs.getMean()), loops.byKeptRow(inputs.getRstd())};
}

static Scalar normalized(LoopBody &body) {
  return (body[1] - body[2]) * body[3];
}

/// rstd * (g - mean(g) - x_hat * mean(g * x_hat)) with g = gradient * weight
/// and means over the row.
static Value buildGradInput(aten::LayerNormBackwardOp op,
                            aten::LayerNormBackwardOp::Adaptor inputs,
                            const RowLoops &loops, KernelBuilder &kernel) {
  SmallVector<Read> reads = backwardReads(loops, inputs);
  bool hasWeight = static_cast<bool>(inputs.getWeight());
  if (hasWeight)
    reads.push_back(loops.byColumn(inputs.getWeight()));
  auto weighted = [&](LoopBody &body) {
    return hasWeight ? body[0] * body[4].to(body[0].getType()) : body[0];
  };
  SmallVector<Value> sums =
      reduce(kernel.builder, kernel.location, loops.sizes, loops.columns(),
             kernel.accumulatorOf(inputs.getInput()), Combiner::Add, reads, 2,
             [&](LoopBody &body) -> SmallVector<Scalar> {
               Scalar g = weighted(body);
               return {g, g * normalized(body)};
             });
  unsigned next = reads.size();
  reads.append({loops.byRow(sums[0]), loops.byRow(sums[1])});
  return pointwise(kernel.builder, kernel.location,
                   tensorTypeOf(op.getGradInput()), reads, [&](LoopBody &body) {
                     Scalar g = weighted(body), rstd = body[3];
                     Scalar mean =
                         (body[next] / loops.columnCount).to(g.getType());
                     Scalar slope =
                         (body[next + 1] / loops.columnCount).to(g.getType());
                     return rstd * (g - mean - normalized(body) * slope);
                   });
}

/// Sums over rows of the gradient times x_hat, and of the gradient. A tensor
/// that is normalized as a whole is one row: there is nothing to sum.
static void buildGradAffine(aten::LayerNormBackwardOp op,
                            aten::LayerNormBackwardOp::Adaptor inputs,
                            const RowLoops &loops, KernelBuilder &kernel) {
  SmallVector<Read> reads = backwardReads(loops, inputs);
  auto terms = [](LoopBody &body) -> SmallVector<Scalar> {
    return {body[0] * normalized(body), body[0]};
  };
  SmallVector<Value> sums;
  if (loops.leading != 0)
    sums = reduce(kernel.builder, kernel.location, loops.sizes, loops.rows(),
                  kernel.accumulatorOf(inputs.getInput()), Combiner::Add, reads,
                  2, terms);
  for (auto [i, result] : llvm::enumerate(op->getResults().drop_front())) {
    RankedTensorType type = tensorTypeOf(result);
    kernel.results.push_back(
        sums.empty() ? pointwise(kernel.builder, kernel.location, type, reads,
                                 [&](LoopBody &body) { return terms(body)[i]; })
                     : pointwise(kernel.builder, kernel.location, type,
                                 readBroadcast(sums[i], type.getRank()),
                                 [](LoopBody &body) { return body[0]; }));
  }
}

static void buildLayerNormBackward(aten::LayerNormBackwardOp op,
                                   aten::LayerNormBackwardOp::Adaptor inputs,
                                   KernelBuilder &kernel) {
  RowLoops loops(tensorTypeOf(inputs.getInput()),
                 op.getNormalizedShape().size());
  kernel.results.push_back(buildGradInput(op, inputs, loops, kernel));
  buildGradAffine(op, inputs, loops, kernel);
}

void attachNormalizationKernels(MLIRContext *context) {
  using namespace aten;
  RmsNormOp::attachInterface<KernelModel<RmsNormOp, buildRmsNorm>>(*context);
  LayerNormOp::attachInterface<KernelModel<LayerNormOp, buildLayerNorm>>(
      *context);
  LayerNormBackwardOp::attachInterface<
      KernelModel<LayerNormBackwardOp, buildLayerNormBackward>>(*context);
}

} // namespace shardc
