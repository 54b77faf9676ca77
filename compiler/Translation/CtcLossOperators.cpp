//===- CtcLossOperators.cpp - Translation of the CTC loss -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Connectionist temporal classification (Graves et al., 2006): the probability
// of all ways to say a target in time, with blanks between labels. As in
// PyTorch, alpha [N, 2S + 1] is the logarithm of the probability of being at
// each label or blank, one time step after the other. A state that cannot be
// reached has a finite, tiny probability, so that no gradient is NaN.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"

#include "llvm/ADT/Sequence.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

/// The logarithm of what is impossible, and below what a loss stands for it.
static constexpr double impossible = -1e30, possible = -1e29;

namespace {

class CtcLoss {
public:
  /// `hasLists` where the lengths are numbers, not tensors.
  CtcLoss(NodeCall &call, bool hasLists)
      : call(call), build(call), hasLists(hasLists) {}

  LogicalResult translate();

private:
  LogicalResult read();
  Value readLengths(StringRef name);
  Value readTargets();
  Value extendTargets(Value labels);
  Value step(Value alpha, Value emitted, Value skips);
  Value runSteps(Value emissions, Value labels);
  Value atEnd(Value alphas);
  Value finishLosses(Value losses);
  Value normalize(Value losses, Value isImpossible);
  LogicalResult reduce(Value losses);

  Value integers(ArrayRef<int64_t> shape, ArrayRef<int64_t> numbers) {
    return aten::ConstantOp::create(
        call.builder(), call.loc(),
        DenseElementsAttr::get(
            RankedTensorType::get(shape, call.builder().getI64Type()),
            numbers));
  }
  Value count(int64_t size) {
    auto numbers = llvm::to_vector(llvm::seq<int64_t>(size));
    return integers({size}, numbers);
  }
  Value filled(ArrayRef<int64_t> shape, Value like, double number) {
    return splat(call,
                 RankedTensorType::get(
                     shape, Decomposition::typeOf(like).getElementType()),
                 isa<IntegerType>(Decomposition::typeOf(like).getElementType())
                     ? Scalar(static_cast<int64_t>(number))
                     : Scalar(number));
  }
  template <typename CompareOp>
  Value compare(Value value, int64_t number) {
    return build.build<CompareOp>(value,
                                  call.builder().getI64IntegerAttr(number));
  }
  template <typename CompareOp>
  Value compare(Value a, Value b) {
    return b ? build.build<CompareOp>(a, b) : Value();
  }

  NodeCall &call;
  Decomposition build;
  bool hasLists;
  int64_t times = 0, batch = 0, classes = 0;
  /// The most labels that a target has, and the states that are for them.
  int64_t labels = 0, states = 0;
  /// [T, N, C] in f32 or wider; i64 [N].
  Value logits, inputLengths, targetLengths;
};

} // namespace

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

Value CtcLoss::readLengths(StringRef name) {
  if (hasLists)
    return integers({batch}, call.integers(name));
  return build.view(
      call.convert(call.tensor(name), call.builder().getI64Type()), {batch});
}

LogicalResult CtcLoss::read() {
  RankedTensorType type = call.typeOf("log_probs");
  if (type.getRank() != 2 && type.getRank() != 3)
    return call.unsupported("log_probs", "[T, N, C] or [T, C]");
  times = type.getDimSize(0);
  batch = type.getRank() == 3 ? type.getDimSize(1) : 1;
  classes = type.getShape().back();
  if (times == 0 || batch == 0)
    return call.unsupported("log_probs", "at least one step and one sample");
  for (StringRef name : {"input_lengths", "target_lengths"})
    if (hasLists && static_cast<int64_t>(call.integers(name).size()) != batch)
      return call.unsupported(name, "a length for each sample");
  // A loss stays f32 under a policy, as cross_entropy does.
  Value scores = call.tensor("log_probs");
  Type wide = getElementTypeOrSelf(toWideFloat(call, scores));
  logits = build.view(build.build<aten::ToOp>(scores, wide),
                      {times, batch, classes});
  inputLengths = readLengths("input_lengths");
  targetLengths = readLengths("target_lengths");
  RankedTensorType targets = call.typeOf("targets");
  labels = targets.getRank() == 0 ? 1 : targets.getShape().back();
  if (hasLists) {
    SmallVector<int64_t> lengths = call.integers("target_lengths");
    labels = std::min(labels, *llvm::max_element(lengths));
  }
  states = 2 * labels + 1;
  return success(logits && inputLengths && targetLengths);
}

