//===- ReductionOperators.cpp - Translation of reductions -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reductions and running sums. Dimensions become explicit: PyTorch's empty list
// and None mean all of them.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/Norm.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Reduced.h"
#include "compiler/Translation/Scalars.h"
#include "dialects/Aten/Aten.h"
#include "llvm/ADT/Sequence.h"

#include <cmath>
#include <utility>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

//===----------------------------------------------------------------------===//
// Reductions that the dialect has
//===----------------------------------------------------------------------===//

template <typename Op, bool overAll>
static LogicalResult translateReduction(NodeCall &call) {
  FailureOr<Reduced> reduced = readReduced<overAll>(call);
  if (failed(reduced))
    return failure();
  return setReduced(call, reduce<Op>(call, call.tensor("self"), *reduced));
}

/// max and min of all elements. Equal extremes share the gradient, as NaNs do,
/// each of which is one.
template <typename Op>
static LogicalResult translateOverall(NodeCall &call) {
  FailureOr<Reduced> reduced = readReduced<true>(call);
  if (failed(reduced))
    return failure();
  Decomposition build(call);
  Value self = call.tensor("self");
  Value extreme = reduce<Op>(call, self, *reduced);
  if (!extreme || isa<IntegerType>(getElementTypeOrSelf(self)))
    return setReduced(call, extreme);
  Value isNan = build.build<aten::IsNanOp>(self);
  Value isExtreme = isNan ? build.build<aten::LogicalOrOp>(
                                build.build<aten::EqOp>(self, extreme), isNan)
                          : Value();
  Value mask = build.build<aten::ToOtherOp>(isExtreme, self);
  Value slope = build.div(mask, build.sum(mask, {}));
  return setReduced(call, build.withSlopes(extreme, {{self, slope}}));
}

/// The running product of complex numbers: each pass makes it reach twice as
/// far. Products alone, so that a factor of 0 has a gradient.
static Value runningProduct(Decomposition &build, Value value, int64_t dim) {
  int64_t size = Decomposition::typeOf(value).getDimSize(dim);
  for (int64_t reach = 1; reach < size && value; reach *= 2) {
    Value later = build.mul(build.slice(value, dim, reach, size),
                            build.slice(value, dim, 0, size - reach));
    value = build.cat({build.slice(value, dim, 0, reach), later}, dim);
  }
  return value;
}

static Value complexProduct(NodeCall &call, Value self,
                            const Reduced &reduced) {
  Decomposition build(call);
  for (int64_t dim : reduced.dims) {
    RankedTensorType type = Decomposition::typeOf(self);
    if (type.getRank() == 0)
      break;
    SmallVector<int64_t> shape(type.getShape());
    int64_t size = std::exchange(shape[dim], 1);
    self = size == 0 ? build.expand(build.constant(1, self), shape)
                     : build.slice(runningProduct(build, self, dim), dim,
                                   size - 1, size);
    if (!self)
      return self;
  }
  return build.view(self, call.resultType().getShape());
}

/// A reduction with an argument `dtype`.
template <typename Op, bool overAll>
static LogicalResult translateSum(NodeCall &call) {
  FailureOr<Reduced> reduced = readReduced<overAll>(call);
  FailureOr<Value> self = call.inAskedDtype(call.tensor("self"));
  if (failed(reduced) || failed(self))
    return failure();
  bool isProduct = std::is_same_v<Op, aten::ProdOp>;
  Value value = isProduct && isa<ComplexType>(getElementTypeOrSelf(*self))
                    ? complexProduct(call, *self, *reduced)
                    : reduce<Op>(call, *self, *reduced);
  // A sum of integers is i64 unless the author asked for another.
  if (value && !call.isNone("dtype"))
    value = call.convert(value, call.dtype("dtype"));
  return setReduced(call, value);
}

