//===- SaturateExtremes.cpp - torch.finfo(x.dtype).min under a policy -----===//
// SPDX-License-Identifier: Apache-2.0
//
// A model masks with the least number of a dtype, which an export in f32 has as
// a number of f32. Where the policy makes a narrower dtype of it, it would
// round to an infinity, and a row of nothing else has no softmax:
//
//   %min = aten.constant dense<-3.40282347E+38> : tensor<f32>
//   aten.where %mask, %min, %x : (…i1, …f32, …f16) -> tensor<4x4xf16>
//   -> %min = aten.constant dense<-6.550400e+04> : tensor<f32>
//
// Follows what follows a dtype (`aten.to.other`, promotion of a number) back to
// constants, through operators that choose and move elements. Keeps every type.
//===----------------------------------------------------------------------===//

#include "passes/Precision/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/ModulePath.h"
#include "passes/Precision/SilentConversions.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

#include <memory>

#define DEBUG_TYPE "shardc-saturate-extremes"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_SATURATEEXTREMESPASS
#include "passes/Precision/Passes.h.inc"

namespace {

struct SaturateExtremesPass
    : impl::SaturateExtremesPassBase<SaturateExtremesPass> {
  void runOnOperation() override;
};

/// Makes values in which extremes of wider dtypes are those of `narrow`.
class Saturation {
public:
  explicit Saturation(FloatType narrow) : narrow(narrow) {}

  /// `value` with such elements saturated, or `value` itself. The operators
  /// behind it are cloned: others may use them in the wide dtype.
  Value saturate(Value value);
  /// Saturates what the attributes of `op` hold. Returns whether any did.
  bool saturateAttributes(Operation *op);

private:
  FloatType narrow;
  DenseMap<Value, Value> saturated;

  std::optional<APFloat> saturate(const APFloat &number) const;
  Value saturateConstant(aten::ConstantOp constant);
};

} // namespace

static APFloat largest(FloatType type) {
  return APFloat::getLargest(type.getFloatSemantics());
}

static APFloat converted(APFloat number, FloatType type) {
  bool losesInfo = false;
  number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number;
}

/// `number` in its own format if it is the greatest or least one of a dtype
/// that `narrow` has no number for.
std::optional<APFloat> Saturation::saturate(const APFloat &number) const {
  if (!number.isFinite() || converted(number, narrow).isFinite())
    return std::nullopt;
  MLIRContext *context = narrow.getContext();
  APFloat magnitude = abs(number);
  for (FloatType wide : {FloatType(Float64Type::get(context)),
                         FloatType(Float32Type::get(context)),
                         FloatType(BFloat16Type::get(context))}) {
    APFloat extreme = largest(wide);
    bool losesInfo = false;
    extreme.convert(number.getSemantics(), APFloat::rmTowardZero, &losesInfo);
    if (!magnitude.bitwiseIsEqual(extreme))
      continue;
    APFloat result = largest(narrow);
    result.convert(number.getSemantics(), APFloat::rmTowardZero, &losesInfo);
    if (number.isNegative())
      result.changeSign();
    return result;
  }
  return std::nullopt;
}

Value Saturation::saturateConstant(aten::ConstantOp constant) {
  auto elements = dyn_cast<DenseFPElementsAttr>(constant.getValue());
  if (!elements)
    return constant;
  bool changes = false;
  auto saturateElement = [&](const APFloat &number) {
    std::optional<APFloat> result = saturate(number);
    changes |= result.has_value();
    return result.value_or(number);
  };
  DenseElementsAttr result;
  if (elements.isSplat())
    result = DenseElementsAttr::get(
        elements.getType(), saturateElement(elements.getSplatValue<APFloat>()));
  else
    result = DenseElementsAttr::get(
        elements.getType(),
        llvm::map_to_vector(elements.getValues<APFloat>(), saturateElement));
  if (!changes)
    return constant;
  OpBuilder builder(constant);
  return aten::ConstantOp::create(builder, constant.getLoc(), result);
}

