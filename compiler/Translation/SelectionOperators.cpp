//===- SelectionOperators.cpp - Medians and running extremes --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Elements that are chosen by their order: medians, quantiles, modes, and the
// extremes up to each element. Values are gathered where they were found, so
// that gradients go there. NaN is larger than every number.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

namespace {

/// An operator along one dimension of `self`, which has one at least.
class Line {
public:
  explicit Line(NodeCall &call) : call(call), build(call) {}

  /// By the argument `dim`.
  LogicalResult read();
  /// All elements as one line.
  void flatten();

  bool isFloat() const { return isa<FloatType>(getElementTypeOrSelf(self)); }
  /// Elements and indices in order; fails with null values.
  FailureOr<aten::SortOp> sort() {
    return call.create<aten::SortOp>(self, dim, /*descending=*/false);
  }
  /// 0, 1, … along the dimension, the others of size 1.
  Value count();
  /// How many elements are NaN, with the dimension of size 1.
  Value countNan();
  Value gather(Value from, Value index) {
    return from && index ? build.build<aten::GatherOp>(from, dim, index)
                         : Value();
  }
  Value i64(Value value) {
    return value ? call.convert(value, call.builder().getI64Type()) : value;
  }
  /// `value` compared with an integer.
  template <typename CompareOp>
  Value compare(Value value, int64_t number) {
    return build.build<CompareOp>(value,
                                  call.builder().getI64IntegerAttr(number));
  }
  /// Half of an integer, rounded down.
  Value half(Value value) {
    return build.build<aten::DivScalarOp>(
        value, call.builder().getI64IntegerAttr(2), aten::RoundingMode::floor);
  }
  /// The results in the export's shapes.
  LogicalResult finish(ArrayRef<Value> values);

  NodeCall &call;
  Decomposition build;
  Value self;
  int64_t dim = 0, size = 0;
};

} // namespace

LogicalResult Line::read() {
  int64_t rank = call.typeOf("self").getRank();
  FailureOr<int64_t> given = call.dimension("dim", std::max<int64_t>(rank, 1));
  if (failed(given))
    return failure();
  self = call.tensor("self");
  if (rank == 0)
    self = build.unsqueeze(self, 0);
  dim = *given;
  size = Decomposition::typeOf(self).getDimSize(dim);
  return success();
}

void Line::flatten() {
  size = call.typeOf("self").getNumElements();
  self = build.view(call.tensor("self"), {size});
}

Value Line::count() {
  SmallVector<int64_t> shape(Decomposition::typeOf(self).getRank(), 1);
  shape[dim] = size;
  auto numbers = llvm::to_vector(llvm::seq<int64_t>(size));
  return aten::ConstantOp::create(
      call.builder(), call.loc(),
      DenseElementsAttr::get(
          RankedTensorType::get(shape, call.builder().getI64Type()),
          ArrayRef<int64_t>(numbers)));
}

Value Line::countNan() {
  return build.sum(i64(build.build<aten::IsNanOp>(self)), {dim},
                   /*keepdim=*/true);
}

LogicalResult Line::finish(ArrayRef<Value> values) {
  SmallVector<Value> results;
  for (auto [i, value] : llvm::enumerate(values)) {
    RankedTensorType type =
        i < call.resultCount() ? call.resultType(i) : RankedTensorType();
    results.push_back(type ? build.view(value, type.getShape()) : value);
  }
  results.resize(std::min(results.size(), call.resultCount()));
  return build.finish(ArrayRef<Value>(results));
}

//===----------------------------------------------------------------------===//
// Medians
//===----------------------------------------------------------------------===//

/// Where the median was, the lower one of two, with the dimension of size 1. Of
/// a line with NaN that is the first of them, unless they are left out.
static Value findMedian(Line &line, bool leavesOutNan) {
  FailureOr<aten::SortOp> sort = line.sort();
  if (failed(sort))
    return nullptr;
  Decomposition &build = line.build;
  int64_t middle = (line.size - 1) / 2;
  if (!line.isFloat())
    return build.slice(sort->getIndices(), line.dim, middle, middle + 1);
  Value nans = line.countNan();
  Value place = build.subtractFrom(Scalar(line.size), nans);
  if (leavesOutNan) {
    place = build.add(place, Scalar(int64_t(-1)));
    place = line.half(build.clampMin(place, 0));
  } else if (nans) {
    place =
        build.where(line.compare<aten::EqScalarOp>(nans, 0),
                    build.constant(static_cast<double>(middle), nans), place);
  }
  return line.gather(sort->getIndices(), place);
}

