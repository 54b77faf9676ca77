//===- LossOperators.cpp - Translation of loss functions ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Losses over class indices are operators on matrices; PyTorch's other shapes,
// [C] and [N, C, d1, …], are brought into that form. Losses that compare two
// tensors element by element are their formulas.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/Norm.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"
#include "dialects/Aten/Inference.h"

#include <numbers>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

/// What is made of the losses of the elements; nothing for an unknown number.
static std::optional<aten::Reduction> reductionOf(NodeCall &call) {
  return aten::symbolizeReduction(call.integer("reduction"));
}

static LogicalResult unknownReduction(NodeCall &call) {
  return call.unsupported("reduction", "'none', 'mean' or 'sum'");
}

/// The losses of the elements as the node's result.
static LogicalResult finishLosses(NodeCall &call, Value losses) {
  std::optional<aten::Reduction> reduction = reductionOf(call);
  if (!reduction)
    return unknownReduction(call);
  Decomposition build(call);
  if (*reduction == aten::Reduction::mean)
    losses = build.mean(losses, {});
  else if (*reduction == aten::Reduction::sum)
    losses = build.sum(losses, {});
  return build.finish(losses);
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

/// Logits [C] or [N, C, d1, …] as a matrix with one row a sample.
static Value flattenLogits(Decomposition &build, Value logits) {
  RankedTensorType type = Decomposition::typeOf(logits);
  int64_t rank = type.getRank();
  if (rank == 2)
    return logits;
  int64_t classes = type.getDimSize(rank == 1 ? 0 : 1);
  if (rank > 2) {
    SmallVector<int64_t> order = {0};
    llvm::append_range(order, llvm::seq<int64_t>(2, rank));
    order.push_back(1);
    logits = build.permute(logits, order);
  }
  return build.view(logits,
                    {classes ? type.getNumElements() / classes : 0, classes});
}

static Value flattenTarget(Decomposition &build, Value target) {
  return build.view(target, {Decomposition::typeOf(target).getNumElements()});
}

/// The losses of rows in the shape of the export's result.
static LogicalResult finishRows(NodeCall &call, Value loss) {
  Decomposition build(call);
  RankedTensorType type = call.resultType();
  return build.finish(type ? build.view(loss, type.getShape()) : loss);
}

/// Targets that are probabilities: -sum(target * log_softmax(self) * weight)
/// over the classes, whose mean is over the samples.
static LogicalResult translateSoftCrossEntropy(NodeCall &call,
                                               aten::Reduction reduction) {
  Decomposition build(call);
  Value target = call.tensor("target");
  RankedTensorType type = call.typeOf("self");
  int64_t classDim = type.getRank() == 1 ? 0 : 1;
  int64_t classes = type.getDimSize(classDim);
  double smoothing = call.number("label_smoothing");
  if (smoothing != 0.0)
    target = build.add(build.mul(target, Scalar(1 - smoothing)),
                       Scalar(smoothing / classes));
  Value terms = build.mul(
      build.build<aten::LogSoftmaxOp>(call.tensor("self"), classDim), target);
  if (!call.isNone("weight")) {
    SmallVector<int64_t> shape(type.getRank(), 1);
    shape[classDim] = classes;
    terms = build.mul(terms, build.view(call.tensor("weight"), shape));
  }
  if (reduction == aten::Reduction::none)
    return build.finish(build.negate(build.sum(terms, {classDim})));
  Value loss = build.negate(build.sum(terms, {}));
  int64_t samples = classes ? type.getNumElements() / classes : 0;
  if (reduction == aten::Reduction::mean)
    loss = build.mul(loss, Scalar(1.0 / samples));
  return build.finish(loss);
}

static LogicalResult translateCrossEntropy(NodeCall &call) {
  std::optional<aten::Reduction> reduction = reductionOf(call);
  if (!reduction)
    return unknownReduction(call);
  if (call.typeOf("self").getRank() == 0)
    return call.unsupported("self", "logits [N, C]");
  if (isa<FloatType>(call.typeOf("target").getElementType()))
    return translateSoftCrossEntropy(call, *reduction);
  Decomposition build(call);
  Value loss = build.build<aten::CrossEntropyLossOp>(
      flattenLogits(build, call.tensor("self")),
      flattenTarget(build, call.tensor("target")),
      call.optionalTensor("weight"), *reduction, call.integer("ignore_index"),
      APFloat(call.number("label_smoothing")));
  // A loss of bf16 logits is f32 here and bf16 in PyTorch.
  return finishRows(call, loss);
}

static LogicalResult translateNll(NodeCall &call) {
  std::optional<aten::Reduction> reduction = reductionOf(call);
  if (!reduction)
    return unknownReduction(call);
  if (call.typeOf("self").getRank() == 0)
    return call.unsupported("self", "log-probabilities [N, C]");
  Decomposition build(call);
  Value logits = flattenLogits(build, call.tensor("self"));
  Value target = flattenTarget(build, call.tensor("target"));
  if (!logits || !target)
    return failure();
  FailureOr<aten::NllLossOp> op = call.create<aten::NllLossOp>(
      logits, target, call.optionalTensor("weight"), *reduction,
      call.integer("ignore_index"));
  if (failed(op))
    return failure();
  if (call.resultCount() < 2)
    return finishRows(call, op->getLoss());
  RankedTensorType type = call.resultType();
  Value loss =
      type ? build.view(op->getLoss(), type.getShape()) : op->getLoss();
  return build.finish({loss, op->getTotalWeight()});
}

//===----------------------------------------------------------------------===//
// Distances
//===----------------------------------------------------------------------===//

static Value difference(NodeCall &call) {
  return Decomposition(call).sub(call.tensor("self"), call.tensor("target"));
}

static LogicalResult translateMse(NodeCall &call) {
  Value distance = difference(call);
  return finishLosses(call, Decomposition(call).mul(distance, distance));
}

static LogicalResult translateL1(NodeCall &call) {
  return finishLosses(call,
                      Decomposition(call).build<aten::AbsOp>(difference(call)));
}

/// `quadratic` where the distance is below `limit`, and `linear` from it on.
/// The slope by the difference is that over `unit`, within [-bound, bound]:
/// there is none of the part that is not chosen, which may be infinite.
static LogicalResult finishTwoPieces(NodeCall &call, double limit, double unit,
                                     double bound,
                                     function_ref<Value(Value)> quadratic,
                                     function_ref<Value(Value)> linear) {
  Decomposition build(call);
  OpBuilder &builder = call.builder();
  Value gap = difference(call), distance = build.build<aten::AbsOp>(gap);
  Value isSmall =
      build.build<aten::LtScalarOp>(distance, builder.getF64FloatAttr(limit));
  Value losses = build.where(isSmall, quadratic(distance), linear(distance));
  Value slope = build.build<aten::ClampOp>(build.mul(gap, Scalar(1 / unit)),
                                           builder.getF64FloatAttr(-bound),
                                           builder.getF64FloatAttr(bound));
  losses = gap ? build.withSlopes(losses, {{gap, slope}}) : losses;
  return finishLosses(call, losses);
}

/// d^2 / (2 * beta) below beta and d - beta / 2 above.
static LogicalResult translateSmoothL1(NodeCall &call) {
  double beta = call.number("beta");
  if (beta == 0.0)
    return translateL1(call);
  Decomposition build(call);
  return finishTwoPieces(
      call, beta, beta, 1,
      [&](Value d) { return build.mul(build.mul(d, d), Scalar(0.5 / beta)); },
      [&](Value d) { return build.add(d, Scalar(-0.5 * beta)); });
}

/// d^2 / 2 up to delta and delta * (d - delta / 2) above.
static LogicalResult translateHuber(NodeCall &call) {
  double delta = call.number("delta");
  Decomposition build(call);
  return finishTwoPieces(
      call, delta, 1, delta,
      [&](Value d) { return build.mul(build.mul(d, d), Scalar(0.5)); },
      [&](Value d) {
        return build.mul(build.add(d, Scalar(-0.5 * delta)), Scalar(delta));
      });
}

//===----------------------------------------------------------------------===//
// Distributions
//===----------------------------------------------------------------------===//

/// max(log(x), -100), as PyTorch keeps the loss finite.
template <typename LogOp>
static Value boundedLog(Decomposition &build, Value x) {
  return build.clampMin(build.build<LogOp>(x), -100);
}

static Value weighted(NodeCall &call, Value losses) {
  return call.isNone("weight")
             ? losses
             : Decomposition(call).mul(losses, call.tensor("weight"));
}

/// (target - 1) * log(1 - self) - target * log(self). PyTorch's slope by self
/// divides by self * (1 - self), or by the f32 nearest to 1e-12 where that is
/// less.
static LogicalResult translateBinaryCrossEntropy(NodeCall &call) {
  Decomposition build(call);
  Value self = call.tensor("self"), target = call.tensor("target");
  Value negative =
      build.mul(build.add(target, Scalar(-1.0)),
                boundedLog<aten::Log1pOp>(build, build.negate(self)));
  Value positive = build.mul(target, boundedLog<aten::LogOp>(build, self));
  Value p = toWideFloat(call, self);
  Value rest = build.subtractFrom(Scalar(1.0), p);
  Value slope = build.div(build.sub(p, toWideFloat(call, target)),
                          build.clampMin(build.mul(p, rest), 1e-12F));
  Value slopeByTarget = build.sub(build.build<aten::Log1pOp>(build.negate(p)),
                                  build.build<aten::LogOp>(p));
  Value losses = build.withSlopes(build.sub(negative, positive),
                                  {{self, slope}, {target, slopeByTarget}});
  // PyTorch raises for other targets; of other `self` the logarithm is NaN.
  OpBuilder &builder = call.builder();
  Value min =
      build.build<aten::GeScalarOp>(target, builder.getF64FloatAttr(0.0));
  Value max =
      build.build<aten::LeScalarOp>(target, builder.getF64FloatAttr(1.0));
  call.require(max ? build.build<aten::LogicalAndOp>(min, max) : Value());
  return losses ? finishLosses(call, weighted(call, losses)) : failure();
}

/// (1 - target) * self - log_sigmoid(self) * (1 + (pos_weight - 1) * target).
static LogicalResult translateBinaryCrossEntropyWithLogits(NodeCall &call) {
  Decomposition build(call);
  Value self = call.tensor("self"), target = call.tensor("target");
  Value logSigmoid = build.build<aten::LogSigmoidOp>(self);
  if (!call.isNone("pos_weight")) {
    Value factor =
        build.mul(build.add(call.tensor("pos_weight"), Scalar(-1.0)), target);
    logSigmoid = build.mul(logSigmoid, build.add(factor, Scalar(1.0)));
  }
  Value losses = build.sub(
      build.mul(build.subtractFrom(Scalar(1.0), target), self), logSigmoid);
  return finishLosses(call, weighted(call, losses));
}

/// exp(target) * (target - self) for logarithms, else target * (log(target) -
/// self), which is zero where the target is.
static LogicalResult translateKlDivergence(NodeCall &call) {
  Decomposition build(call);
  Value self = call.tensor("self"), target = call.tensor("target");
  if (call.boolean("log_target"))
    return finishLosses(call, build.mul(build.build<aten::ExpOp>(target),
                                        build.sub(target, self)));
  Value entropy = build.mul(target, build.build<aten::LogOp>(target));
  Value isZero = build.build<aten::EqScalarOp>(
      target, call.builder().getF64FloatAttr(0.0));
  if (!entropy)
    return failure();
  entropy = build.where(isZero, build.constant(0, entropy), entropy);
  return finishLosses(call, build.sub(entropy, build.mul(target, self)));
}

/// Stirling's approximation of log(target!), 0 for a target of at most 1.
static Value logFactorial(NodeCall &call, Value target) {
  Decomposition build(call);
  Value half = build.mul(
      build.build<aten::LogOp>(build.mul(target, Scalar(2 * std::numbers::pi))),
      Scalar(0.5));
  Value logarithm = build.mul(target, build.build<aten::LogOp>(target));
  Value terms = build.add(build.sub(logarithm, target), half);
  Value isSmall = build.build<aten::LeScalarOp>(
      target, call.builder().getF64FloatAttr(1.0));
  return terms ? build.where(isSmall, build.constant(0, terms), terms) : terms;
}

/// exp(x) - target * x for logarithms, else x - target * log(x + eps);
/// `full` adds an approximation of log(target!).
static LogicalResult translatePoissonNll(NodeCall &call) {
  Decomposition build(call);
  Value input = call.tensor("input"), target = call.tensor("target");
  Value losses;
  if (call.boolean("log_input"))
    losses =
        build.sub(build.build<aten::ExpOp>(input), build.mul(target, input));
  else
    losses = build.sub(
        input, build.mul(target, build.build<aten::LogOp>(build.add(
                                     input, Scalar(call.number("eps"))))));
  if (call.boolean("full"))
    losses = build.add(losses, logFactorial(call, toFloat(call, target)));
  return finishLosses(call, losses);
}

//===----------------------------------------------------------------------===//
// Margins and similarities
//===----------------------------------------------------------------------===//

/// log(1 + exp(-target * self)), which is minus the logarithm of a sigmoid.
static LogicalResult translateSoftMargin(NodeCall &call) {
  Decomposition build(call);
  Value product = build.mul(call.tensor("self"), call.tensor("target"));
  return finishLosses(call,
                      build.negate(build.build<aten::LogSigmoidOp>(product)));
}

/// max(margin - target * (input1 - input2), 0).
static LogicalResult translateMarginRanking(NodeCall &call) {
  Decomposition build(call);
  Value gap =
      build.mul(call.tensor("target"),
                build.sub(call.tensor("input1"), call.tensor("input2")));
  Value excess = build.subtractFrom(Scalar(call.number("margin")), gap);
  return finishLosses(call, build.clampMin(excess, 0));
}

/// The mean over the classes j beside the target of max(margin - self[target] +
/// self[j], 0)^p, weighed by the target's class.
static LogicalResult translateMultiMargin(NodeCall &call) {
  Decomposition build(call);
  RankedTensorType type = call.typeOf("self");
  double p = toDouble(call.scalar("p"));
  if (type.getRank() < 1 || (p != 1 && p != 2))
    return call.unsupported("self", "scores [N, C] or [C], and p of 1 or 2");
  int64_t classes = type.getShape().back();
  int64_t rows = classes ? type.getNumElements() / classes : 0;
  Value scores = build.view(call.tensor("self"), {rows, classes});
  Value target = build.view(call.tensor("target"), {rows, 1});
  Value own = scores && target ? build.build<aten::GatherOp>(scores, 1, target)
                               : Value();
  Value excess = build.add(build.sub(scores, own),
                           Scalar(toDouble(call.scalar("margin"))));
  if (!excess)
    return failure();
  OpBuilder &builder = call.builder();
  Value numbers = aten::ConstantOp::create(
      builder, call.loc(),
      DenseElementsAttr::get(
          RankedTensorType::get({classes}, builder.getI64Type()),
          ArrayRef<int64_t>(llvm::to_vector(llvm::seq<int64_t>(classes)))));
  Value counts = build.build<aten::LogicalAndOp>(
      build.build<aten::NeOp>(numbers, target),
      build.build<aten::GtScalarOp>(excess, builder.getF64FloatAttr(0.0)));
  Value terms = p == 2 ? build.mul(excess, excess) : excess;
  terms = build.where(counts, terms, build.constant(0, terms));
  Value losses = build.mul(build.sum(terms, {1}), Scalar(1.0 / classes));
  if (!call.isNone("weight"))
    losses = build.mul(losses, build.build<aten::IndexOp>(
                                   call.tensor("weight"),
                                   ValueRange(build.view(target, {rows})),
                                   ArrayRef<int64_t>{0}));
  bool isSingle = type.getRank() == 1;
  return finishLosses(call, isSingle ? build.view(losses, {}) : losses);
}

/// `value` where `Compare` holds of the target and `sign`, else 0.
template <typename Compare>
static Value whereTarget(NodeCall &call, int64_t sign, Value value) {
  Decomposition build(call);
  Value target = call.tensor("target");
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(target));
  OpBuilder &builder = call.builder();
  Value holds = build.build<Compare>(
      target,
      isFloat ? TypedAttr(builder.getF64FloatAttr(static_cast<double>(sign)))
              : TypedAttr(builder.getI64IntegerAttr(sign)));
  return value ? build.where(holds, value, build.constant(0, value)) : value;
}

