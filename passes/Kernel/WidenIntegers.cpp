//===- WidenIntegers.cpp - Arithmetic of bytes in 32 bits -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %1 = aten.add %0, %0 : (tensor<4xui8>, …)
//   -> %b = exec.view %0 … : tensor<4xui8> -> tensor<4xi8>
//      %w = aten.bitwise_and (aten.to %b i32), 255
//      %s = aten.add %w, %w : (tensor<4xi32>, …)
//      %1 = aten.to %s i8
//
// The bits of an unsigned tensor are those of a signed one, which is what
// kernels load and store; the value is widened from them. What is computed from
// widened integers is right in its low bits, which are kept.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Composition.h"
#include "dialects/Exec/Exec.h"
#include "dialects/Exec/Layout.h"

#include "mlir/IR/IRMapping.h"

#define DEBUG_TYPE "shardc-widen-integers"

using namespace mlir;
using shardc::aten::Composition;
using shardc::aten::elementOf;
using shardc::aten::tensorType;

namespace shardc {
#define GEN_PASS_DEF_WIDENINTEGERSPASS
#include "passes/Kernel/Passes.h.inc"

namespace {

struct WidenIntegersPass : impl::WidenIntegersPassBase<WidenIntegersPass> {
  void runOnOperation() override;
};

/// Rewrites operations in their order.
class IntegerWidener {
public:
  void rewrite(Operation *op);
  void eraseReplaced();

private:
  void rewriteConversion(aten::ToOp op);
  void rewriteConstant(aten::ConstantOp op);
  void rewriteView(Operation *op);
  void rewriteComputation(Operation *op);

  Value bitsOf(Value value);
  Value wide(Composition &c, Value value, unsigned width);
  void setBits(Value value, Value bits);

  /// Of unsigned tensors, the signed ones of the same bits.
  DenseMap<Value, Value> bits;
  SmallVector<Operation *> replaced;
};

} // namespace

static bool isUnsigned(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getElementType().isUnsignedInteger();
}

/// What `op` computes integers of fewer bits in: the library sorts i64.
static unsigned widthOf(Operation *op) {
  return isa<aten::SortOp, aten::TopkOp>(op) ? 64 : 32;
}

/// Whether `op` does not compute with integers of `type` as they are. Bits,
/// which are booleans, are no numbers.
static bool isNarrow(Type type, Operation *op) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto integer =
      tensor ? dyn_cast<IntegerType>(tensor.getElementType()) : IntegerType();
  return integer && integer.getWidth() < widthOf(op) &&
         (integer.getWidth() > 1 || isa<aten::SortOp, aten::TopkOp>(op));
}

static bool isOfAten(Operation *op) {
  return isa_and_nonnull<aten::AtenDialect>(op->getDialect());
}

/// The signless type of as many bits.
static Type signless(Type element) {
  return IntegerType::get(element.getContext(),
                          element.getIntOrFloatBitWidth());
}

/// `value` as a tensor of `element`, which has as many bits.
static Value reinterpret(OpBuilder &builder, Value value, Type element) {
  RankedTensorType type = tensorType(value);
  return exec::ViewOp::create(builder, value.getLoc(), type.clone(element),
                              value, 0, exec::getStrides(value));
}

Value IntegerWidener::bitsOf(Value value) {
  Value &known = bits[value];
  if (!known) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    known = reinterpret(builder, value, signless(elementOf(value)));
  }
  return known;
}

/// The numbers of `value` in signed integers of `width` bits.
Value IntegerWidener::wide(Composition &c, Value value, unsigned width) {
  Type type = IntegerType::get(value.getContext(), width);
  if (!isUnsigned(value.getType()))
    return c.to(value, type);
  double mask = (1 << elementOf(value).getIntOrFloatBitWidth()) - 1;
  return c.create<aten::BitwiseAndOp>(
      c.to(bitsOf(value), type),
      c.splat(RankedTensorType::get({}, type), mask));
}

