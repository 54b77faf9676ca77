//===- VarianceOperators.cpp - Translation of variances -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// var and std, by themselves and together with the mean. The variance of
// complex numbers is that of their real parts and that of their imaginary
// parts, added.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/Norm.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Reduced.h"
#include "compiler/Translation/Scalars.h"
#include "dialects/Aten/Aten.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

enum class Overload { All, Dimensions, Correction };

template <Overload overload>
static double readCorrection(NodeCall &call) {
  if constexpr (overload == Overload::Correction)
    return call.isNone("correction") ? 1.0 : call.number("correction");
  else
    return call.boolean("unbiased") ? 1.0 : 0.0;
}

static bool isComplex(NodeCall &call) {
  return isa<ComplexType>(call.typeOf("self").getElementType());
}

/// `self`, complex numbers as pairs in a last dimension.
static Value realsOf(NodeCall &call) {
  Value self = call.tensor("self");
  return isComplex(call) ? Decomposition(call).build<aten::ViewAsRealOp>(self)
                         : self;
}

/// The variance of `reals`, see realsOf; null after an error. Where `keepDim`
/// the pairs' dimension stays, too.
static Value varianceOf(NodeCall &call, Value reals, ArrayRef<int64_t> dims,
                        double correction, bool keepDim) {
  Decomposition build(call);
  Value variance =
      build.build<aten::VarOp>(reals, dims, APFloat(correction), keepDim);
  if (!variance || !isComplex(call))
    return variance;
  return build.sum(variance, Decomposition::typeOf(variance).getRank() - 1,
                   keepDim);
}

/// `value` without the dimensions that the result does not have.
static Value inShapeOfResult(NodeCall &call, Value value,
                             const Reduced &reduced) {
  Dimensions gone;
  if (!reduced.keepDim)
    gone = reduced.dims;
  if (isComplex(call))
    gone.push_back(call.typeOf("self").getRank());
  return gone.empty() ? value : withoutDims(call, value, gone);
}

/// The variance; null after an error.
template <Overload overload>
static Value buildVariance(NodeCall &call, const Reduced &reduced) {
  return inShapeOfResult(call,
                         varianceOf(call, realsOf(call), reduced.dims,
                                    readCorrection<overload>(call),
                                    /*keepDim=*/true),
                         reduced);
}

/// The root of the variance, in f64 so that squares neither overflow nor
/// vanish, as PyTorch has it. Its slope is 0 where it is 0.
template <Overload overload>
static Value buildDeviation(NodeCall &call, const Reduced &reduced) {
  Decomposition build(call);
  double correction = readCorrection<overload>(call), count = 1;
  for (int64_t dim : reduced.dims)
    count *= call.typeOf("self").getDimSize(dim);
  ArrayRef<int64_t> dims = reduced.dims;
  Value self = realsOf(call);
  Value wide = call.convert(self, call.builder().getF64Type());
  Value root = build.build<aten::SqrtOp>(
      varianceOf(call, wide, dims, correction, /*keepDim=*/true));
  Value isZero =
      build.build<aten::EqScalarOp>(root, call.builder().getF64FloatAttr(0.0));
  Value rate = build.build<aten::ReciprocalOp>(build.mul(root, Scalar(2.0)));
  if (!isZero || !rate)
    return nullptr;
  rate = build.where(isZero, build.constant(0, rate), rate);
  Value slope = build.mul(build.mul(rate, Scalar(2 / (count - correction))),
                          build.sub(wide, build.mean(wide, dims, true)));
  auto narrow = [&](Value value) {
    return build.build<aten::ToOtherOp>(value, self);
  };
  return inShapeOfResult(
      call, build.withSlopes(narrow(root), {{self, narrow(slope)}}), reduced);
}

template <Overload overload, bool isRoot>
static Value buildSpread(NodeCall &call, const Reduced &reduced) {
  return isRoot ? buildDeviation<overload>(call, reduced)
                : buildVariance<overload>(call, reduced);
}

template <Overload overload, bool isRoot>
static LogicalResult translateVariance(NodeCall &call) {
  FailureOr<Reduced> reduced = readReduced<overload == Overload::All>(call);
  if (failed(reduced))
    return failure();
  return setReduced(call, buildSpread<overload, isRoot>(call, *reduced));
}

/// var_mean and std_mean.
template <Overload overload, bool isRoot>
static LogicalResult translateMoments(NodeCall &call) {
  FailureOr<Reduced> reduced = readReduced<overload == Overload::All>(call);
  if (failed(reduced))
    return failure();
  Value spread = buildSpread<overload, isRoot>(call, *reduced);
  Value mean = reduce<aten::MeanOp>(call, call.tensor("self"), *reduced);
  if (!spread || !mean)
    return failure();
  call.setResults({spread, mean});
  return success();
}

template <bool isRoot>
static void addVariance(OperatorTable &table, StringRef name) {
  StringRef all = "(Tensor self, bool unbiased=True) -> ";
  StringRef dim = ".dim(Tensor self, int[]? dim, bool unbiased=True, "
                  "bool keepdim=False) -> ";
  StringRef correction = ".correction(Tensor self, int[]? dim=None, *, "
                         "Scalar? correction=None, bool keepdim=False) -> ";
  table.add((name + all + "Tensor").str(),
            translateVariance<Overload::All, isRoot>);
  table.add((name + dim + "Tensor").str(),
            translateVariance<Overload::Dimensions, isRoot>);
  table.add((name + correction + "Tensor").str(),
            translateVariance<Overload::Correction, isRoot>);
  StringRef two = "(Tensor, Tensor)";
  table.add((name + "_mean" + all + two).str(),
            translateMoments<Overload::All, isRoot>);
  table.add((name + "_mean" + dim + two).str(),
            translateMoments<Overload::Dimensions, isRoot>);
  table.add((name + "_mean" + correction + two).str(),
            translateMoments<Overload::Correction, isRoot>);
}

void translation::addVarianceOperators(OperatorTable &table) {
  addVariance<false>(table, "var");
  addVariance<true>(table, "std");
}
