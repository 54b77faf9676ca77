//===- PadClasses.cpp - Logits in whole lines of memory -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %y = linear %x, %w             [rows, 50257]
//   cross_entropy_loss %y, %t
//   -> %y = linear %x, cat(%w, 0), cat(0, -inf)      [rows, 50304]
//      cross_entropy_loss %y, %t
//
// A class whose logit is -infinity has probability 0 and gradient 0. With it a
// row begins at a multiple of what a vector and the tensor cores' library take
// at a time; the gradients of the classes that there are are slices, and so is
// what anything else reads.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Passes.h"

#include "dialects/Aten/Composition.h"
#include "dialects/Aten/ElementBytes.h"
#include "passes/Kernel/TargetOf.h"

#include "llvm/ADT/DenseMap.h"

#include <limits>

#define DEBUG_TYPE "shardc-pad-classes"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_PADCLASSESPASS
#include "passes/Kernel/Passes.h.inc"

namespace {

struct PadClassesPass : impl::PadClassesPassBase<PadClassesPass> {
  void runOnOperation() override;
};

/// Pads what one linear layer computes for a loss, and its gradients.
class ClassPadding {
public:
  ClassPadding(aten::LinearOp linear, int64_t padded)
      : linear(linear), padded(padded),
        classes(aten::shapeOf(linear.getResult()).back()) {}

  /// Gives the loss, whose logits are made by `chain` from the layer's result,
  /// and its gradients more classes.
  void apply(aten::CrossEntropyLossOp loss, ArrayRef<Operation *> chain);

private:
  Value padRows(aten::Composition &at, Value tensor, double number);
  RankedTensorType padLast(Type type) const;
  void padLinear();
  Value padStep(Operation *step, Value operand);
  void replaceByParts(Value whole, Value partial);
  void padGradient(Value before, Value after);

  aten::LinearOp linear;
  int64_t padded, classes;
  /// What stands for a value with more classes.
  llvm::DenseMap<Value, Value> wide;
  /// The same for the layer's weight, which backward reads too unless it
  /// gathers it anew.
  Value paddedWeight;
};

} // namespace

//===----------------------------------------------------------------------===//
// Tensors with more classes
//===----------------------------------------------------------------------===//

/// `tensor` with rows of `number` behind its own.
Value ClassPadding::padRows(aten::Composition &at, Value tensor,
                            double number) {
  SmallVector<int64_t> shape(aten::shapeOf(tensor));
  shape.front() = padded - classes;
  auto type = RankedTensorType::get(shape, aten::elementOf(tensor));
  return at.cat({tensor, at.splat(type, number)}, 0);
}

RankedTensorType ClassPadding::padLast(Type type) const {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  shape.back() = padded;
  return tensor.clone(shape);
}

void ClassPadding::padLinear() {
  OpBuilder builder(linear);
  aten::Composition at(builder, linear.getLoc());
  Value bias = linear.getBias();
  Type element = aten::elementOf(linear.getWeight());
  if (!bias)
    bias = at.splat(RankedTensorType::get({classes}, element), 0);
  paddedWeight = padRows(at, linear.getWeight(), 0);
  wide[linear.getResult()] = aten::LinearOp::create(
      builder, linear.getLoc(), padLast(linear.getType()), linear.getInput(),
      paddedWeight,
      padRows(at, bias, -std::numeric_limits<double>::infinity()));
}

/// A view or a conversion of more classes.
Value ClassPadding::padStep(Operation *step, Value operand) {
  OpBuilder builder(step);
  aten::Composition at(builder, step->getLoc());
  if (isa<aten::ToOp>(step))
    return at.to(operand, aten::elementOf(step->getResult(0)));
  return at.view(operand, padLast(step->getResult(0).getType()).getShape());
}

