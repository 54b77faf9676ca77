//===- ReductionOperators.cpp - translation of reductions -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reductions and running sums. Dimensions become explicit: PyTorch's empty list
// and None mean all of them.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"
#include "dialects/Aten/Aten.h"
#include "llvm/ADT/Sequence.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

using Dimensions = SmallVector<int64_t>;

/// The reduced dimensions, distinct and increasing: all of them for None and
/// for an empty list. A 0-d tensor has dimension 0, which reduces nothing.
static FailureOr<Dimensions>
reducedDimensions(NodeCall &call, ArrayRef<int64_t> given, int64_t rank) {
  Dimensions dimensions;
  for (int64_t dimension : given) {
    int64_t limit = std::max<int64_t>(rank, 1);
    int64_t counted = dimension < 0 ? dimension + limit : dimension;
    if (counted < 0 || counted >= limit ||
        llvm::is_contained(dimensions, counted))
      return call.error("E0119") << "dimension " << dimension
                                 << " is repeated or outside of a tensor of "
                                    "rank "
                                 << rank;
    dimensions.push_back(counted);
  }
  if (rank == 0)
    return Dimensions();
  if (given.empty())
    llvm::append_range(dimensions, llvm::seq<int64_t>(rank));
  llvm::sort(dimensions);
  return dimensions;
}

/// What a reduction's arguments `dim` and `keepdim` say; an overload without
/// them reduces everything.
struct Reduced {
  Dimensions dims;
  bool keepDim = false;
};

template <bool overAll>
static FailureOr<Reduced> readReduced(NodeCall &call) {
  Reduced reduced;
  SmallVector<int64_t> given;
  if constexpr (!overAll) {
    given = call.integers("dim");
    reduced.keepDim = call.boolean("keepdim");
  }
  FailureOr<Dimensions> dims =
      reducedDimensions(call, given, call.typeOf("self").getRank());
  if (failed(dims))
    return failure();
  reduced.dims = *dims;
  return reduced;
}

/// `self` in the dtype that the argument `dtype` asks for.
static FailureOr<Value> convertedSelf(NodeCall &call) {
  Value self = call.tensor("self");
  if (call.isNone("dtype"))
    return self;
  Type element = call.dtype("dtype");
  if (!element)
    return call.error("E0136") << "computes in a dtype that is not supported";
  return call.convert(self, element);
}

//===----------------------------------------------------------------------===//
// Reductions that the dialect has
//===----------------------------------------------------------------------===//

/// Builds a reduction of `self`; null after an error.
template <typename Op>
static Value reduce(NodeCall &call, Value self, const Reduced &reduced) {
  FailureOr<Op> op =
      call.create<Op>(self, ArrayRef<int64_t>(reduced.dims), reduced.keepDim);
  return failed(op) ? Value() : op->getResult();
}

static LogicalResult setReduced(NodeCall &call, Value value) {
  if (!value)
    return failure();
  call.setResult(value);
  return success();
}

template <typename Op, bool overAll>
static LogicalResult translateReduction(NodeCall &call) {
  FailureOr<Reduced> reduced = readReduced<overAll>(call);
  if (failed(reduced))
    return failure();
  return setReduced(call, reduce<Op>(call, call.tensor("self"), *reduced));
}

/// The same with an argument `dtype`.
template <typename Op, bool overAll>
static LogicalResult translateSum(NodeCall &call) {
  FailureOr<Reduced> reduced = readReduced<overAll>(call);
  FailureOr<Value> self = convertedSelf(call);
  if (failed(reduced) || failed(self))
    return failure();
  Value value = reduce<Op>(call, *self, *reduced);
  // A sum of integers is i64 unless the author asked for another.
  if (value && !call.isNone("dtype"))
    value = call.convert(value, call.dtype("dtype"));
  return setReduced(call, value);
}

static LogicalResult translateLogsumexp(NodeCall &call) {
  FailureOr<Reduced> reduced = readReduced<false>(call);
  if (failed(reduced))
    return failure();
  return setReduced(
      call, reduce<aten::LogsumexpOp>(call, toFloat(call, call.tensor("self")),
                                      *reduced));
}

