//===- QuantizationOperators.cpp - Translation of fake quantization -------===//
// SPDX-License-Identifier: Apache-2.0
//
//   q = round(self * (1 / scale)) + zero_point
//   result = (clamp(q, quant_min, quant_max) - zero_point) * scale
//
// with the slope 1 where q is in the range and 0 elsewhere, as PyTorch's masks
// have it (ATen/native/quantized/FakeQuantPerTensorAffine.cpp).
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

/// Of a scale and a zero point that broadcast against `self`, in its dtype.
static LogicalResult quantize(NodeCall &call, Value wide, Value scale,
                              Value zeroPoint) {
  Decomposition build(call);
  OpBuilder &builder = call.builder();
  Value self = call.tensor("self");
  Value inverse = build.build<aten::ReciprocalOp>(scale);
  Value q = build.add(build.build<aten::RoundOp>(build.mul(wide, inverse)),
                      zeroPoint);
  if (!q)
    return failure();
  auto min = builder.getF64FloatAttr(double(call.integer("quant_min")));
  auto max = builder.getF64FloatAttr(double(call.integer("quant_max")));
  Value isAbove = build.build<aten::GeScalarOp>(q, min);
  Value isBelow = build.build<aten::LeScalarOp>(q, max);
  Value value = build.mul(
      build.sub(build.build<aten::ClampOp>(q, min, max), zeroPoint), scale);
  if (!value || !isAbove || !isBelow)
    return failure();
  Value isInside = build.build<aten::LogicalAndOp>(isAbove, isBelow);
  Value slope =
      build.expand(call.convert(isInside, call.typeOf("self").getElementType()),
                   call.typeOf("self").getShape());
  value = call.followSelf(call.convert(value, getElementTypeOrSelf(self)));
  return build.finish(build.withSlopes(value, {{self, slope}}));
}

/// `self` as PyTorch's kernels compute with it: 16 bits in f32, which a policy
/// does not change.
static Value readWide(NodeCall &call) {
  Value self = call.tensor("self");
  Type f32 = call.builder().getF32Type();
  return getElementTypeOrSelf(self).isF64()
             ? self
             : aten::ToOp::create(call.builder(), call.loc(), self, f32);
}

/// The numbers of a module that was prepared: PyTorch has the scale in f32.
static LogicalResult translateNumbers(NodeCall &call) {
  Decomposition build(call);
  Value wide = readWide(call);
  auto scale = static_cast<float>(call.number("scale"));
  return quantize(call, wide, build.constant(scale, wide),
                  build.constant(double(call.integer("zero_point")), wide));
}

static LogicalResult translateTensors(NodeCall &call) {
  Decomposition build(call);
  RankedTensorType type = call.typeOf("self");
  SmallVector<int64_t> shape(type.getRank(), 1);
  if (call.hasParameter("axis")) {
    FailureOr<int64_t> axis = call.dimension("axis", type.getRank());
    if (failed(axis))
      return failure();
    shape[*axis] = type.getDimSize(*axis);
  }
  Value wide = readWide(call);
  auto alongAxis = [&](StringRef name) {
    return build.view(build.detach(call.convert(call.tensor(name),
                                                getElementTypeOrSelf(wide))),
                      shape);
  };
  Value scale = alongAxis("scale"), zeroPoint = alongAxis("zero_point");
  return scale && zeroPoint ? quantize(call, wide, scale, zeroPoint)
                            : failure();
}

void translation::addQuantizationOperators(OperatorTable &table) {
  table.add("fake_quantize_per_tensor_affine(Tensor self, float scale, "
            "int zero_point, int quant_min, int quant_max) -> Tensor",
            translateNumbers);
  table.add("fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, "
            "Tensor scale, Tensor zero_point, int quant_min, int quant_max) "
            "-> Tensor",
            translateTensors);
  table.add("fake_quantize_per_channel_affine(Tensor self, Tensor scale, "
            "Tensor zero_point, int axis, int quant_min, int quant_max) -> "
            "Tensor",
            translateTensors);
}
