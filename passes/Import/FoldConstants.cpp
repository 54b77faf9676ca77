//===- FoldConstants.cpp - Computes what depends on constants alone -------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %0 = aten.constant dense<[0, 1]> ; %1 = aten.view %0 [2, 1]
//   -> %1 = aten.constant dense<[[0], [1]]>
//
// Elements have the bits that PyTorch on a CPU computes: bf16 and f16 are
// computed in f32 and rounded once. Operators without a rule here stay.
//===----------------------------------------------------------------------===//

#include "passes/Import/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/TypeSwitch.h"

#define DEBUG_TYPE "shardc-fold-constants"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_FOLDCONSTANTSPASS
#include "passes/Import/Passes.h.inc"

namespace {

using Index = ArrayRef<int64_t>;

struct FoldConstantsPass : impl::FoldConstantsPassBase<FoldConstantsPass> {
  using Base::Base;
  void runOnOperation() override;
};

/// A constant that is read by multi-dimensional index.
class ConstantTensor {
public:
  explicit ConstantTensor(DenseElementsAttr value)
      : type(cast<RankedTensorType>(value.getType())),
        elements(value.getValues<Attribute>()) {}

  RankedTensorType getType() const { return type; }

  Attribute at(Index index) const {
    int64_t linear = 0;
    for (auto [i, size] : llvm::zip_equal(index, type.getShape()))
      linear = linear * size + i;
    return *(elements.begin() + linear);
  }

  /// The element that broadcasting shows at `index` of a larger shape.
  Attribute atBroadcast(Index index) const {
    SmallVector<int64_t> own(index.take_back(type.getRank()));
    for (auto [i, size] : llvm::zip_equal(own, type.getShape()))
      i = size == 1 ? 0 : i;
    return at(own);
  }

private:
  RankedTensorType type;
  decltype(std::declval<DenseElementsAttr>().getValues<Attribute>()) elements;
};

} // namespace

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// The type that PyTorch computes with: f32 for the 16-bit floats.
static FloatType computeType(FloatType type) {
  return type.getWidth() < 32 ? Float32Type::get(type.getContext()) : type;
}

static APFloat roundTo(APFloat value, FloatType type) {
  bool losesInformation = false;
  for (FloatType step : {computeType(type), type})
    value.convert(step.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &losesInformation);
  return value;
}

static Attribute convertElement(Attribute element, Type target) {
  auto toFloat = dyn_cast<FloatType>(target);
  if (auto source = dyn_cast<FloatAttr>(element)) {
    if (toFloat)
      return FloatAttr::get(toFloat, roundTo(source.getValue(), toFloat));
    if (target.isInteger(1))
      return IntegerAttr::get(target, !source.getValue().isZero());
    bool isExact = false;
    APSInt integer(target.getIntOrFloatBitWidth(), /*isUnsigned=*/false);
    source.getValue().convertToInteger(integer, APFloat::rmTowardZero,
                                       &isExact);
    return IntegerAttr::get(target, integer);
  }
  APInt source = cast<IntegerAttr>(element).getValue();
  bool isSigned = !cast<IntegerAttr>(element).getType().isInteger(1) &&
                  !cast<IntegerAttr>(element).getType().isUnsignedInteger();
  if (!toFloat) {
    if (target.isInteger(1))
      return IntegerAttr::get(target, !source.isZero());
    unsigned bits = target.getIntOrFloatBitWidth();
    return IntegerAttr::get(target, isSigned ? source.sextOrTrunc(bits)
                                             : source.zextOrTrunc(bits));
  }
  APFloat value(computeType(toFloat).getFloatSemantics());
  value.convertFromAPInt(source, isSigned, APFloat::rmNearestTiesToEven);
  return FloatAttr::get(toFloat, roundTo(value, toFloat));
}

enum class Arithmetic { Add, Subtract, Multiply };

static Attribute compute(Arithmetic kind, Attribute left, Attribute right,
                         Type type) {
  if (auto element = dyn_cast<FloatType>(type)) {
    FloatType computed = computeType(element);
    APFloat value = cast<FloatAttr>(convertElement(left, computed)).getValue();
    APFloat other = cast<FloatAttr>(convertElement(right, computed)).getValue();
    auto rounding = APFloat::rmNearestTiesToEven;
    if (kind == Arithmetic::Add)
      value.add(other, rounding);
    else if (kind == Arithmetic::Subtract)
      value.subtract(other, rounding);
    else
      value.multiply(other, rounding);
    return FloatAttr::get(element, roundTo(value, element));
  }
  APInt value = cast<IntegerAttr>(convertElement(left, type)).getValue();
  APInt other = cast<IntegerAttr>(convertElement(right, type)).getValue();
  if (kind == Arithmetic::Add)
    value += other;
  else if (kind == Arithmetic::Subtract)
    value -= other;
  else
    value *= other;
  return IntegerAttr::get(type, value);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// The constant whose element at each index is `element(index)`.
static DenseElementsAttr makeConstant(RankedTensorType type,
                                      function_ref<Attribute(Index)> element) {
  SmallVector<Attribute> elements;
  SmallVector<int64_t> index(type.getRank(), 0);
  for (int64_t count = type.getNumElements(); count > 0; --count) {
    elements.push_back(element(index));
    for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
      if (++index[dim] < type.getDimSize(dim))
        break;
      index[dim] = 0;
    }
  }
  return DenseElementsAttr::get(type, elements);
}

