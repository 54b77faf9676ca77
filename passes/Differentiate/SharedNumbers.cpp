//===- SharedNumbers.cpp - What all elements of an update share -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Scale and clipping of gradients, and the optimizers' own numbers.
//===----------------------------------------------------------------------===//

#include "passes/Differentiate/SharedNumbers.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Groups.h"

using namespace mlir;

namespace shardc {

Value readScalar(OpBuilder &builder, Location location, fsdp::Scalar name) {
  Type element = fsdp::isInteger(name) ? Type(builder.getI64Type())
                                       : Type(builder.getF64Type());
  auto type = RankedTensorType::get({}, element);
  return fsdp::ScalarOp::create(builder, location, type, name);
}

/// What brings the norm of gradients, whose mean is `scale` times their sum and
/// whose sum has these `squares`, down to the largest where it is larger;
/// else 1.
Expression SharedNumbers::clipFactor(Expression scale) {
  constexpr double epsilon = 1e-6; // Of clip_grad_norm_.
  Value sum = aten::SumOp::create(builder, location, squares,
                                  ArrayRef<int64_t>{0}, /*keepdim=*/false);
  Expression norm = scale * sqrt(at(sum));
  return clampMax(rules.clipNorm * reciprocal(norm + epsilon), 1);
}

/// Gradients are sums over ranks and micro-batches. The reciprocal of a loss
/// scale and a clip factor together may be too small for the dtype of updates.
void SharedNumbers::buildFactors() {
  auto ranks = static_cast<double>(
      getRanks(squares.getDefiningOp()->getParentOfType<ModuleOp>()));
  Expression count =
      ranks * at(readScalar(builder, location, fsdp::Scalar::micro_batches));
  if (!rules.lossScale.isOne())
    count =
        count * at(readNumber(builder, location, fsdp::StateOp::lossScaleKey));
  Expression scale = reciprocal(count);
  if (rules.clipNorm == 0) {
    gradientFactors = {scale.get()};
    return;
  }
  Expression clip = clipFactor(scale);
  if (rules.lossScale.isOne())
    gradientFactors = {(scale * clip).get()};
  else
    gradientFactors = {scale.get(), clip.get()};
}

/// The numbers of an optimizer in this step, in f64.
void SharedNumbers::add(const Optimizer &optimizer) {
  SmallVector<Value> &own = numbers[&optimizer];
  for (StringRef key : optimizer.getNumbers()) {
    declareNumber(declarations, location, key, builder.getF64Type());
    own.push_back(readNumber(builder, location, key));
  }
  if (!learningRate) {
    learningRate = readScalar(builder, location, fsdp::Scalar::learning_rate);
    buildFactors();
  }
  for (auto [index, key] : llvm::enumerate(optimizer.getNumbers())) {
    own[index] = optimizer.next(index, at(own[index])).get();
    writeNumber(builder, location, own[index], key);
  }
}

const SharedValues &SharedNumbers::share(const Optimizer &optimizer,
                                         FloatType compute,
                                         Hyperparameters own) {
  auto [entry, isNew] =
      shared.try_emplace({&optimizer, compute.getAsOpaquePointer(),
                          own.weightDecay, own.learningRateScale});
  SharedValues &values = entry->second;
  if (!isNew)
    return values;
  SmallVector<Expression> converted;
  for (Value number : numbers[&optimizer])
    converted.push_back(at(number).to(compute));
  for (Value factor : gradientFactors)
    values.factors.push_back(at(factor).to(compute).get());
  Expression rate = at(learningRate);
  if (own.learningRateScale != 1)
    rate = own.learningRateScale * rate;
  StepNumbers numbersOfStep = {rate.to(compute), converted, std::nullopt};
  if (own.weightDecay != 0)
    numbersOfStep.weightDecay =
        (own.weightDecay *
         at(readScalar(builder, location, fsdp::Scalar::weight_decay_scale)))
            .to(compute);
  for (Expression value : optimizer.share(numbersOfStep))
    values.own.push_back(value.get());
  return values;
}

} // namespace shardc