/// Lets readers of `partial` read the first classes of `whole`.
void ClassPadding::replaceByParts(Value whole, Value partial) {
  if (partial.use_empty())
    return;
  OpBuilder builder(partial.getContext());
  builder.setInsertionPointAfterValue(whole);
  aten::Composition at(builder, partial.getLoc());
  const int64_t last = aten::tensorType(whole).getRank() - 1;
  partial.replaceAllUsesWith(at.slice(whole, last, 0, classes));
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

static bool isView(Operation *op, int64_t classes) {
  return isa<aten::ViewOp>(op) &&
         aten::tensorType(op->getOperand(0)).getRank() > 0 &&
         aten::tensorType(op->getResult(0)).getRank() > 0 &&
         aten::shapeOf(op->getOperand(0)).back() == classes &&
         aten::shapeOf(op->getResult(0)).back() == classes;
}

static bool isConversion(Operation *op) {
  return isa<aten::ToOp>(op) &&
         isa<FloatType>(aten::elementOf(op->getResult(0)));
}

/// Whether a class of probability 0 changes nothing.
static bool isPlain(aten::CrossEntropyLossOp loss) {
  return !loss.getWeight() && loss.getLabelSmoothing().convertToDouble() == 0;
}

/// The layer that makes `logits`, and the views and conversions between both,
/// the first one first; null for anything else.
static aten::LinearOp findLinear(Value logits,
                                 SmallVectorImpl<Operation *> &chain) {
  const int64_t classes = aten::shapeOf(logits).back();
  Operation *maker = logits.getDefiningOp();
  while (maker && (isView(maker, classes) || isConversion(maker))) {
    chain.insert(chain.begin(), maker);
    maker = maker->getOperand(0).getDefiningOp();
  }
  return dyn_cast_if_present<aten::LinearOp>(maker);
}

/// `before` is a gradient of logits, `after` the same with more classes.
void ClassPadding::padGradient(Value before, Value after) {
  for (Operation *reader : llvm::to_vector(before.getUsers())) {
    OpBuilder builder(reader);
    aten::Composition at(builder, reader->getLoc());
    if (isView(reader, classes) || isConversion(reader)) {
      padGradient(reader->getResult(0), padStep(reader, after));
    } else if (auto input = dyn_cast<aten::LinearBackwardInputOp>(reader);
               input && input.getGradOutput() == before) {
      const bool isSame = input.getWeight() == linear.getWeight();
      input->setOperands(
          {after, isSame ? paddedWeight : padRows(at, input.getWeight(), 0)});
      continue;
    } else if (auto weight = dyn_cast<aten::LinearBackwardWeightOp>(reader);
               weight && weight.getGradOutput() == before) {
      RankedTensorType type = aten::tensorType(weight.getResult());
      Value rows = at.create<aten::LinearBackwardWeightOp>(
          type.clone({padded, type.getDimSize(1)}), after, weight.getInput());
      weight.replaceAllUsesWith(at.slice(rows, 0, 0, classes));
    } else {
      continue;
    }
    reader->erase();
  }
  replaceByParts(after, before);
}

void ClassPadding::apply(aten::CrossEntropyLossOp loss,
                         ArrayRef<Operation *> chain) {
  padLinear();
  Value whole = wide[linear.getResult()];
  for (Operation *step : chain)
    whole = wide[step->getResult(0)] = padStep(step, whole);
  Value logits = loss.getSelf();
  for (Operation *reader : llvm::to_vector(logits.getUsers())) {
    if (auto other = dyn_cast<aten::CrossEntropyLossOp>(reader)) {
      if (isPlain(other))
        other.getSelfMutable().assign(whole);
    } else if (auto backward =
                   dyn_cast<aten::CrossEntropyLossBackwardOp>(reader)) {
      OpBuilder builder(backward);
      SmallVector<Value> operands(backward->getOperands());
      operands[1] = whole;
      Value gradient = aten::CrossEntropyLossBackwardOp::create(
          builder, backward.getLoc(), padLast(backward.getType()), operands,
          backward->getAttrs());
      padGradient(backward.getResult(), gradient);
      backward.erase();
    }
  }
  // Whoever else reads the logits, in any of their forms.
  for (Operation *step : llvm::reverse(chain)) {
    replaceByParts(wide[step->getResult(0)], step->getResult(0));
    step->erase();
  }
  replaceByParts(wide[linear.getResult()], linear.getResult());
  linear.erase();
}

/// Classes in whole lines of memory.
static int64_t paddedClasses(aten::LinearOp linear, const Target &target) {
  const int64_t classes = aten::shapeOf(linear.getResult()).back();
  const int64_t bytes = getElementBytes(aten::elementOf(linear.getResult()));
  if (classes < target.fewestPaddedClasses ||
      classes * bytes % target.vectorBytes.front() == 0)
    return classes;
  const int64_t line = target.memories.front().lineBytes / bytes;
  return (classes + line - 1) / line * line;
}

void PadClassesPass::runOnOperation() {
  const Target *target = targetOf(getOperation());
  if (!target)
    return signalPassFailure();
  if (target->fewestPaddedClasses == 0)
    return;
  SmallVector<aten::CrossEntropyLossOp> losses;
  getOperation().walk(
      [&](aten::CrossEntropyLossOp loss) { losses.push_back(loss); });
  for (aten::CrossEntropyLossOp loss : losses) {
    SmallVector<Operation *> chain;
    aten::LinearOp linear = findLinear(loss.getSelf(), chain);
    if (!linear || !isPlain(loss))
      continue;
    if (int64_t padded = paddedClasses(linear, *target);
        padded != aten::shapeOf(linear.getResult()).back())
      ClassPadding(linear, padded).apply(loss, chain);
  }
}

} // namespace shardc
