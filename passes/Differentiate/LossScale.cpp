//===- LossScale.cpp - What the loss is multiplied by ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The numbers are GradScaler's defaults, the rules those of
// torch._amp_update_scale_ (aten/src/ATen/native/cuda/AmpKernels.cu).
//===----------------------------------------------------------------------===//

#include "passes/Differentiate/LossScale.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/ModulePath.h"
#include "passes/Differentiate/Optimizers.h"

#include <cmath>

using namespace mlir;

namespace shardc {

static constexpr double firstScale = 65536, growthFactor = 2,
                        backoffFactor = 0.5, growthInterval = 2000;
/// A scale of f32, as the loss has it, grows no further.
static constexpr double largestScale = 0x1p127;
static constexpr StringLiteral scaleKey = "next_loss_scale";
static constexpr StringLiteral trackerKey = "growth_tracker";

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

std::string numberSymbol(StringRef key) { return ("optimizer#" + key).str(); }

void declareNumber(OpBuilder &declarations, Location location, StringRef key,
                   Type element) {
  fsdp::StateOp::create(
      declarations, location, declarations.getStringAttr(numberSymbol(key)),
      declarations.getStringAttr(key), FlatSymbolRefAttr(), IntegerAttr(),
      TypeAttr::get(RankedTensorType::get({}, element)));
}

Value readNumber(OpBuilder &builder, Location location, StringRef key) {
  auto type = RankedTensorType::get({}, builder.getF64Type());
  return fsdp::ReadOp::create(
      builder, location, type,
      FlatSymbolRefAttr::get(builder.getContext(), numberSymbol(key)));
}

void writeNumber(OpBuilder &builder, Location location, Value value,
                 StringRef key) {
  fsdp::WriteOp::create(builder, location, value, numberSymbol(key));
}

//===----------------------------------------------------------------------===//
// The scale
//===----------------------------------------------------------------------===//

std::optional<LossScale> LossScale::parse(StringRef text) {
  if (text == "dynamic")
    return LossScale(std::nullopt);
  double number = 0;
  if (text.getAsDouble(number) || !std::isfinite(number) || number <= 0)
    return std::nullopt;
  return LossScale(number);
}

FailureOr<LossScale> LossScale::parse(StringRef text, ModuleOp module) {
  if (std::optional<LossScale> scale = parse(text))
    return *scale;
  return emitNumberedError(module, "E0225")
             << "expected a positive loss scale or dynamic, got '" << text
             << "'",
         failure();
}

double LossScale::getFirst() const { return constant.value_or(firstScale); }

void LossScale::declare(OpBuilder &declarations, Location location) const {
  for (StringRef key : {scaleKey, trackerKey})
    if (isDynamic())
      declareNumber(declarations, location, key, declarations.getF64Type());
}

static Expression constantOf(OpBuilder &builder, Location location,
                             double number) {
  auto type = RankedTensorType::get({}, builder.getF64Type());
  return {builder, location,
          aten::ConstantOp::create(builder, location, type,
                                   DenseElementsAttr::get(type, number))};
}

static Expression where(Value condition, Expression a, Expression b) {
  return {a.getBuilder(), a.getLoc(),
          aten::WhereOp::create(a.getBuilder(), a.getLoc(), condition, a.get(),
                                b.get())};
}

/// States are zero before the first step, which no scale is.
Value LossScale::build(OpBuilder &builder, Location location) const {
  Expression first = constantOf(builder, location, getFirst());
  if (!isDynamic())
    return first.get();
  Value kept = readNumber(builder, location, scaleKey);
  Value isUnset = aten::EqScalarOp::create(builder, location, kept,
                                           builder.getF64FloatAttr(0));
  return where(isUnset, first, {builder, location, kept}).get();
}

void LossScale::update(OpBuilder &builder, Location location,
                       Value allFinite) const {
  if (!isDynamic())
    return;
  Expression scale = {builder, location, build(builder, location)};
  Expression zero = constantOf(builder, location, 0);
  Expression tracker = {builder, location,
                        readNumber(builder, location, trackerKey)};
  tracker = tracker + 1.0;
  Value grows =
      aten::GeScalarOp::create(builder, location, tracker.get(),
                               builder.getF64FloatAttr(growthInterval));
  Expression grown = clampMax(growthFactor * scale, largestScale);
  writeNumber(
      builder, location,
      where(allFinite, where(grows, grown, scale), backoffFactor * scale).get(),
      scaleKey);
  writeNumber(builder, location,
              where(allFinite, where(grows, zero, tracker), zero).get(),
              trackerKey);
}

} // namespace shardc
