//===- ConvolutionEvaluations.cpp - What convolutions compute -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A convolution of one image and group is weight [O, C * k] @ columns
// [C * k, positions], where the columns are what the window sees. Its gradients
// are the products with the transposes, and so is a transposed convolution.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Reference/EvaluationTable.h"
#include "dialects/Reference/MatrixProduct.h"
#include "dialects/Reference/SpatialWindow.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::reference;

namespace {

/// The sizes of a convolution from [N, C, image] to [N, O, positions].
struct ConvolutionSizes {
  template <typename Op>
  ConvolutionSizes(Op op, const Tensor &input, const Tensor &output,
                   ArrayRef<int64_t> weight)
      : batch(input.getDimSize(0)), groups(op.getGroups()),
        channels(input.getDimSize(1) / groups),
        outputs(output.getDimSize(1) / groups),
        window(input.getShape().drop_front(2), output.getShape().drop_front(2),
               weight.drop_front(2), op.getStride(), op.getPadding(),
               op.getDilation()),
        rows(channels * window.kernelElements()),
        positions(window.positionCount()) {}

  int64_t imageSize() const { return channels * window.imageElements(); }
  int64_t outputSize() const { return outputs * positions; }

  int64_t batch, groups;
  /// Of one group.
  int64_t channels, outputs;
  SpatialWindow window;
  /// Of the columns of one image and group.
  int64_t rows, positions;
};

} // namespace

/// output += convolution of input.
static void convolve(const ConvolutionSizes &sizes, const double *input,
                     const double *weight, double *output) {
  for (int64_t part = 0; part < sizes.batch * sizes.groups; ++part) {
    std::vector<double> columns(sizes.rows * sizes.positions);
    gatherColumns(sizes.window, input + part * sizes.imageSize(),
                  sizes.channels, columns.data());
    int64_t group = part % sizes.groups;
    addProduct(output + part * sizes.outputSize(),
               weight + group * sizes.outputs * sizes.rows, columns.data(),
               sizes.outputs, sizes.rows, sizes.positions);
  }
}

/// input += what each of its elements contributes to `output`.
static void convolveBack(const ConvolutionSizes &sizes, const double *output,
                         const double *weight, double *input) {
  for (int64_t part = 0; part < sizes.batch * sizes.groups; ++part) {
    int64_t group = part % sizes.groups;
    std::vector<double> turned = transposed(
        weight + group * sizes.outputs * sizes.rows, sizes.outputs, sizes.rows);
    std::vector<double> columns(sizes.rows * sizes.positions);
    addProduct(columns.data(), turned.data(),
               output + part * sizes.outputSize(), sizes.rows, sizes.outputs,
               sizes.positions);
    scatterColumns(sizes.window, columns.data(), sizes.channels,
                   input + part * sizes.imageSize());
  }
}

static void addChannelBias(const Tensor &bias, Tensor &output) {
  MutableArrayRef<double> elements = output.mutableFloats();
  int64_t channels = bias.getNumElements();
  int64_t image = 1;
  for (int64_t size : output.getShape().drop_front(2))
    image *= size;
  for (int64_t i = 0; i < output.getDimSize(0) * channels; ++i)
    for (int64_t j = 0; j < image; ++j)
      elements[i * image + j] += bias.floats()[i % channels];
}

static void evaluateConvolution(aten::ConvolutionOp op, Operands in,
                                Results out) {
  ArrayRef<int64_t> weight = in[1].getShape();
  double *result = out[0].mutableFloats().data();
  const double *input = in[0].floats().data();
  if (op.getTransposed())
    convolveBack(ConvolutionSizes(op, out[0], in[0], weight), input,
                 in[1].floats().data(), result);
  else
    convolve(ConvolutionSizes(op, in[0], out[0], weight), input,
             in[1].floats().data(), result);
  if (op.getBias())
    addChannelBias(in[2], out[0]);
}

static void evaluateBackwardInput(aten::ConvolutionBackwardInputOp op,
                                  Operands in, Results out) {
  convolveBack(ConvolutionSizes(op, out[0], in[0], in[1].getShape()),
               in[0].floats().data(), in[1].floats().data(),
               out[0].mutableFloats().data());
}

static void evaluateBackwardWeight(aten::ConvolutionBackwardWeightOp op,
                                   Operands in, Results out) {
  ConvolutionSizes sizes(op, in[1], in[0], out[0].getShape());
  for (int64_t part = 0; part < sizes.batch * sizes.groups; ++part) {
    std::vector<double> columns(sizes.rows * sizes.positions);
    gatherColumns(sizes.window,
                  in[1].floats().data() + part * sizes.imageSize(),
                  sizes.channels, columns.data());
    std::vector<double> turned =
        transposed(columns.data(), sizes.rows, sizes.positions);
    int64_t group = part % sizes.groups;
    addProduct(out[0].mutableFloats().data() +
                   group * sizes.outputs * sizes.rows,
               in[0].floats().data() + part * sizes.outputSize(), turned.data(),
               sizes.outputs, sizes.positions, sizes.rows);
  }
}

void shardc::reference::addConvolutionEvaluations(EvaluationTable &table) {
  table.add<aten::ConvolutionOp>(evaluateConvolution);
  table.add<aten::ConvolutionBackwardInputOp>(evaluateBackwardInput);
  table.add<aten::ConvolutionBackwardWeightOp>(evaluateBackwardWeight);
}