/// aminmax: both extremes.
static LogicalResult translateAminmax(NodeCall &call) {
  int64_t rank = call.typeOf("self").getRank();
  Reduced reduced;
  SmallVector<int64_t> given;
  if (std::optional<int64_t> dim = call.optionalInteger("dim"))
    given.push_back(*dim);
  FailureOr<Dimensions> dims = reducedDimensions(call, given, rank);
  if (failed(dims))
    return failure();
  reduced = {*dims, call.boolean("keepdim")};
  Value self = call.tensor("self");
  Value low = reduce<aten::AminOp>(call, self, reduced);
  Value high = reduce<aten::AmaxOp>(call, self, reduced);
  if (!low || !high)
    return failure();
  call.setResults({low, high});
  return success();
}

//===----------------------------------------------------------------------===//
// Places of extremes
//===----------------------------------------------------------------------===//

static FailureOr<int64_t> readDimension(NodeCall &call) {
  return call.dimension("dim",
                        std::max<int64_t>(call.typeOf("self").getRank(), 1));
}

/// argmax and argmin; without a dimension they count in row-major order.
template <typename Op>
static LogicalResult translateArg(NodeCall &call) {
  Value self = call.tensor("self");
  if (!call.isNone("dim")) {
    FailureOr<int64_t> dim = readDimension(call);
    return failed(dim)
               ? failure()
               : call.translate<Op>(self, *dim, call.boolean("keepdim"));
  }
  int64_t count = call.typeOf("self").getNumElements();
  auto flat = call.create<aten::ViewOp>(self, ArrayRef<int64_t>{count});
  if (failed(flat))
    return failure();
  auto index = call.create<Op>(flat->getResult(), 0, false);
  if (failed(index) || !call.resultType())
    return failure();
  return call.translate<aten::ViewOp>(index->getResult(),
                                      call.resultType().getShape());
}

/// max.dim and min.dim: values and indices.
template <typename Op>
static LogicalResult translateExtreme(NodeCall &call) {
  FailureOr<int64_t> dim = readDimension(call);
  if (failed(dim))
    return failure();
  auto op = call.create<Op>(call.tensor("self"), *dim, call.boolean("keepdim"));
  if (failed(op))
    return failure();
  call.setResults((*op)->getResults());
  return success();
}

template <typename Op>
static LogicalResult translateScan(NodeCall &call) {
  FailureOr<int64_t> dim = readDimension(call);
  FailureOr<Value> self = convertedSelf(call);
  if (failed(dim) || failed(self))
    return failure();
  FailureOr<Op> op = call.create<Op>(*self, *dim);
  if (failed(op))
    return failure();
  Value value = op->getResult();
  if (!call.isNone("dtype"))
    value = call.convert(value, call.dtype("dtype"));
  return setComputed(call, value);
}

//===----------------------------------------------------------------------===//
// Variances
//===----------------------------------------------------------------------===//

enum class Overload { All, Dimensions, Correction };

template <Overload overload>
static double readCorrection(NodeCall &call) {
  if constexpr (overload == Overload::Correction)
    return call.isNone("correction") ? 1.0 : call.number("correction");
  else
    return call.boolean("unbiased") ? 1.0 : 0.0;
}

/// The variance in the dtype of `self`, or its root, which PyTorch takes in f32
/// before it rounds; null after an error.
template <Overload overload>
static Value buildVariance(NodeCall &call, const Reduced &reduced,
                           bool isRoot) {
  Value self = call.tensor("self");
  Type element = getElementTypeOrSelf(self);
  if (isRoot)
    self = toWideFloat(call, self);
  auto variance = call.create<aten::VarOp>(
      self, ArrayRef<int64_t>(reduced.dims),
      APFloat(readCorrection<overload>(call)), reduced.keepDim);
  if (failed(variance) || !isRoot)
    return failed(variance) ? Value() : variance->getResult();
  auto root = call.create<aten::SqrtOp>(variance->getResult());
  return failed(root) ? Value() : call.convert(root->getResult(), element);
}

template <Overload overload, bool isRoot>
static LogicalResult translateVariance(NodeCall &call) {
  FailureOr<Reduced> reduced = readReduced<overload == Overload::All>(call);
  if (failed(reduced))
    return failure();
  return setReduced(call, buildVariance<overload>(call, *reduced, isRoot));
}

