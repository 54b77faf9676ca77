//===- NormalizationEvaluations.cpp - What normalizations compute ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// A normalization sees its input as [outer, channels, inner]: layer_norm
// normalizes rows, batch_norm each channel over the rest, group_norm rows of
// several channels.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Reference/EvaluationTable.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;

namespace {

struct Moments {
  double mean = 0;
  /// Of the elements' squared distances from the mean.
  double variance = 0;
};

/// An input [N, C, ...] as [N, C, inner].
struct Channels {
  explicit Channels(const Tensor &input)
      : batch(input.getDimSize(0)), count(input.getDimSize(1)),
        inner(batch * count ? input.getNumElements() / (batch * count) : 0) {}

  /// Calls `function(element)` for the elements of one channel.
  template <typename Function>
  void forEach(int64_t channel, Function function) const {
    for (int64_t n = 0; n < batch; ++n)
      for (int64_t i = 0; i < inner; ++i)
        function((n * count + channel) * inner + i);
  }

  int64_t batch, count, inner;
};

} // namespace

static Moments momentsOf(ArrayRef<double> row, RoundIntermediate round) {
  Moments moments;
  for (double element : row)
    moments.mean += element;
  moments.mean = round(moments.mean / row.size());
  for (double element : row)
    moments.variance += (element - moments.mean) * (element - moments.mean);
  moments.variance /= row.size();
  return moments;
}

/// The elements of an optional operand, or none.
static ArrayRef<double> affine(Value operand, Operands in, unsigned &next) {
  return operand ? in[next++].floats() : ArrayRef<double>();
}