template <bool leavesOutNan>
static LogicalResult translateMedianAlong(NodeCall &call) {
  Line line(call);
  if (failed(line.read()))
    return failure();
  if (line.size == 0)
    return call.unsupported("self", "elements to choose from");
  Value index = findMedian(line, leavesOutNan);
  return line.finish({line.gather(line.self, index), index});
}

/// Of all elements; equal ones share the gradient alike.
template <bool leavesOutNan>
static LogicalResult translateMedian(NodeCall &call) {
  Line line(call);
  line.flatten();
  if (line.size == 0)
    return call.unsupported("self", "elements to choose from");
  Value value = line.gather(line.self, findMedian(line, leavesOutNan));
  if (!value)
    return failure();
  if (line.isFloat()) {
    Decomposition &build = line.build;
    Value isFound = build.build<aten::LogicalOrOp>(
        build.build<aten::EqOp>(line.self, value),
        build.build<aten::LogicalAndOp>(build.build<aten::IsNanOp>(line.self),
                                        build.build<aten::IsNanOp>(value)));
    if (!isFound)
      return failure();
    Value found = toWideFloat(
        call, call.convert(isFound, getElementTypeOrSelf(line.self)));
    value = build.withSlopes(
        value, {{line.self, build.div(found, build.sum(found, {0}))}});
  }
  return line.finish({value});
}

//===----------------------------------------------------------------------===//
// Quantiles
//===----------------------------------------------------------------------===//

/// `self` with the dimension of the quantiles last.
static LogicalResult readQuantileLine(Line &line) {
  if (line.call.isNone("dim")) {
    line.flatten();
    return success();
  }
  if (failed(line.read()))
    return failure();
  int64_t rank = Decomposition::typeOf(line.self).getRank();
  auto order = llvm::to_vector(llvm::seq<int64_t>(rank));
  order.erase(order.begin() + line.dim);
  order.push_back(line.dim);
  line.self = line.build.permute(line.self, order);
  line.dim = rank - 1;
  return success();
}

/// The places of the quantiles among the sorted elements of each line, with
/// fractions. Of a line with NaN it is the last one, unless they are left out.
static Value quantileRanks(Line &line, Value q, bool leavesOutNan) {
  Decomposition &build = line.build;
  Type element = getElementTypeOrSelf(line.self);
  Value nans = line.countNan();
  if (!nans)
    return nullptr;
  auto last = static_cast<double>(line.size - 1);
  if (leavesOutNan) {
    Value limit = build.subtractFrom(Scalar(line.size - 1), nans);
    Value ranks = build.mul(line.call.convert(limit, element), q);
    if (!ranks)
      return nullptr;
    Value isBelow = build.build<aten::LtScalarOp>(
        ranks, line.call.builder().getF64FloatAttr(0.0));
    return build.where(isBelow, build.constant(0, ranks), ranks);
  }
  Value ranks = build.mul(q, Scalar(last));
  return ranks ? build.where(line.compare<aten::GtScalarOp>(nans, 0),
                             build.constant(last, ranks), ranks)
               : Value();
}