/// nansum and nanmean: of the elements that are numbers.
template <bool isMean>
static LogicalResult translateNumbers(NodeCall &call) {
  FailureOr<Reduced> reduced = readReduced<false>(call);
  FailureOr<Value> self = call.inAskedDtype(call.tensor("self"));
  if (failed(reduced) || failed(self))
    return failure();
  if (isa<IntegerType>(getElementTypeOrSelf(*self)))
    return setReduced(call, reduce<aten::SumOp>(call, *self, *reduced));
  Decomposition build(call);
  Value isNan = build.build<aten::IsNanOp>(*self);
  if (!isNan)
    return failure();
  Value isNumber = build.build<aten::ToOtherOp>(
      build.build<aten::LogicalNotOp>(isNan), *self);
  Value numbers = build.withSlopes(
      build.where(isNan, build.constant(0, *self), *self), {{*self, isNumber}});
  Value sum = reduce<aten::SumOp>(call, numbers, *reduced);
  if (isMean) {
    Value counts = call.convert(build.build<aten::LogicalNotOp>(isNan),
                                getElementTypeOrSelf(*self));
    sum = build.div(sum, reduce<aten::SumOp>(call, counts, *reduced));
  }
  return setReduced(call, sum);
}

/// The sum over what broadcasting to `self` would repeat.
static LogicalResult translateSumToSize(NodeCall &call) {
  RankedTensorType type = call.typeOf("self"), result = call.resultType();
  if (!result)
    return call.error("E0136") << "the result's sizes are not supported";
  int64_t leading = type.getRank() - result.getRank();
  SmallVector<int64_t> dims;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    int64_t place = static_cast<int64_t>(dim) - leading;
    if (place < 0 || (result.getDimSize(place) == 1 && size != 1))
      dims.push_back(dim);
  }
  Decomposition build(call);
  Value self = call.tensor("self");
  if (!dims.empty())
    self = build.sum(self, dims);
  return setReduced(call, build.view(self, result.getShape()));
}

/// `self`, with slices whose norm of order `order` over `dims` is larger than
/// `limit` scaled to that; null after an error.
static Value renormalize(NodeCall &call, Value self, double order,
                         ArrayRef<int64_t> dims, double limit) {
  Decomposition build(call);
  Value wide = toWideFloat(call, self);
  Value norm = buildNorm(call, wide, order, dims, /*keepDim=*/true);
  if (!norm)
    return nullptr;
  Value isLong = build.build<aten::GtScalarOp>(
      norm, call.builder().getF64FloatAttr(limit));
  Value factor =
      build.mul(build.build<aten::ReciprocalOp>(build.add(norm, Scalar(1e-7))),
                Scalar(limit));
  factor = build.where(isLong, factor, build.constant(1, norm));
  Value scaled = build.mul(wide, factor);
  return scaled ? call.convert(scaled, getElementTypeOrSelf(self)) : Value();
}

static LogicalResult translateRenorm(NodeCall &call) {
  RankedTensorType type = call.typeOf("self");
  FailureOr<int64_t> dim = call.dimension("dim", type.getRank());
  if (failed(dim))
    return failure();
  auto dims = llvm::to_vector(llvm::seq<int64_t>(type.getRank()));
  dims.erase(dims.begin() + *dim);
  Value scaled =
      renormalize(call, call.tensor("self"), toDouble(call.scalar("p")), dims,
                  toDouble(call.scalar("maxnorm")));
  return scaled ? setComputed(call, scaled) : failure();
}

/// The rows that `indices` look up. Equal indices write the same row.
static LogicalResult translateEmbeddingRenorm(NodeCall &call) {
  Decomposition build(call);
  Value self = call.tensor("self");
  Value indices = build.view(call.tensor("indices"),
                             call.typeOf("indices").getNumElements());
  call.requireBounds(call.tensor("indices"), 0);
  Value rows = build.build<aten::IndexOp>(self, ValueRange(indices),
                                          ArrayRef<int64_t>{0});
  if (!rows)
    return failure();
  rows = renormalize(call, rows, call.number("norm_type"), {1},
                     call.number("max_norm"));
  Value scaled =
      rows ? build.build<aten::IndexPutOp>(self, ValueRange(indices), rows,
                                           ArrayRef<int64_t>{0}, false)
           : Value();
  return scaled ? setComputed(call, scaled) : failure();
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
  FailureOr<Value> self = call.inAskedDtype(call.tensor("self"));
  if (failed(dim) || failed(self))
    return failure();
  Value value;
  Decomposition build(call);
  if (std::is_same_v<Op, aten::CumprodOp> &&
      isa<ComplexType>(getElementTypeOrSelf(*self)))
    value = call.typeOf("self").getRank() == 0
                ? *self
                : runningProduct(build, *self, *dim);
  else
    value = build.build<Op>(*self, *dim);
  if (!value)
    return failure();
  if (!call.isNone("dtype"))
    value = call.convert(value, call.dtype("dtype"));
  return setComputed(call, value);
}