static int64_t product(ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  return elements;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static void evaluateLayerNorm(aten::LayerNormOp op, Operands in, Results out,
                              RoundIntermediate round) {
  int64_t size = product(op.getNormalizedShape());
  unsigned next = 1;
  ArrayRef<double> weight = affine(op.getWeight(), in, next);
  ArrayRef<double> bias = affine(op.getBias(), in, next);
  MutableArrayRef<double> result = out[0].mutableFloats();
  for (int64_t row = 0; row < out[1].getNumElements(); ++row) {
    ArrayRef<double> elements = in[0].floats().slice(row * size, size);
    Moments moments = momentsOf(elements, round);
    double rstd =
        1 / std::sqrt(moments.variance + op.getEps().convertToDouble());
    for (int64_t i = 0; i < size; ++i)
      result[row * size + i] = (elements[i] - moments.mean) * rstd *
                                   (weight.empty() ? 1 : weight[i]) +
                               (bias.empty() ? 0 : bias[i]);
    out[1].mutableFloats()[row] = moments.mean;
    out[2].mutableFloats()[row] = rstd;
  }
}

/// With n = (x - mean) * rstd and g = grad * weight, the gradient of x is
/// rstd * (g - mean(g) - n * mean(g * n)) over each row.
static void evaluateLayerNormBackward(aten::LayerNormBackwardOp op, Operands in,
                                      Results out, RoundIntermediate round) {
  int64_t size = product(op.getNormalizedShape());
  unsigned next = 4;
  ArrayRef<double> weight = affine(op.getWeight(), in, next);
  ArrayRef<double> gradient = in[0].floats(), input = in[1].floats();
  MutableArrayRef<double> gradInput = out[0].mutableFloats(),
                          gradWeight = out[1].mutableFloats(),
                          gradBias = out[2].mutableFloats();
  for (int64_t row = 0; row < in[2].getNumElements(); ++row) {
    double mean = in[2].floats()[row], rstd = in[3].floats()[row];
    double sum = 0, productSum = 0;
    for (int64_t i = 0; i < size; ++i) {
      double outer = gradient[row * size + i];
      double normal = (input[row * size + i] - mean) * rstd;
      gradWeight[i] += outer * normal;
      gradBias[i] += outer;
      double weighted = outer * (weight.empty() ? 1 : weight[i]);
      sum += weighted;
      productSum += weighted * normal;
    }
    double gradientMean = round(sum / size);
    double productMean = round(productSum / size);
    for (int64_t i = 0; i < size; ++i) {
      double weighted =
          gradient[row * size + i] * (weight.empty() ? 1 : weight[i]);
      double normal = (input[row * size + i] - mean) * rstd;
      gradInput[row * size + i] =
          rstd * (weighted - gradientMean - normal * productMean);
    }
  }
}

static void evaluateRmsNorm(aten::RmsNormOp op, Operands in, Results out) {
  int64_t size = product(op.getNormalizedShape());
  unsigned next = 1;
  ArrayRef<double> weight = affine(op.getWeight(), in, next);
  MutableArrayRef<double> result = out[0].mutableFloats();
  for (int64_t row = 0; row < out[1].getNumElements(); ++row) {
    ArrayRef<double> elements = in[0].floats().slice(row * size, size);
    double squares = 0;
    for (double element : elements)
      squares += element * element;
    double rstd = 1 / std::sqrt(squares / size + op.getEps().convertToDouble());
    for (int64_t i = 0; i < size; ++i)
      result[row * size + i] =
          elements[i] * rstd * (weight.empty() ? 1 : weight[i]);
    out[1].mutableFloats()[row] = rstd;
  }
}

static void evaluateGroupNorm(aten::GroupNormOp op, Operands in, Results out,
                              RoundIntermediate round) {
  Channels channels(in[0]);
  int64_t groups = op.getNumGroups();
  int64_t size = channels.count / groups * channels.inner;
  unsigned next = 1;
  ArrayRef<double> weight = affine(op.getWeight(), in, next);
  ArrayRef<double> bias = affine(op.getBias(), in, next);
  MutableArrayRef<double> result = out[0].mutableFloats();
  for (int64_t row = 0; row < out[1].getNumElements(); ++row) {
    ArrayRef<double> elements = in[0].floats().slice(row * size, size);
    Moments moments = momentsOf(elements, round);
    double rstd =
        1 / std::sqrt(moments.variance + op.getEps().convertToDouble());
    for (int64_t i = 0; i < size; ++i) {
      int64_t channel = (row * size + i) / channels.inner % channels.count;
      result[row * size + i] = (elements[i] - moments.mean) * rstd *
                                   (weight.empty() ? 1 : weight[channel]) +
                               (bias.empty() ? 0 : bias[channel]);
    }
    out[1].mutableFloats()[row] = moments.mean;
    out[2].mutableFloats()[row] = rstd;
  }
}

//===----------------------------------------------------------------------===//
// Channels over the batch
//===----------------------------------------------------------------------===//

/// The batch's moments, and the running statistics that they move.
static Moments updateStatistics(aten::BatchNormOp op, const Channels &channels,
                                int64_t channel, Operands in, Results out,
                                RoundIntermediate round) {
  double running[2] = {in[1].floats()[channel], in[2].floats()[channel]};
  Moments moments{running[0], running[1]};
  if (op.getTraining()) {
    SmallVector<double> elements;
    channels.forEach(channel, [&](int64_t element) {
      elements.push_back(in[0].floats()[element]);
    });
    moments = momentsOf(elements, round);
    double momentum = op.getMomentum().convertToDouble();
    double count = elements.size();
    double unbiased = moments.variance * count / (count - 1);
    running[0] += momentum * (moments.mean - running[0]);
    running[1] += momentum * (unbiased - running[1]);
  }
  out[1].mutableFloats()[channel] = running[0];
  out[2].mutableFloats()[channel] = running[1];
  return moments;
}

static void evaluateBatchNorm(aten::BatchNormOp op, Operands in, Results out,
                              RoundIntermediate round) {
  Channels channels(in[0]);
  unsigned next = 3;
  ArrayRef<double> weight = affine(op.getWeight(), in, next);
  ArrayRef<double> bias = affine(op.getBias(), in, next);
  MutableArrayRef<double> result = out[0].mutableFloats();
  for (int64_t channel = 0; channel < channels.count; ++channel) {
    Moments moments = updateStatistics(op, channels, channel, in, out, round);
    double rstd =
        1 / std::sqrt(moments.variance + op.getEps().convertToDouble());
    double scale = rstd * (weight.empty() ? 1 : weight[channel]);
    double shift = bias.empty() ? 0 : bias[channel];
    channels.forEach(channel, [&](int64_t element) {
      result[element] =
          (in[0].floats()[element] - moments.mean) * scale + shift;
    });
    out[3].mutableFloats()[channel] = moments.mean;
    out[4].mutableFloats()[channel] = rstd;
  }
}

/// As layer_norm's over each channel; statistics that are constants of the
/// input outside of training.
static void evaluateBatchNormBackward(aten::BatchNormBackwardOp op, Operands in,
                                      Results out, RoundIntermediate round) {
  Channels channels(in[1]);
  unsigned next = 4;
  ArrayRef<double> weight = affine(op.getWeight(), in, next);
  ArrayRef<double> gradient = in[0].floats(), input = in[1].floats();
  MutableArrayRef<double> gradInput = out[0].mutableFloats();
  double count = channels.batch * channels.inner;
  for (int64_t channel = 0; channel < channels.count; ++channel) {
    double mean = in[2].floats()[channel], rstd = in[3].floats()[channel];
    double sum = 0, productSum = 0;
    channels.forEach(channel, [&](int64_t i) {
      sum += gradient[i];
      productSum += gradient[i] * (input[i] - mean) * rstd;
    });
    double scale = rstd * (weight.empty() ? 1 : weight[channel]);
    double gradientMean = round(sum / count);
    double productMean = round(productSum / count);
    bool training = op.getTraining();
    channels.forEach(channel, [&](int64_t i) {
      double normal = (input[i] - mean) * rstd;
      double through = training ? gradientMean + normal * productMean : 0;
      gradInput[i] = scale * (gradient[i] - through);
    });
    out[1].mutableFloats()[channel] = productSum;
    out[2].mutableFloats()[channel] = sum;
  }
}

void shardc::reference::addNormalizationEvaluations(EvaluationTable &table) {
  using namespace aten;
  table.add<LayerNormOp>(evaluateLayerNorm);
  table.add<LayerNormBackwardOp>(evaluateLayerNormBackward);
  table.add<RmsNormOp>(evaluateRmsNorm);
  table.add<GroupNormOp>(evaluateGroupNorm);
  table.add<BatchNormOp>(evaluateBatchNorm);
  table.add<BatchNormBackwardOp>(evaluateBatchNormBackward);
}