/// The element at each rank, or what lies between two.
static Value atRanks(Line &line, Value sorted, Value ranks, StringRef kind) {
  Decomposition &build = line.build;
  if (kind == "lower")
    ranks = build.build<aten::FloorOp>(ranks);
  else if (kind == "higher")
    ranks = build.build<aten::CeilOp>(ranks);
  else if (kind == "nearest")
    ranks = build.build<aten::RoundOp>(ranks);
  Value below = build.build<aten::FloorOp>(ranks);
  Value low = line.gather(sorted, line.i64(below));
  if (kind != "linear" && kind != "midpoint")
    return low;
  Value high = line.gather(sorted, line.i64(build.build<aten::CeilOp>(ranks)));
  Value way = build.sub(high, low), weight = build.sub(ranks, below);
  if (!way || !weight)
    return nullptr;
  if (kind == "midpoint")
    weight = build.constant(0.5, weight);
  // From the nearer end, as PyTorch's lerp.
  Value isNear = build.build<aten::LtScalarOp>(
      weight, line.call.builder().getF64FloatAttr(0.5));
  Value rest = build.subtractFrom(Scalar(1.0), weight);
  return build.where(isNear, build.add(low, build.mul(way, weight)),
                     build.sub(high, build.mul(way, rest)));
}

template <bool leavesOutNan>
static LogicalResult translateQuantile(NodeCall &call) {
  Line line(call);
  RankedTensorType type = call.resultType();
  if (failed(readQuantileLine(line)) || !type)
    return failure();
  if (line.size == 0)
    return call.unsupported("self", "elements to choose from");
  Decomposition &build = line.build;
  Type element = getElementTypeOrSelf(line.self);
  Value q =
      call.isNumber("q")
          ? splat(call, RankedTensorType::get({1}, element), call.number("q"))
          : call.tensor("q");
  bool isList = Decomposition::typeOf(q).getRank() == 1 && !call.isNumber("q");
  q = build.view(q, {Decomposition::typeOf(q).getNumElements()});
  FailureOr<aten::SortOp> sort = line.sort();
  if (failed(sort))
    return failure();
  Value ranks = quantileRanks(line, q, leavesOutNan);
  Value values =
      atRanks(line, sort->getValues(), ranks, call.text("interpolation"));
  if (!values)
    return failure();
  if (isList) {
    SmallVector<int64_t> order = {line.dim};
    llvm::append_range(order, llvm::seq<int64_t>(line.dim));
    values = build.permute(values, order);
  }
  return build.finish(build.view(values, type.getShape()));
}

//===----------------------------------------------------------------------===//
// Modes
//===----------------------------------------------------------------------===//

/// The most frequent element, the smallest of several, and its last place.
static LogicalResult translateMode(NodeCall &call) {
  Line line(call);
  if (failed(line.read()))
    return failure();
  if (line.size == 0)
    return call.unsupported("self", "elements to choose from");
  FailureOr<aten::SortOp> sort = line.sort();
  if (failed(sort))
    return failure();
  Decomposition &build = line.build;
  Value sorted = sort->getValues();
  Value rows = build.unsqueeze(sorted, line.dim + 1);
  Value columns = build.unsqueeze(sorted, line.dim);
  Value counts = build.sum(line.i64(build.build<aten::EqOp>(rows, columns)),
                           {line.dim + 1});
  auto first = call.create<aten::MaxDimOp>(counts, line.dim, /*keepdim=*/true);
  if (failed(first))
    return failure();
  Value place =
      build.add(build.add((*first).getIndices(), (*first).getValues()),
                Scalar(int64_t(-1)));
  // NaN equals nothing, not itself.
  Value index = line.gather(sort->getIndices(), build.clampMin(place, 0));
  return line.finish({line.gather(line.self, index), index});
}

static LogicalResult translateMsort(NodeCall &call) {
  Value self = call.tensor("self");
  if (call.typeOf("self").getRank() == 0) {
    call.setResult(self);
    return success();
  }
  return call.translate<aten::SortOp>(self, 0, /*descending=*/false);
}

//===----------------------------------------------------------------------===//
// Up to each element
//===----------------------------------------------------------------------===//

/// What `combine` makes of every element and all before it: of twice as many in
/// each step. It is given earlier and later elements.
template <size_t count>
static void
scan(Line &line, std::array<Value, count> &values,
     function_ref<std::array<Value, count>(const std::array<Value, count> &,
                                           const std::array<Value, count> &)>
         combine) {
  Decomposition &build = line.build;
  for (int64_t distance = 1; distance < line.size; distance *= 2) {
    std::array<Value, count> earlier, later;
    for (size_t i = 0; i < count; ++i) {
      earlier[i] = build.slice(values[i], line.dim, 0, line.size - distance);
      later[i] = build.slice(values[i], line.dim, distance, line.size);
    }
    std::array<Value, count> combined = combine(earlier, later);
    for (size_t i = 0; i < count; ++i)
      values[i] = build.cat(
          {build.slice(values[i], line.dim, 0, distance), combined[i]},
          line.dim);
  }
}