/// The targets as [N, labels], blanks behind their ends. Targets of one
/// dimension follow one another.
Value CtcLoss::readTargets() {
  if (labels == 0)
    return integers({batch, 0}, {});
  Value targets =
      call.convert(call.tensor("targets"), call.builder().getI64Type());
  RankedTensorType type = call.typeOf("targets");
  Value lengths = build.view(targetLengths, {batch, 1});
  if (type.getRank() == 2) {
    targets = build.slice(targets, 1, 0, labels);
  } else {
    int64_t total = type.getNumElements();
    Value ends = build.build<aten::CumsumOp>(targetLengths, 0);
    Value starts = build.view(build.sub(ends, targetLengths), {batch, 1});
    Value places = build.add(starts, build.view(count(labels), {1, labels}));
    if (!places)
      return nullptr;
    places = build.build<aten::MinimumOp>(
        places, build.constant(static_cast<double>(total - 1), places));
    targets = build.build<aten::IndexOp>(
        build.view(targets, {total}), ValueRange(places), ArrayRef<int64_t>{0});
  }
  Value isLabel =
      compare<aten::LtOp>(build.view(count(labels), {1, labels}), lengths);
  return isLabel && targets
             ? build.where(
                   isLabel, targets,
                   build.constant(static_cast<double>(call.integer("blank")),
                                  targets))
             : Value();
}

/// Blanks before, between and behind the labels: [N, states].
Value CtcLoss::extendTargets(Value targets) {
  Value blank = integers({}, {call.integer("blank")});
  Value last = build.expand(blank, {batch, 1});
  if (!targets || labels == 0)
    return targets ? last : targets;
  Value blanks = build.expand(blank, {batch, labels, 1});
  Value pairs = build.cat({blanks, build.unsqueeze(targets, 2)}, 2);
  return build.cat({build.view(pairs, {batch, 2 * labels}), last}, 1);
}

//===----------------------------------------------------------------------===//
// Time steps
//===----------------------------------------------------------------------===//

/// Stays, comes from the state before, or skips a blank between two labels.
Value CtcLoss::step(Value alpha, Value emitted, Value skips) {
  if (states == 1 || !alpha)
    return build.add(alpha, emitted);
  auto moved = [&](int64_t by) {
    return build.cat({filled({batch, by}, alpha, impossible),
                      build.slice(alpha, 1, 0, states - by)},
                     1);
  };
  Value skipped =
      build.where(skips, moved(2), build.constant(impossible, alpha));
  Value ways =
      build.cat({build.unsqueeze(alpha, 2), build.unsqueeze(moved(1), 2),
                 build.unsqueeze(skipped, 2)},
                2);
  if (!ways)
    return nullptr;
  return build.add(
      build.build<aten::LogsumexpOp>(ways, ArrayRef<int64_t>{2}, false),
      emitted);
}

/// The states of all steps, [T, N, states].
Value CtcLoss::runSteps(Value emissions, Value extended) {
  if (!emissions)
    return nullptr;
  Value alpha = build.select(emissions, 0, 0), skips;
  if (states > 1) {
    // Two labels that are equal need the blank between them.
    Value isNext = compare<aten::NeOp>(build.slice(extended, 1, 2, states),
                                       build.slice(extended, 1, 0, states - 2));
    Value never = compare<aten::NeOp>(build.slice(extended, 1, 0, 2),
                                      build.slice(extended, 1, 0, 2));
    skips = build.cat({never, isNext}, 1);
    Value rest = filled({batch, states - 2}, alpha, impossible);
    alpha = build.cat({build.slice(alpha, 1, 0, 2), rest}, 1);
  }
  SmallVector<Value> alphas;
  for (int64_t time = 0; time < times; ++time) {
    if (time > 0)
      alpha = step(alpha, build.select(emissions, 0, time), skips);
    alphas.push_back(build.unsqueeze(alpha, 0));
  }
  return build.cat(alphas, 0);
}

