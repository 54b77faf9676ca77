//===- SplitComplex.cpp - Operators that move complex numbers -------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %r = aten.index %z, [%i] dims [0] : tensor<4xcomplex<f32>>
//   -> %re = aten.index %real, [%i]     of the first numbers of %z's pairs
//      %im = aten.index %imag, [%i]     of the second ones
//      %r = aten.view_as_complex of both : tensor<2xcomplex<f32>>
//
// An operator that moves, chooses or adds up elements does so with both numbers
// of a complex one alike, so that its derivative, its meaning and its kernels
// of real elements serve. Keeps the operator and all its attributes.
//===----------------------------------------------------------------------===//

#include "passes/Import/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Gradients.h"
#include "dialects/Aten/TypePromotion.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

#define DEBUG_TYPE "shardc-split-complex"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_SPLITCOMPLEXPASS
#include "passes/Import/Passes.h.inc"

namespace {

struct SplitComplexPass : impl::SplitComplexPassBase<SplitComplexPass> {
  void runOnOperation() override;
};

/// Writes one operator twice, on the real and on the imaginary parts.
class PartWriter {
public:
  explicit PartWriter(Operation *op)
      : op(op), builder(op),
        part(cast<FloatType>(
            cast<ComplexType>(getElementTypeOrSelf(op->getResult(0)))
                .getElementType())) {}

  /// The complex result of both.
  Value write();

private:
  Operation *op;
  OpBuilder builder;
  FloatType part;

  template <typename Op, typename... Arguments>
  Value create(Arguments &&...arguments) {
    auto created = Op::create(builder, op->getLoc(),
                              std::forward<Arguments>(arguments)...);
    created->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    return created.getResult();
  }
  Value partOf(Value value, int64_t which);
  Value zeros(Value like);
  Value writePart(int64_t which);
};

} // namespace

/// Whether `op` is linear in its floating-point operands with real factors: the
/// real part of its result is that of real parts, and so is the imaginary one.
static bool actsOnParts(Operation *op) {
  using namespace aten;
  if (auto reduce = dyn_cast<ScatterReduceOp>(op))
    return reduce.getReduce() == ScatterReduction::sum ||
           reduce.getReduce() == ScatterReduction::mean;
  return isa<SliceScatterOp, PadOp, RollOp, FlipOp, IndexOp, IndexPutOp,
             GatherOp, ScatterOp, MaskedScatterOp, TrilOp, TriuOp, AsStridedOp,
             AsStridedScatterOp, EmbeddingOp, WhereOp, CumsumOp>(op);
}

static bool isComplex(Type type) {
  return isa<ComplexType>(getElementTypeOrSelf(type));
}

Value PartWriter::zeros(Value like) {
  auto type = RankedTensorType::get({}, part);
  Value zero = create<aten::ConstantOp>(
      DenseElementsAttr::get(type, builder.getFloatAttr(part, 0.0)));
  return create<aten::ExpandOp>(zero, aten::tensorType(like).getShape());
}

/// The real (0) or imaginary (1) part of an operand; indices and masks are
/// themselves.
Value PartWriter::partOf(Value value, int64_t which) {
  auto type = cast<RankedTensorType>(value.getType());
  if (isa<FloatType>(type.getElementType())) {
    if (which == 1)
      return zeros(value);
    return type.getElementType() == part ? value
                                         : create<aten::ToOp>(value, part);
  }
  if (!isComplex(type))
    return value;
  auto complex = value.getDefiningOp<aten::ViewAsComplexOp>();
  Value pairs = complex ? complex.getSelf() : create<aten::ViewAsRealOp>(value);
  Value column = create<aten::SliceOp>(pairs, type.getRank(), which, which + 1);
  Value number = create<aten::ViewOp>(column, type.getShape());
  return getElementTypeOrSelf(number) == part
             ? number
             : create<aten::ToOp>(number, part);
}

Value PartWriter::writePart(int64_t which) {
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (!mapping.contains(operand))
      mapping.map(operand, partOf(operand, which));
  Operation *copy = builder.clone(*op, mapping);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  copy->getResult(0).setType(type.clone(part));
  // A number that fills in is real.
  if (auto pad = dyn_cast<aten::PadOp>(copy); pad && which == 1)
    pad.setValue(APFloat(0.0));
  return copy->getResult(0);
}

Value PartWriter::write() {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.push_back(1);
  SmallVector<Value> columns;
  for (int64_t which : {0, 1})
    columns.push_back(create<aten::ViewOp>(writePart(which), shape));
  Value pairs = create<aten::CatOp>(columns, type.getRank());
  return create<aten::ViewAsComplexOp>(pairs);
}

void SplitComplexPass::runOnOperation() {
  SmallVector<Operation *> found;
  getOperation().walk([&](Operation *op) {
    if (op->getNumResults() == 1 && isComplex(op->getResult(0).getType()) &&
        actsOnParts(op))
      found.push_back(op);
  });
  for (Operation *op : found) {
    op->getResult(0).replaceAllUsesWith(PartWriter(op).write());
    op->erase();
  }
}

} // namespace shardc