/// self where the target is not -1, plus max(margin - self, 0) where it is
/// not 1.
static LogicalResult translateHingeEmbedding(NodeCall &call) {
  Decomposition build(call);
  Value self = call.tensor("self");
  Value negative = build.clampMin(
      build.subtractFrom(Scalar(call.number("margin")), self), 0);
  // Both of a target that is neither 1 nor -1.
  return finishLosses(
      call, build.add(whereTarget<aten::NeScalarOp>(call, 1, negative),
                      whereTarget<aten::NeScalarOp>(call, -1, self)));
}

/// sum(a * b) / (max(|a|, eps) * max(|b|, eps)) over `dim`, of operands that
/// are broadcast before. No gradient sees what bounds the norms.
static LogicalResult translateCosineSimilarity(NodeCall &call) {
  Decomposition build(call);
  auto shape = aten::inferBroadcastShape(
      call.loc(), {call.tensor("x1"), call.tensor("x2")});
  if (failed(shape))
    return failure();
  if (shape->empty()) // Numbers have a dimension 0.
    shape->push_back(1);
  FailureOr<int64_t> dim = call.dimension("dim", shape->size());
  if (failed(dim))
    return failure();
  double eps = call.number("eps");
  auto normalized = [&](StringRef name) {
    Value x = build.expand(call.tensor(name), *shape);
    Value norm = buildNorm(call, x, 2, {*dim}, /*keepDim=*/true);
    if (!norm)
      return norm;
    Value bounded = build.withSlopes(build.clampMin(norm, eps),
                                     {{norm, build.constant(1, norm)}});
    return build.div(x, bounded);
  };
  return build.finish(
      build.sum(build.mul(normalized("x1"), normalized("x2")), {*dim}));
}