static DenseElementsAttr foldArithmetic(Arithmetic kind, RankedTensorType type,
                                        const ConstantTensor &left,
                                        const ConstantTensor &right) {
  return makeConstant(type, [&](Index index) {
    return compute(kind, left.atBroadcast(index), right.atBroadcast(index),
                   type.getElementType());
  });
}

static DenseElementsAttr foldScalar(Arithmetic kind, RankedTensorType type,
                                    const ConstantTensor &self,
                                    TypedAttr scalar) {
  return makeConstant(type, [&](Index index) {
    return compute(kind, self.at(index), scalar, type.getElementType());
  });
}

static DenseElementsAttr foldPermute(aten::PermuteOp op, RankedTensorType type,
                                     const ConstantTensor &self) {
  return makeConstant(type, [&](Index index) {
    SmallVector<int64_t> source(index.size());
    for (auto [i, dim] : llvm::zip_equal(index, op.getDims()))
      source[dim] = i;
    return self.at(source);
  });
}

static DenseElementsAttr foldSlice(aten::SliceOp op, RankedTensorType type,
                                   const ConstantTensor &self) {
  return makeConstant(type, [&](Index index) {
    SmallVector<int64_t> source(index);
    source[op.getDim()] += op.getStart();
    return self.at(source);
  });
}

static DenseElementsAttr foldCat(aten::CatOp op, RankedTensorType type,
                                 ArrayRef<ConstantTensor> tensors) {
  return makeConstant(type, [&](Index index) {
    SmallVector<int64_t> source(index);
    int64_t &position = source[op.getDim()];
    const ConstantTensor *tensor = tensors.begin();
    while (position >= tensor->getType().getDimSize(op.getDim()))
      position -= (tensor++)->getType().getDimSize(op.getDim());
    return convertElement(tensor->at(source), type.getElementType());
  });
}

/// The value of `op` on constant operands; null when there is no rule.
static DenseElementsAttr evaluate(Operation *op,
                                  ArrayRef<DenseElementsAttr> operands) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<ConstantTensor> tensors;
  for (DenseElementsAttr operand : operands)
    tensors.emplace_back(operand);
  return llvm::TypeSwitch<Operation *, DenseElementsAttr>(op)
      .Case([&](aten::ViewOp) {
        DenseElementsAttr value = operands[0];
        return value.reshape(type);
      })
      .Case([&](aten::ExpandOp) {
        return makeConstant(
            type, [&](Index index) { return tensors[0].atBroadcast(index); });
      })
      .Case(
          [&](aten::PermuteOp op) { return foldPermute(op, type, tensors[0]); })
      .Case([&](aten::SliceOp op) { return foldSlice(op, type, tensors[0]); })
      .Case([&](aten::CatOp op) { return foldCat(op, type, tensors); })
      .Case([&](aten::ToOp) {
        return makeConstant(type, [&](Index index) {
          return convertElement(tensors[0].at(index), type.getElementType());
        });
      })
      .Case([&](aten::AddOp) {
        return foldArithmetic(Arithmetic::Add, type, tensors[0], tensors[1]);
      })
      .Case([&](aten::SubOp) {
        return foldArithmetic(Arithmetic::Subtract, type, tensors[0],
                              tensors[1]);
      })
      .Case([&](aten::MulOp) {
        return foldArithmetic(Arithmetic::Multiply, type, tensors[0],
                              tensors[1]);
      })
      .Case([&](aten::AddScalarOp op) {
        return foldScalar(Arithmetic::Add, type, tensors[0], op.getOther());
      })
      .Case([&](aten::MulScalarOp op) {
        return foldScalar(Arithmetic::Multiply, type, tensors[0],
                          op.getOther());
      })
      .Default(DenseElementsAttr());
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static void foldOperation(Operation *op, int64_t maxElements) {
  if (!isa<aten::AtenDialect>(op->getDialect()) || op->getNumResults() != 1 ||
      op->getNumOperands() == 0 ||
      cast<RankedTensorType>(op->getResult(0).getType()).getNumElements() >
          maxElements)
    return;
  SmallVector<DenseElementsAttr> operands;
  for (Value operand : op->getOperands()) {
    auto constant = operand.getDefiningOp<aten::ConstantOp>();
    auto value = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                          : DenseElementsAttr();
    if (!value)
      return;
    operands.push_back(value);
  }
  DenseElementsAttr value = evaluate(op, operands);
  if (!value)
    return;
  OpBuilder builder(op);
  auto folded = aten::ConstantOp::create(builder, op->getLoc(), value);
  folded->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op->getResult(0).replaceAllUsesWith(folded.getResult());
  op->erase();
}

void FoldConstantsPass::runOnOperation() {
  for (Operation &op :
       llvm::make_early_inc_range(getOperation().getBody().front()))
    foldOperation(&op, maxElements);
  for (auto constant : llvm::make_early_inc_range(
           getOperation().getBody().front().getOps<aten::ConstantOp>()))
    if (constant->use_empty())
      constant->erase();
}

} // namespace shardc