/// cummax and cummin: the last of equal extremes, and NaN from the first one
/// on.
template <typename CompareOp>
static LogicalResult translateRunningExtreme(NodeCall &call) {
  Line line(call);
  if (failed(line.read()))
    return failure();
  Decomposition &build = line.build;
  std::array<Value, 2> values = {
      build.detach(line.self),
      build.expand(line.count(), Decomposition::typeOf(line.self).getShape())};
  using Pair = std::array<Value, 2>;
  scan<2>(line, values, [&](const Pair &earlier, const Pair &later) -> Pair {
    if (!later[0] || !earlier[0])
      return {};
    Value takes = build.build<CompareOp>(later[0], earlier[0]);
    if (line.isFloat() && takes)
      takes = build.build<aten::LogicalOrOp>(
          takes, build.build<aten::IsNanOp>(later[0]));
    return {build.where(takes, later[0], earlier[0]),
            build.where(takes, later[1], earlier[1])};
  });
  return line.finish({line.gather(line.self, values[1]), values[1]});
}

/// The logarithm of the running sum of exponentials.
static LogicalResult translateLogcumsumexp(NodeCall &call) {
  Line line(call);
  if (failed(line.read()))
    return failure();
  Decomposition &build = line.build;
  Type element = getElementTypeOrSelf(line.self);
  using One = std::array<Value, 1>;
  One values = {toWideFloat(call, line.self)};
  scan<1>(line, values, [&](const One &earlier, const One &later) -> One {
    Value a = earlier[0], b = later[0];
    Value gap = build.sub(a, b);
    if (!gap)
      return {};
    // Of equal infinities the difference is none.
    gap =
        build.where(build.build<aten::EqOp>(a, b), build.constant(0, gap), gap);
    Value excess = build.build<aten::Log1pOp>(
        build.build<aten::ExpOp>(build.negate(build.build<aten::AbsOp>(gap))));
    return {build.add(build.maximum(a, b), excess)};
  });
  if (!values[0])
    return failure();
  return line.finish({call.convert(values[0], element)});
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

void translation::addSelectionOperators(OperatorTable &table) {
  StringRef both = "(Tensor values, Tensor indices)";
  const std::string along =
      (".dim(Tensor self, int dim, bool keepdim=False) -> " + both).str();
  table.add("median(Tensor self) -> Tensor", translateMedian<false>);
  table.add("median" + along, translateMedianAlong<false>);
  table.add("nanmedian(Tensor self) -> Tensor", translateMedian<true>);
  table.add("nanmedian" + along, translateMedianAlong<true>);
  for (StringRef name : {"cummax", "cummin"})
    table.add((name + "(Tensor self, int dim) -> " + both).str(),
              name == "cummax" ? translateRunningExtreme<aten::GeOp>
                               : translateRunningExtreme<aten::LeOp>);
  table.add("logcumsumexp(Tensor self, int dim) -> Tensor",
            translateLogcumsumexp);
  table.add(
      ("mode(Tensor self, int dim=-1, bool keepdim=False) -> " + both).str(),
      translateMode);
  table.add("msort(Tensor self) -> Tensor", translateMsort);
  const std::string rest = ", int? dim=None, bool keepdim=False, *, "
                           "str interpolation='linear') -> Tensor";
  for (auto [overload, q] :
       {std::pair("", "Tensor q"), std::pair(".scalar", "float q")}) {
    table.add(std::string("quantile") + overload + "(Tensor self, " + q + rest,
              translateQuantile<false>);
    table.add(std::string("nanquantile") + overload + "(Tensor self, " + q +
                  rest,
              translateQuantile<true>);
  }
}