/// 1 - cos where the target is 1, else max(cos - margin, 0). PyTorch keeps the
/// quotient finite by the f32 nearest to 1e-12 under the root.
static LogicalResult translateCosineEmbedding(NodeCall &call) {
  Decomposition build(call);
  Value a = call.tensor("input1"), b = call.tensor("input2");
  int64_t last = call.typeOf("input1").getRank() - 1;
  auto product = [&](Value x, Value y) {
    return build.sum(build.mul(x, y), {last});
  };
  Value squares = build.mul(build.add(product(a, a), Scalar(1e-12F)),
                            build.add(product(b, b), Scalar(1e-12F)));
  Value cosine = build.div(product(a, b), build.build<aten::SqrtOp>(squares));
  Value negative =
      build.clampMin(build.add(cosine, Scalar(-call.number("margin"))), 0);
  Value positive = build.subtractFrom(Scalar(1.0), cosine);
  return finishLosses(
      call, build.add(whereTarget<aten::EqScalarOp>(call, 1, positive),
                      whereTarget<aten::EqScalarOp>(call, -1, negative)));
}

/// max(d(anchor, positive) - d(anchor, negative) + margin, 0).
static LogicalResult translateTripletMargin(NodeCall &call) {
  Decomposition build(call);
  double p = call.number("p"), eps = call.number("eps");
  Value anchor = call.tensor("anchor"), positive = call.tensor("positive"),
        negative = call.tensor("negative");
  auto distance = [&](Value a, Value b) {
    return buildDistance(call, build.add(build.sub(a, b), Scalar(eps)), p,
                         /*keepDim=*/false);
  };
  Value far = distance(anchor, negative);
  if (call.boolean("swap")) {
    Value other = distance(positive, negative);
    far = other ? build.build<aten::MinimumOp>(far, other) : Value();
  }
  Value excess = build.add(build.sub(distance(anchor, positive), far),
                           Scalar(call.number("margin")));
  return finishLosses(call, build.clampMin(excess, 0));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static void addClassLosses(OperatorTable &table) {
  table.add("cross_entropy_loss(Tensor self, Tensor target, "
            "Tensor? weight=None, int reduction=Mean, "
            "SymInt ignore_index=-100, float label_smoothing=0.0) -> Tensor",
            translateCrossEntropy);
  for (StringRef name : {"nll_loss", "nll_loss_nd", "nll_loss2d"})
    table.add((name + "(Tensor self, Tensor target, Tensor? weight=None, "
                      "int reduction=Mean, SymInt ignore_index=-100) -> Tensor")
                  .str(),
              translateNll);
  for (StringRef name : {"nll_loss_forward", "nll_loss2d_forward"})
    table.add((name + "(Tensor self, Tensor target, Tensor? weight, "
                      "int reduction, SymInt ignore_index) -> (Tensor output, "
                      "Tensor total_weight)")
                  .str(),
              translateNll);
}

void translation::addLossOperators(OperatorTable &table) {
  addClassLosses(table);
  /// Adds a loss of `self` and `target` that has `more` parameters.
  auto add = [&](StringRef name, StringRef more, TranslateFunction translate) {
    table.add(
        (name + "(Tensor self, Tensor target" + more + ") -> Tensor").str(),
        translate);
  };
  add("mse_loss", ", int reduction=Mean", translateMse);
  add("l1_loss", ", int reduction=Mean", translateL1);
  add("smooth_l1_loss", ", int reduction=Mean, float beta=1.0",
      translateSmoothL1);
  add("huber_loss", ", int reduction=Mean, float delta=1.0", translateHuber);
  add("binary_cross_entropy", ", Tensor? weight=None, int reduction=Mean",
      translateBinaryCrossEntropy);
  add("binary_cross_entropy_with_logits",
      ", Tensor? weight=None, Tensor? pos_weight=None, int reduction=Mean",
      translateBinaryCrossEntropyWithLogits);
  add("kl_div", ", int reduction=Mean, *, bool log_target=False",
      translateKlDivergence);
  add("soft_margin_loss", ", int reduction=Mean", translateSoftMargin);
  add("hinge_embedding_loss", ", float margin=1.0, int reduction=Mean",
      translateHingeEmbedding);
  table.add("poisson_nll_loss(Tensor input, Tensor target, bool log_input, "
            "bool full, float eps, int reduction) -> Tensor",
            translatePoissonNll);
  table.add("multi_margin_loss(Tensor self, Tensor target, Scalar p=1, "
            "Scalar margin=1, Tensor? weight=None, int reduction=Mean) -> "
            "Tensor",
            translateMultiMargin);
  table.add("margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, "
            "float margin=0.0, int reduction=Mean) -> Tensor",
            translateMarginRanking);
  table.add("cosine_similarity(Tensor x1, Tensor x2, int dim=1, "
            "float eps=1e-08) -> Tensor",
            translateCosineSimilarity);
  table.add("cosine_embedding_loss(Tensor input1, Tensor input2, "
            "Tensor target, float margin=0.0, int reduction=Mean) -> Tensor",
            translateCosineEmbedding);
  table.add("triplet_margin_loss(Tensor anchor, Tensor positive, "
            "Tensor negative, float margin=1.0, float p=2.0, float eps=1e-06, "
            "bool swap=False, int reduction=Mean) -> Tensor",
            translateTripletMargin);
}
