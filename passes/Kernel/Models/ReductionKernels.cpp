//===- ReductionKernels.cpp - Sums and means as loop nests ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The operators of AtenReduction.td: reductions and scans in the accumulator's
// type, rounded once to the result.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Models/KernelModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;

namespace shardc {

static SmallVector<int64_t> loopsOf(RankedTensorType type) {
  return llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
}

/// A reduction over `dims` in a nest with a loop for each dimension of `type`:
/// what `reduce` returned, which lacks them.
static Read readReduced(Value reduced, RankedTensorType type,
                        ArrayRef<int64_t> dims) {
  SmallVector<int64_t> kept;
  for (int64_t loop : loopsOf(type))
    if (!llvm::is_contained(dims, loop))
      kept.push_back(loop);
  return readAt(reduced, kept, type.getRank());
}

/// `finish` of each element of `reduced`, which is of `self` over `dims`, as
/// the type of `result`, which may have kept these with size 1.
static Value buildResult(Value result, RankedTensorType self, Value reduced,
                         ArrayRef<int64_t> dims, KernelBuilder &kernel,
                         function_ref<Scalar(Scalar)> finish) {
  RankedTensorType type = tensorTypeOf(result);
  bool keepsDims = type.getRank() == self.getRank();
  SmallVector<int64_t> at;
  int64_t next = 0;
  for (int64_t loop : loopsOf(self)) {
    bool isReduced = llvm::is_contained(dims, loop);
    if (!isReduced)
      at.push_back(next);
    next += !isReduced || keepsDims;
  }
  return pointwise(kernel.builder, kernel.location, type,
                   readAt(reduced, at, type.getRank()),
                   [&](LoopBody &body) { return finish(body[0]); });
}

/// The sum of `self` over `dims`, divided by `divisor`, as the type of
/// `result`.
static void buildScaledSum(Value result, Value self, ArrayRef<int64_t> dims,
                           double divisor, KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(self);
  SmallVector<int64_t> loops = loopsOf(type);
  if (dims.empty()) { // The sum of each element by itself.
    kernel.results.push_back(pointwise(kernel.builder, kernel.location,
                                       tensorTypeOf(result),
                                       readAt(self, loops, type.getRank()),
                                       [](LoopBody &body) { return body[0]; }));
    return;
  }
  Value sum = reduce(
      kernel.builder, kernel.location, type.getShape(), dims,
      kernel.accumulatorOf(self), Combiner::Add,
      readAt(self, loops, type.getRank()), 1,
      [](LoopBody &body) -> SmallVector<Scalar> { return {body[0]}; })[0];
  kernel.results.push_back(
      buildResult(result, type, sum, dims, kernel, [&](Scalar total) {
        return divisor == 1.0 ? total : total / divisor;
      }));
}

static void buildSum(aten::SumOp op, aten::SumOp::Adaptor inputs,
                     KernelBuilder &kernel) {
  buildScaledSum(op.getResult(), inputs.getSelf(), op.getDim(), 1.0, kernel);
}

static void buildMean(aten::MeanOp op, aten::MeanOp::Adaptor inputs,
                      KernelBuilder &kernel) {
  double elements = 1;
  for (int64_t dim : op.getDim())
    elements *= tensorTypeOf(inputs.getSelf()).getDimSize(dim);
  buildScaledSum(op.getResult(), inputs.getSelf(), op.getDim(), elements,
                 kernel);
}

/// Each element combined with all before it along the dimension, from `start`:
/// sums of floats in the accumulator's type, as PyTorch's on the CPU.
template <typename OpTy>
static void buildScan(OpTy op, typename OpTy::Adaptor inputs, double start,
                      function_ref<Scalar(Scalar, Scalar)> combine,
                      KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(op.getResult());
  TypedAttr first =
      isa<FloatType>(type.getElementType())
          ? TypedAttr(kernel.builder.getFloatAttr(
                kernel.accumulatorOf(inputs.getSelf()), start))
          : kernel.builder.getIntegerAttr(type.getElementType(),
                                          static_cast<int64_t>(start));
  if (type.getRank() == 0) { // The element, which PyTorch scans too.
    kernel.results.push_back(pointwise(kernel.builder, kernel.location, type,
                                       readBroadcast(inputs.getSelf(), 0),
                                       [](LoopBody &body) { return body[0]; }));
    return;
  }
  Value carried = scan(kernel.builder, kernel.location, inputs.getSelf(),
                       op.getDim(), first, [&](LoopBody &body, Scalar before) {
                         return combine(before, body[0].to(before.getType()));
                       });
  kernel.results.push_back(
      pointwise(kernel.builder, kernel.location, type,
                readBroadcast(carried, type.getRank()),
                [](LoopBody &body) { return body.stored(0); }));
}

static void buildCumsum(aten::CumsumOp op, aten::CumsumOp::Adaptor inputs,
                        KernelBuilder &kernel) {
  buildScan(op, inputs, 0, [](Scalar a, Scalar b) { return a + b; }, kernel);
}

static void buildCumprod(aten::CumprodOp op, aten::CumprodOp::Adaptor inputs,
                         KernelBuilder &kernel) {
  buildScan(op, inputs, 1, [](Scalar a, Scalar b) { return a * b; }, kernel);
}

//===----------------------------------------------------------------------===//
// Products, extremes and truths
//===----------------------------------------------------------------------===//

/// `term` of each element, combined over `dims` in `accumulator`; an element
/// by itself where there are none.
static Value combineOver(Value self, ArrayRef<int64_t> dims, Type accumulator,
                         Combiner combiner, ArrayRef<Read> further,
                         KernelBuilder &kernel,
                         function_ref<Scalar(LoopBody &)> term) {
  RankedTensorType type = tensorTypeOf(self);
  SmallVector<Read> reads = {readAt(self, loopsOf(type), type.getRank())};
  llvm::append_range(reads, further);
  if (dims.empty())
    return pointwise(
        kernel.builder, kernel.location, type.clone(accumulator), reads,
        [&](LoopBody &body) { return term(body).to(accumulator); });
  return reduce(kernel.builder, kernel.location, type.getShape(), dims,
                accumulator, combiner, reads, 1,
                [&](LoopBody &body) -> SmallVector<Scalar> {
                  return {term(body).to(accumulator)};
                })
      .front();
}

static Scalar elementOf(LoopBody &body) { return body[0]; }

/// What extremes are compared in: booleans as integers.
static Type orderedType(Type element, OpBuilder &builder) {
  return element.isInteger(1) ? builder.getI8Type() : computeType(element);
}

template <typename OpTy, Combiner combiner>
static void buildExtreme(OpTy op, typename OpTy::Adaptor inputs,
                         KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(inputs.getSelf());
  Value extreme =
      combineOver(inputs.getSelf(), op.getDim(),
                  orderedType(type.getElementType(), kernel.builder), combiner,
                  {}, kernel, elementOf);
  kernel.results.push_back(buildResult(op.getResult(), type, extreme,
                                       op.getDim(), kernel,
                                       [](Scalar value) { return value; }));
}

/// Whether one element is not 0, or all of them.
template <typename OpTy, Combiner combiner>
static void buildTruth(OpTy op, typename OpTy::Adaptor inputs,
                       KernelBuilder &kernel) {
  Type boolean = kernel.builder.getI1Type();
  Value truth = combineOver(
      inputs.getSelf(), op.getDim(), kernel.builder.getI8Type(), combiner, {},
      kernel, [&](LoopBody &body) { return body[0].to(boolean); });
  kernel.results.push_back(
      buildResult(op.getResult(), tensorTypeOf(inputs.getSelf()), truth,
                  op.getDim(), kernel, [](Scalar value) { return value; }));
}

static void buildProd(aten::ProdOp op, aten::ProdOp::Adaptor inputs,
                      KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(inputs.getSelf());
  Type accumulator = kernel.builder.getI64Type();
  if (isa<FloatType>(type.getElementType()))
    accumulator = kernel.accumulatorOf(inputs.getSelf());
  Value product = combineOver(inputs.getSelf(), op.getDim(), accumulator,
                              Combiner::Multiply, {}, kernel, elementOf);
  kernel.results.push_back(buildResult(op.getResult(), type, product,
                                       op.getDim(), kernel,
                                       [](Scalar value) { return value; }));
}

//===----------------------------------------------------------------------===//
// Moments and logarithms of sums
//===----------------------------------------------------------------------===//

static void buildVar(aten::VarOp op, aten::VarOp::Adaptor inputs,
                     KernelBuilder &kernel) {
  Value self = inputs.getSelf();
  RankedTensorType type = tensorTypeOf(self);
  ArrayRef<int64_t> dims = op.getDim();
  FloatType accumulator = kernel.accumulatorOf(self);
  double count = 1;
  for (int64_t dim : dims)
    count *= type.getDimSize(dim);
  Value sum = combineOver(self, dims, accumulator, Combiner::Add, {}, kernel,
                          elementOf);
  Value squares =
      combineOver(self, dims, accumulator, Combiner::Add,
                  readReduced(sum, type, dims), kernel, [&](LoopBody &body) {
                    Scalar wide = body[0].to(accumulator);
                    Scalar distance = wide - body[1] / count;
                    return distance * distance;
                  });
  double divisor = std::max(count - op.getCorrection().convertToDouble(), 0.0);
  kernel.results.push_back(
      buildResult(op.getResult(), type, squares, dims, kernel,
                  [&](Scalar total) { return total / divisor; }));
}

/// Taking an infinity away would give NaN where the result is that infinity.
static Scalar finiteOrZero(Scalar x) {
  constexpr double largest = std::numeric_limits<double>::max();
  double bound =
      x.getType().isF64() ? largest : std::numeric_limits<float>::max();
  Scalar isFinite = (x.constant(-bound) <= x) & (x <= x.constant(bound));
  return select(isFinite, x, x.constant(0));
}

static void buildLogsumexp(aten::LogsumexpOp op,
                           aten::LogsumexpOp::Adaptor inputs,
                           KernelBuilder &kernel) {
  Value self = inputs.getSelf();
  RankedTensorType type = tensorTypeOf(self);
  ArrayRef<int64_t> dims = op.getDim();
  Type computed = computeType(type.getElementType());
  Value largest = combineOver(self, dims, computed, Combiner::MaximumNumber, {},
                              kernel, elementOf);
  Value sum =
      combineOver(self, dims, kernel.accumulatorOf(self), Combiner::Add,
                  readReduced(largest, type, dims), kernel, [](LoopBody &body) {
                    return exp(body[0] - finiteOrZero(body[1]));
                  });
  RankedTensorType sums = tensorTypeOf(sum);
  Value logarithm =
      pointwise(kernel.builder, kernel.location, sums.clone(computed),
                {readAt(sum, loopsOf(sums), sums.getRank()),
                 readAt(largest, loopsOf(sums), sums.getRank())},
                [&](LoopBody &body) {
                  return log(body[0].to(computed)) + finiteOrZero(body[1]);
                });
  kernel.results.push_back(buildResult(op.getResult(), type, logarithm, dims,
                                       kernel,
                                       [](Scalar value) { return value; }));
}

//===----------------------------------------------------------------------===//
// Places of extremes
//===----------------------------------------------------------------------===//

/// The extreme along `dim` and the first place that has it, as the types of
/// the results; the values' may be null. NaN is the extreme.
static void buildFound(Value values, Value indices, Value self, uint64_t along,
                       Combiner combiner, KernelBuilder &kernel) {
  RankedTensorType type = tensorTypeOf(self);
  OpBuilder &builder = kernel.builder;
  if (type.getRank() == 0) {
    if (values)
      kernel.results.push_back(buildCopy(builder, kernel.location, self));
    kernel.results.push_back(arith::ConstantOp::create(
        builder, kernel.location,
        cast<TypedAttr>(builder.getZeroAttr(indices.getType()))));
    return;
  }
  int64_t dims[] = {static_cast<int64_t>(along)};
  Type ordered = orderedType(type.getElementType(), builder);
  Value extreme =
      combineOver(self, dims, ordered, combiner, {}, kernel, elementOf);
  auto size = static_cast<double>(type.getDimSize(along));
  Value place = combineOver(
      self, dims, builder.getI64Type(), Combiner::Minimum,
      readReduced(extreme, type, dims), kernel, [&](LoopBody &body) {
        Scalar element = body[0].to(ordered);
        Scalar isNan = notEqual(element, element);
        Scalar index = body.index(along).to(builder.getI64Type());
        Scalar behind = index.constant(size);
        return select(equal(element, body[1]), index,
                      select(isNan, index, behind));
      });
  auto unchanged = [](Scalar value) { return value; };
  if (values)
    kernel.results.push_back(
        buildResult(values, type, extreme, dims, kernel, unchanged));
  kernel.results.push_back(
      buildResult(indices, type, place, dims, kernel, unchanged));
}

template <typename OpTy, Combiner combiner>
static void buildPlace(OpTy op, typename OpTy::Adaptor inputs,
                       KernelBuilder &kernel) {
  buildFound(Value(), op.getResult(), inputs.getSelf(), op.getDim(), combiner,
             kernel);
}

template <typename OpTy, Combiner combiner>
static void buildExtremeAndPlace(OpTy op, typename OpTy::Adaptor inputs,
                                 KernelBuilder &kernel) {
  buildFound(op.getValues(), op.getIndices(), inputs.getSelf(), op.getDim(),
             combiner, kernel);
}

void attachReductionKernels(MLIRContext *context) {
  using namespace aten;
  SumOp::attachInterface<KernelModel<SumOp, buildSum>>(*context);
  MeanOp::attachInterface<KernelModel<MeanOp, buildMean>>(*context);
  ProdOp::attachInterface<KernelModel<ProdOp, buildProd>>(*context);
  AmaxOp::attachInterface<
      KernelModel<AmaxOp, buildExtreme<AmaxOp, Combiner::Maximum>>>(*context);
  AminOp::attachInterface<
      KernelModel<AminOp, buildExtreme<AminOp, Combiner::Minimum>>>(*context);
  AnyOp::attachInterface<
      KernelModel<AnyOp, buildTruth<AnyOp, Combiner::Maximum>>>(*context);
  AllOp::attachInterface<
      KernelModel<AllOp, buildTruth<AllOp, Combiner::Minimum>>>(*context);
  VarOp::attachInterface<KernelModel<VarOp, buildVar>>(*context);
  LogsumexpOp::attachInterface<KernelModel<LogsumexpOp, buildLogsumexp>>(
      *context);
  ArgmaxOp::attachInterface<
      KernelModel<ArgmaxOp, buildPlace<ArgmaxOp, Combiner::Maximum>>>(*context);
  ArgminOp::attachInterface<
      KernelModel<ArgminOp, buildPlace<ArgminOp, Combiner::Minimum>>>(*context);
  MaxDimOp::attachInterface<
      KernelModel<MaxDimOp, buildExtremeAndPlace<MaxDimOp, Combiner::Maximum>>>(
      *context);
  MinDimOp::attachInterface<
      KernelModel<MinDimOp, buildExtremeAndPlace<MinDimOp, Combiner::Minimum>>>(
      *context);
  CumsumOp::attachInterface<KernelModel<CumsumOp, buildCumsum>>(*context);
  CumprodOp::attachInterface<KernelModel<CumprodOp, buildCumprod>>(*context);
}

} // namespace shardc