//===----------------------------------------------------------------------===//
// Norms and counts
//===----------------------------------------------------------------------===//

/// A vector norm in f32 or wider, rounded to the result's dtype at the end.
static LogicalResult setNorm(NodeCall &call, StringRef order,
                             const Reduced &reduced, bool hasDtype) {
  FailureOr<Value> self = call.tensor("self");
  if (hasDtype)
    self = call.inAskedDtype(*self);
  if (failed(self))
    return failure();
  double p = call.isNone(order) ? 2.0 : call.number(order);
  Value norm = buildNorm(call, toWideFloat(call, *self), p, reduced.dims,
                         reduced.keepDim);
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

/// The largest or smallest sum of magnitudes of a matrix's columns (order 1) or
/// rows, the root of the sum of all squares for "fro", or a norm of its
/// singular values. A name stands for an order.
static Value buildMatrixNorm(NodeCall &call, Value self, double order,
                             StringRef name, ArrayRef<int64_t> dims,
                             bool keepDim) {
  SmallVector<int64_t> both(dims);
  llvm::sort(both);
  if (name == "fro")
    return buildNorm(call, self, 2, both, keepDim);
  if (name == "nuc" || std::abs(order) == 2)
    return buildSpectralNorm(call, self, name == "nuc" ? 1 : order, dims,
                             keepDim);
  int64_t summed = std::isinf(order) ? dims[1] : dims[0];
  int64_t chosen = std::isinf(order) ? dims[0] : dims[1];
  Value sums = buildNorm(call, self, 1, {summed}, /*keepDim=*/true);
  Reduced reduced{{chosen}, /*keepDim=*/true};
  Value norm = !sums       ? Value()
               : order > 0 ? reduce<aten::AmaxOp>(call, sums, reduced)
                           : reduce<aten::AminOp>(call, sums, reduced);
  return keepDim ? norm : withoutDims(call, norm, both);
}

static LogicalResult setMatrixNorm(NodeCall &call, double order, StringRef name,
                                   ArrayRef<int64_t> given) {
  int64_t rank = call.typeOf("self").getRank();
  SmallVector<int64_t> dims(given);
  for (int64_t &dim : dims)
    dim += dim < 0 ? rank : 0;
  if (dims.size() != 2 || dims[0] == dims[1] ||
      llvm::any_of(dims, [&](int64_t dim) { return dim < 0 || dim >= rank; }))
    return call.unsupported("dim", "two dimensions");
  bool isKnown = name.empty() ? std::abs(order) == 1 || std::abs(order) == 2 ||
                                    std::isinf(order)
                              : name == "fro" || name == "nuc";
  if (!isKnown)
    return call.unsupported("ord", "'fro', 'nuc', 1, 2, -1, -2 or an infinity");
  FailureOr<Value> self = call.inAskedDtype(call.tensor("self"));
  if (failed(self))
    return failure();
  Value norm = buildMatrixNorm(call, toWideFloat(call, *self), order, name,
                               dims, call.boolean("keepdim"));
  if (!norm || !call.resultType())
    return failure();
  return setReduced(call,
                    call.convert(norm, call.resultType().getElementType()));
}

/// Of matrices, by a name or a number.
template <bool isNamed>
static LogicalResult translateMatrixNorm(NodeCall &call) {
  SmallVector<int64_t> dims = call.integers("dim");
  return isNamed ? setMatrixNorm(call, 0, call.text("ord"), dims)
                 : setMatrixNorm(call, call.number("ord"), "", dims);
}

/// linalg.norm: of vectors or of matrices, as `dim` and `ord` say.
template <bool isNamed>
static LogicalResult translateLinalgNorm(NodeCall &call) {
  int64_t rank = call.typeOf("self").getRank();
  SmallVector<int64_t> dims = call.integers("dim");
  bool isWhole = call.isNone("dim");
  bool isMatrix =
      !call.isNone("ord") && (dims.size() == 2 || (isWhole && rank == 2));
  if (isMatrix && isWhole)
    dims = {0, 1};
  if (isMatrix && !isNamed)
    return setMatrixNorm(call, call.number("ord"), "", dims);
  if constexpr (isNamed) {
    if (!isMatrix)
      return call.unsupported("ord", "a number of vectors");
    return setMatrixNorm(call, 0, call.text("ord"), dims);
  } else {
    FailureOr<Reduced> reduced = readReduced<false>(call);
    return failed(reduced) ? failure() : setNorm(call, "ord", *reduced, true);
  }
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
                    countNonzero(call, call.tensor("self"), *dims, false));
}