/// `bits` stand for `value`, also where operations of other dialects use it.
void IntegerWidener::setBits(Value value, Value made) {
  bits[value] = made;
  Value back;
  for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
    if (isOfAten(use.getOwner()))
      continue;
    if (!back) {
      OpBuilder builder(value.getContext());
      builder.setInsertionPointAfterValue(made);
      back = reinterpret(builder, made, elementOf(value));
    }
    use.set(back);
  }
}

void IntegerWidener::rewriteConversion(aten::ToOp op) {
  bool makesUnsigned = isUnsigned(op.getType());
  if (!makesUnsigned && !isUnsigned(op.getSelf().getType()))
    return;
  OpBuilder builder(op);
  Composition c(builder, op.getLoc());
  Value self = op.getSelf();
  if (isUnsigned(self.getType()))
    self = wide(c, self, widthOf(op));
  if (makesUnsigned)
    setBits(op, c.to(self, signless(elementOf(op))));
  else
    op.getResult().replaceAllUsesWith(c.to(self, elementOf(op)));
  replaced.push_back(op);
}

void IntegerWidener::rewriteConstant(aten::ConstantOp op) {
  if (!isUnsigned(op.getType()))
    return;
  Type element = signless(elementOf(op));
  SmallVector<APInt> values(
      cast<ElementsAttr>(op.getValue()).getValues<APInt>());
  OpBuilder builder(op);
  setBits(op,
          aten::ConstantOp::create(
              builder, op.getLoc(),
              DenseElementsAttr::get(tensorType(op).clone(element), values)));
  replaced.push_back(op);
}

/// A view of the same bits. Where another dialect uses it, it stays as well.
void IntegerWidener::rewriteView(Operation *op) {
  Value result = op->getResult(0);
  if (!isUnsigned(result.getType()))
    return;
  OpBuilder builder(op);
  IRMapping mapping;
  mapping.map(op->getOperand(0), bitsOf(op->getOperand(0)));
  Value made = builder.clone(*op, mapping)->getResult(0);
  made.setType(tensorType(result).clone(signless(elementOf(result))));
  bits[result] = made;
  replaced.push_back(op);
}

void IntegerWidener::rewriteComputation(Operation *op) {
  OpBuilder builder(op);
  Composition c(builder, op->getLoc());
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (isNarrow(operand.getType(), op) && !mapping.contains(operand))
      mapping.map(operand, wide(c, operand, widthOf(op)));
  Operation *widened = builder.clone(*op, mapping);
  for (auto [result, made] :
       llvm::zip_equal(op->getResults(), widened->getResults())) {
    if (!isNarrow(result.getType(), op)) {
      result.replaceAllUsesWith(made);
      continue;
    }
    made.setType(tensorType(result).clone(
        IntegerType::get(op->getContext(), widthOf(op))));
    Value low = c.to(made, signless(elementOf(result)));
    if (isUnsigned(result.getType()))
      setBits(result, low);
    else
      result.replaceAllUsesWith(low);
  }
  replaced.push_back(op);
}

void IntegerWidener::rewrite(Operation *op) {
  if (auto conversion = dyn_cast<aten::ToOp>(op))
    return rewriteConversion(conversion);
  if (auto constant = dyn_cast<aten::ConstantOp>(op))
    return rewriteConstant(constant);
  if (op->hasTrait<aten::IsView>())
    return rewriteView(op);
  rewriteComputation(op);
}

void IntegerWidener::eraseReplaced() {
  for (Operation *op : llvm::reverse(replaced))
    if (op->use_empty())
      op->erase();
}

void WidenIntegersPass::runOnOperation() {
  SmallVector<Operation *> narrow;
  getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto isHere = [&](Type type) { return isNarrow(type, op); };
    if (isOfAten(op) && (llvm::any_of(op->getOperandTypes(), isHere) ||
                         llvm::any_of(op->getResultTypes(), isHere)))
      narrow.push_back(op);
  });
  IntegerWidener widener;
  for (Operation *op : narrow)
    widener.rewrite(op);
  widener.eraseReplaced();
}

} // namespace shardc