/// Minus the logarithm of being, after a sample's last step, at its last label
/// or at the blank behind: [N].
Value CtcLoss::atEnd(Value alphas) {
  if (!alphas)
    return nullptr;
  auto column = [&](Value numbers, int64_t by) {
    return build.view(build.clampMin(build.add(numbers, Scalar(by)), 0),
                      {batch, 1});
  };
  Value end = build.expand(build.view(column(inputLengths, -1), {1, batch, 1}),
                           {1, batch, states});
  Value last =
      build.view(build.build<aten::GatherOp>(alphas, 0, end), {batch, states});
  if (!last)
    return nullptr;
  Value doubled = build.mul(targetLengths, Scalar(int64_t(2)));
  Value blank = build.build<aten::GatherOp>(last, 1, column(doubled, 0));
  Value label = build.build<aten::GatherOp>(last, 1, column(doubled, -1));
  Value isEmpty =
      build.view(compare<aten::EqScalarOp>(targetLengths, 0), {batch, 1});
  if (!label)
    return nullptr;
  label = build.where(isEmpty, build.constant(impossible, label), label);
  Value both = build.cat({blank, label}, 1);
  return both ? build.negate(build.build<aten::LogsumexpOp>(
                    both, ArrayRef<int64_t>{1}, false))
              : Value();
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

/// PyTorch's gradient has the probabilities in it that log_softmax takes away
/// again: it is that of `log_probs` whose exponentials sum to 1.
Value CtcLoss::normalize(Value losses, Value isImpossible) {
  Value time = build.view(count(times), {times, 1, 1});
  Value counts =
      compare<aten::LtOp>(time, build.view(inputLengths, {1, batch, 1}));
  Value probabilities = build.build<aten::ExpOp>(build.detach(logits));
  if (!counts || !probabilities)
    return nullptr;
  if (call.boolean("zero_infinity"))
    counts = build.build<aten::LogicalAndOp>(
        counts, build.view(build.build<aten::LogicalNotOp>(isImpossible),
                           {1, batch, 1}));
  Value slope =
      build.where(counts, probabilities, build.constant(0, probabilities));
  Value result = build.build<aten::WithSlopeOp>(
      build.view(losses, {1, batch, 1}), logits, build.detach(slope));
  return build.view(result, {batch});
}

/// The losses of the samples; of a target that takes more steps than there are
/// infinity, or 0 under zero_infinity.
Value CtcLoss::finishLosses(Value losses) {
  if (!losses)
    return nullptr;
  // Without a step only an empty target is said.
  Value hasSteps = compare<aten::GtScalarOp>(inputLengths, 0);
  Value isEmpty = compare<aten::EqScalarOp>(targetLengths, 0);
  Value nothing = build.where(isEmpty, filled({batch}, losses, 0),
                              filled({batch}, losses, -impossible));
  losses = build.where(hasSteps, losses, nothing);
  if (!losses)
    return nullptr;
  Value isImpossible = build.build<aten::GtScalarOp>(
      losses, call.builder().getF64FloatAttr(-possible));
  if (call.boolean("zero_infinity")) {
    losses = build.where(isImpossible, build.constant(0, losses), losses);
  } else {
    // As a factor, for which the gradient is not finite either.
    losses = build.mul(losses, build.where(isImpossible,
                                           filled({batch}, losses, INFINITY),
                                           filled({batch}, losses, 1)));
  }
  return normalize(losses, isImpossible);
}

/// The mean is one of losses for each label.
LogicalResult CtcLoss::reduce(Value losses) {
  RankedTensorType type = call.resultType();
  std::optional<aten::Reduction> reduction =
      aten::symbolizeReduction(call.integer("reduction"));
  if (!losses || !type)
    return failure();
  if (!reduction)
    return call.unsupported("reduction", "'none', 'mean' or 'sum'");
  if (*reduction == aten::Reduction::sum)
    losses = build.sum(losses, {});
  if (*reduction == aten::Reduction::mean) {
    Value lengths = build.clampMin(targetLengths, 1);
    losses = build.mean(
        build.div(losses, call.convert(lengths, getElementTypeOrSelf(losses))),
        {});
  }
  return build.finish(build.view(losses, type.getShape()));
}

LogicalResult CtcLoss::translate() {
  if (failed(read()))
    return failure();
  Value extended = extendTargets(readTargets());
  if (!extended)
    return failure();
  Value index =
      build.expand(build.unsqueeze(extended, 0), {times, batch, states});
  Value emissions = build.build<aten::GatherOp>(logits, 2, index);
  return reduce(finishLosses(atEnd(runSteps(emissions, extended))));
}

template <bool hasLists>
static LogicalResult translateCtcLoss(NodeCall &call) {
  return CtcLoss(call, hasLists).translate();
}

void translation::addCtcLossOperators(OperatorTable &table) {
  auto signature = [](StringRef overload, StringRef length) {
    return ("ctc_loss." + overload + "(Tensor log_probs, Tensor targets, " +
            length + " input_lengths, " + length +
            " target_lengths, int blank=0, int reduction=Mean, "
            "bool zero_infinity=False) -> Tensor")
        .str();
  };
  table.add(signature("IntList", "int[]"), translateCtcLoss<true>);
  table.add(signature("Tensor", "Tensor"), translateCtcLoss<false>);
}