static void addNorms(OperatorTable &table) {
  table.add("linalg_vector_norm(Tensor self, Scalar ord=2, int[]? dim=None, "
            "bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
            translateVectorNorm);
  const std::string rest = "int[]? dim=None, bool keepdim=False, *, "
                           "ScalarType? dtype=None) -> Tensor";
  table.add("linalg_norm(Tensor self, Scalar? ord=None, " + rest,
            translateLinalgNorm<false>);
  table.add("linalg_norm.ord_str(Tensor self, str ord, " + rest,
            translateLinalgNorm<true>);
  const std::string matrix = "int[] dim=[-2, -1], bool keepdim=False, *, "
                             "ScalarType? dtype=None) -> Tensor";
  table.add("linalg_matrix_norm(Tensor self, Scalar ord, " + matrix,
            translateMatrixNorm<false>);
  table.add("linalg_matrix_norm.str_ord(Tensor self, str ord='fro', " + matrix,
            translateMatrixNorm<true>);
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
  StringRef some = "(Tensor self, int[]? dim=None, bool keepdim=False, *, "
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
  table.add(("nansum" + some).str(), translateNumbers<false>);
  table.add(("nanmean" + some).str(), translateNumbers<true>);
  table.add("sum_to_size(Tensor self, SymInt[] size) -> Tensor",
            translateSumToSize);
  table.addWithInPlace(
      "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
      translateRenorm);
  table.addWithInPlace("embedding_renorm(Tensor self, Tensor indices, "
                       "float max_norm, float norm_type) -> Tensor",
                       translateEmbeddingRenorm);
  table.addWithInPlace(("cumsum" + scan).str(), translateScan<aten::CumsumOp>);
  table.addWithInPlace(("cumprod" + scan).str(),
                       translateScan<aten::CumprodOp>);
}

static void addExtremes(OperatorTable &table) {
  StringRef some = "(Tensor self, int[] dim=[], bool keepdim=False) -> Tensor";
  table.add(("amax" + some).str(), translateReduction<aten::AmaxOp, false>);
  table.add(("amin" + some).str(), translateReduction<aten::AminOp, false>);
  table.add("max(Tensor self) -> Tensor", translateOverall<aten::AmaxOp>);
  table.add("min(Tensor self) -> Tensor", translateOverall<aten::AminOp>);
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
  table.add("_is_all_true(Tensor self) -> Tensor",
            translateReduction<aten::AllOp, true>);
  table.add("_is_any_true(Tensor self) -> Tensor",
            translateReduction<aten::AnyOp, true>);
  addTruth<aten::AllOp>(table, "all");
  table.add("logsumexp(Tensor self, int[] dim, bool keepdim=False) -> Tensor",
            translateLogsumexp);
  addNorms(table);
}