bool Saturation::saturateAttributes(Operation *op) {
  bool changes = false;
  for (NamedAttribute attribute :
       llvm::to_vector(op->getAttrDictionary().getValue()))
    if (auto number = dyn_cast<FloatAttr>(attribute.getValue()))
      if (std::optional<APFloat> result = saturate(number.getValue())) {
        op->setAttr(attribute.getName(),
                    FloatAttr::get(number.getType(), *result));
        changes = true;
      }
  return changes;
}

/// Whether the elements of the result are elements of operands, or a number of
/// the operator for some.
static bool choosesElements(Operation *op) {
  return isa<aten::ViewOp, aten::PermuteOp, aten::ExpandOp, aten::SliceOp,
             aten::CatOp, aten::SliceScatterOp, aten::WhereOp, aten::TrilOp,
             aten::TriuOp, aten::RollOp, aten::FlipOp, aten::IndexOp,
             aten::IndexPutOp, aten::GatherOp, aten::ScatterOp, aten::PadOp,
             aten::MaskedScatterOp, aten::DetachOp, aten::MulScalarOp,
             aten::MulOp, fsdp::CaptureOp>(op);
}

Value Saturation::saturate(Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  Operation *op = value.getDefiningOp();
  if (!op || !isa<FloatType>(element) ||
      element.getIntOrFloatBitWidth() <= narrow.getWidth())
    return value;
  if (Value known = saturated.lookup(value))
    return known;
  Value result = value;
  if (auto constant = dyn_cast<aten::ConstantOp>(op)) {
    result = saturateConstant(constant);
  } else if (choosesElements(op)) {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, saturate(operand));
    OpBuilder builder(op);
    Operation *clone = builder.clone(*op, mapping);
    bool changes = saturateAttributes(clone);
    for (Value operand : op->getOperands())
      changes |= mapping.lookup(operand) != operand;
    if (changes)
      result = clone->getResult(cast<OpResult>(value).getResultNumber());
    else
      clone->erase();
  }
  return saturated[value] = result;
}

/// The dtype that an operator makes of its operands without being told by the
/// model's author; null where it makes none narrower.
static FloatType followedDtype(Operation *op) {
  if (op->getNumResults() != 1 || !isa<aten::AtenDialect>(op->getDialect()))
    return {};
  if (isa<aten::ToOp>(op) && !op->hasAttr(followingConversion))
    return {};
  auto type = dyn_cast<FloatType>(getElementTypeOrSelf(op->getResult(0)));
  return type && type.getWidth() < 32 ? type : FloatType();
}

/// E0227: what PyTorch refuses to fill a tensor with.
static LogicalResult verifyFill(aten::WhereOp where) {
  auto constant = where.getSelf().getDefiningOp<aten::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue())
                           : DenseFPElementsAttr();
  auto type = dyn_cast<FloatType>(getElementTypeOrSelf(where.getType()));
  if (!elements || !elements.isSplat() || !type)
    return success();
  APFloat number = elements.getSplatValue<APFloat>();
  if (!number.isFinite() || converted(number, type).isFinite())
    return success();
  InFlightDiagnostic error = emitNumberedError(where, "E0227");
  error << "masked_fill with " << number.convertToDouble() << " overflows "
        << type << " under the policy; PyTorch refuses it too";
  error.attachNote() << "help: fill with torch.finfo(x.dtype).min or with "
                        "float('-inf')";
  return error;
}

void SaturateExtremesPass::runOnOperation() {
  DenseMap<Type, std::unique_ptr<Saturation>> saturations;
  SmallVector<Operation *> following;
  getOperation().walk([&](Operation *op) {
    if (followedDtype(op))
      following.push_back(op);
  });
  for (Operation *op : following) {
    FloatType narrow = followedDtype(op);
    auto &saturation = saturations[narrow];
    if (!saturation)
      saturation = std::make_unique<Saturation>(narrow);
    saturation->saturateAttributes(op);
    for (OpOperand &operand : op->getOpOperands())
      operand.set(saturation->saturate(operand.get()));
    op->removeAttr(followingConversion);
  }
  WalkResult result =
      getOperation().walk([](aten::WhereOp where) -> WalkResult {
        bool isFill = where->hasAttr(aten::fillAttribute);
        where->removeAttr(aten::fillAttribute);
        return isFill ? verifyFill(where) : success();
      });
  if (result.wasInterrupted())
    signalPassFailure();
}

} // namespace shardc