/// var_mean and std_mean.
template <Overload overload, bool isRoot>
static LogicalResult translateMoments(NodeCall &call) {
  FailureOr<Reduced> reduced = readReduced<overload == Overload::All>(call);
  if (failed(reduced))
    return failure();
  Value spread = buildVariance<overload>(call, *reduced, isRoot);
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

//===----------------------------------------------------------------------===//
// Norms and counts
//===----------------------------------------------------------------------===//

/// How many elements are not zero; null after an error.
static Value countNonzero(NodeCall &call, Value self, const Reduced &reduced) {
  TypedAttr zero = promoteScalar(call, self, int64_t(0));
  auto isNonzero = call.create<aten::NeScalarOp>(self, zero);
  return failed(isNonzero)
             ? Value()
             : reduce<aten::SumOp>(call, isNonzero->getResult(), reduced);
}

/// The sum of `self` to the power of `order`, to the power of 1 / `order`. Of
/// zeros it is chosen apart: the root has an infinite slope there, PyTorch's
/// norm none.
static Value buildPowerNorm(NodeCall &call, Value self, double order,
                            const Reduced &reduced) {
  OpBuilder &builder = call.builder();
  Decomposition build(call);
  auto powers =
      call.create<aten::PowScalarOp>(self, builder.getF64FloatAttr(order));
  if (failed(powers))
    return nullptr;
  Value sum = reduce<aten::SumOp>(call, powers->getResult(), reduced);
  if (!sum)
    return nullptr;
  auto zero = builder.getFloatAttr(getElementTypeOrSelf(sum), 0);
  Value isZero = build.build<aten::EqScalarOp>(sum, zero);
  Value positive = build.where(isZero, build.constant(1, sum), sum);
  Value root = order == 2 ? build.build<aten::SqrtOp>(positive)
                          : build.build<aten::PowScalarOp>(
                                positive, builder.getF64FloatAttr(1 / order));
  return build.where(isZero, build.constant(0, sum), root);
}

static Value buildNorm(NodeCall &call, Value self, double order,
                       const Reduced &reduced) {
  auto magnitude = call.create<aten::AbsOp>(self);
  if (failed(magnitude))
    return nullptr;
  self = magnitude->getResult();
  if (std::isinf(order))
    return order > 0 ? reduce<aten::AmaxOp>(call, self, reduced)
                     : reduce<aten::AminOp>(call, self, reduced);
  if (order == 0) {
    Value count = countNonzero(call, self, reduced);
    return count ? call.convert(count, getElementTypeOrSelf(self)) : count;
  }
  if (order == 1)
    return reduce<aten::SumOp>(call, self, reduced);
  return buildPowerNorm(call, self, order, reduced);
}

/// A vector norm in f32 or wider, rounded to the result's dtype at the end.
static LogicalResult setNorm(NodeCall &call, StringRef order,
                             const Reduced &reduced, bool hasDtype) {
  Value self = call.tensor("self");
  if (hasDtype && !call.isNone("dtype"))
    self = call.convert(self, call.dtype("dtype"));
  double p = call.isNone(order) ? 2.0 : call.number(order);
  Value norm = buildNorm(call, toWideFloat(call, self), p, reduced);
  if (!norm || !call.resultType())
    return failure();
  return setReduced(call,
                    call.convert(norm, call.resultType().getElementType()));
}

static LogicalResult translateVectorNorm(NodeCall &call) {
  FailureOr<Reduced> reduced = readReduced<false>(call);
  return failed(reduced) ? failure() : setNorm(call, "ord", *reduced, true);
}

template <bool overAll, bool hasDtype>
static LogicalResult translateNorm(NodeCall &call) {
  FailureOr<Reduced> reduced = readReduced<overAll>(call);
  return failed(reduced) ? failure() : setNorm(call, "p", *reduced, hasDtype);
}

template <bool isList>
static LogicalResult translateCountNonzero(NodeCall &call) {
  SmallVector<int64_t> given;
  if constexpr (isList)
    given = call.integers("dim");
  else if (std::optional<int64_t> dim = call.optionalInteger("dim"))
    given.push_back(*dim);
  FailureOr<Dimensions> dims =
      reducedDimensions(call, given, call.typeOf("self").getRank());
  if (failed(dims))
    return failure();
  return setReduced(call,
                    countNonzero(call, call.tensor("self"), {*dims, false}));
}

static void addNorms(OperatorTable &table) {
  table.add("linalg_vector_norm(Tensor self, Scalar ord=2, int[]? dim=None, "
            "bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
            translateVectorNorm);
  table.add("norm.Scalar(Tensor self, Scalar p=2) -> Tensor",
            translateNorm<true, false>);
  table.add("norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) "
            "-> Tensor",
            translateNorm<true, true>);
  table.add("norm.ScalarOpt_dim(Tensor self, Scalar? p, int[] dim, "
            "bool keepdim=False) -> Tensor",
            translateNorm<false, false>);
  table.add("norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[] dim, "
            "bool keepdim, *, ScalarType dtype) -> Tensor",
            translateNorm<false, true>);
  table.add("count_nonzero(Tensor self, int? dim=None) -> Tensor",
            translateCountNonzero<false>);
  table.add("count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
            translateCountNonzero<true>);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static void addSums(OperatorTable &table) {
  StringRef all = "(Tensor self, *, ScalarType? dtype=None) -> Tensor";
  StringRef some = "(Tensor self, int[]? dim, bool keepdim=False, *, "
                   "ScalarType? dtype=None) -> Tensor";
  table.add(("sum" + all).str(), translateSum<aten::SumOp, true>);
  table.add(("sum.dim_IntList" + some).str(), translateSum<aten::SumOp, false>);
  table.add(("mean" + all).str(), translateSum<aten::MeanOp, true>);
  table.add(("mean.dim" + some).str(), translateSum<aten::MeanOp, false>);
  table.add(("prod" + all).str(), translateSum<aten::ProdOp, true>);
  table.add("prod.dim_int(Tensor self, int[1] dim, bool keepdim=False, *, "
            "ScalarType? dtype=None) -> Tensor",
            translateSum<aten::ProdOp, false>);
  StringRef scan =
      "(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor";
  table.addWithInPlace(("cumsum" + scan).str(), translateScan<aten::CumsumOp>);
  table.addWithInPlace(("cumprod" + scan).str(),
                       translateScan<aten::CumprodOp>);
}

static void addExtremes(OperatorTable &table) {
  StringRef some = "(Tensor self, int[] dim=[], bool keepdim=False) -> Tensor";
  table.add(("amax" + some).str(), translateReduction<aten::AmaxOp, false>);
  table.add(("amin" + some).str(), translateReduction<aten::AminOp, false>);
  table.add("max(Tensor self) -> Tensor",
            translateReduction<aten::AmaxOp, true>);
  table.add("min(Tensor self) -> Tensor",
            translateReduction<aten::AminOp, true>);
  table.add("aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> "
            "(Tensor, Tensor)",
            translateAminmax);
  StringRef arg = "(Tensor self, int? dim=None, bool keepdim=False) -> Tensor";
  table.add(("argmax" + arg).str(), translateArg<aten::ArgmaxOp>);
  table.add(("argmin" + arg).str(), translateArg<aten::ArgminOp>);
  StringRef both =
      "(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)";
  table.add(("max.dim" + both).str(), translateExtreme<aten::MaxDimOp>);
  table.add(("min.dim" + both).str(), translateExtreme<aten::MinDimOp>);
}

template <typename Op>
static void addTruth(OperatorTable &table, StringRef name) {
  table.add((name + "(Tensor self) -> Tensor").str(),
            translateReduction<Op, true>);
  table.add((name + ".dim(Tensor self, int[1] dim, bool keepdim=False) -> "
                    "Tensor")
                .str(),
            translateReduction<Op, false>);
  table.add((name + ".dims(Tensor self, int[]? dim=None, bool keepdim=False) "
                    "-> Tensor")
                .str(),
            translateReduction<Op, false>);
}

void translation::addReductionOperators(OperatorTable &table) {
  addSums(table);
  addExtremes(table);
  addTruth<aten::AnyOp>(table, "any");
  addTruth<aten::AllOp>(table, "all");
  table.add("logsumexp(Tensor self, int[] dim, bool keepdim=False) -> Tensor",
            translateLogsumexp);
  addVariance<false>(table, "var");
  addVariance<true>(table, "std");
  addNorms(table);
}
