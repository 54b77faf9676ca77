//===- IndexingOperators.cpp - Translation of look-ups --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Embeddings, gathers and scatters, index tensors, and moves by fixed patterns.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"
#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

/// `rows`, whose gradients are divided by how often their index is there.
static Value scaledByFrequency(NodeCall &call, Value rows) {
  Decomposition build(call);
  int64_t size = call.typeOf("weight").getDimSize(0);
  int64_t count = call.typeOf("indices").getNumElements();
  auto counts = [&](int64_t elements) {
    return RankedTensorType::get({elements}, call.builder().getF32Type());
  };
  Value places = build.view(call.tensor("indices"), {count});
  Value total = build.build<aten::ScatterReduceOp>(
      build.zeros(counts(size)), 0, places,
      splat(call, counts(count), Scalar(1.0)), aten::ScatterReduction::sum,
      /*include_self=*/true);
  Value each = build.build<aten::ReciprocalOp>(
      build.build<aten::GatherOp>(total, 0, places));
  SmallVector<int64_t> shape(call.typeOf("indices").getShape());
  shape.push_back(1);
  Value slope = build.expand(build.view(each, shape),
                             Decomposition::typeOf(rows).getShape());
  return slope ? build.withSlopes(
                     rows, {{rows, build.build<aten::ToOtherOp>(slope, rows)}})
               : Value();
}

/// Gradients that PyTorch would keep as rows of a sparse tensor are dense.
static LogicalResult translateEmbedding(NodeCall &call) {
  Value weight = call.tensor("weight"), indices = call.tensor("indices");
  int64_t padding = call.integer("padding_idx");
  if (!call.boolean("scale_grad_by_freq"))
    return call.translate<aten::EmbeddingOp>(weight, indices, padding);
  Decomposition build(call);
  Value rows = build.build<aten::EmbeddingOp>(weight, indices, padding);
  return build.finish(rows ? scaledByFrequency(call, rows) : rows);
}

static FailureOr<int64_t> readDimension(NodeCall &call) {
  return call.dimension("dim",
                        std::max<int64_t>(call.typeOf("self").getRank(), 1));
}

//===----------------------------------------------------------------------===//
// Gather and scatter
//===----------------------------------------------------------------------===//

static LogicalResult translateGather(NodeCall &call) {
  FailureOr<int64_t> dim = readDimension(call);
  return failed(dim) ? failure()
                     : call.translate<aten::GatherOp>(call.tensor("self"), *dim,
                                                      call.tensor("index"));
}

/// The scattered elements: a tensor in the dtype of `self`, or a number for
/// each index.
static Value readSource(NodeCall &call, StringRef name) {
  Type element = call.typeOf("self").getElementType();
  if (!call.isNumber(name))
    return call.convert(call.tensor(name), element);
  return call.followSelf(
      splat(call, call.typeOf("index").clone(element), call.scalar(name)));
}

template <bool isValue>
static LogicalResult translateScatter(NodeCall &call) {
  FailureOr<int64_t> dim = readDimension(call);
  if (failed(dim))
    return failure();
  Value source = readSource(call, isValue ? "value" : "src");
  return setComputed(
      call, call.create<aten::ScatterOp>(call.tensor("self"), *dim,
                                         call.tensor("index"), source));
}

static LogicalResult buildScatterReduce(NodeCall &call, StringRef source,
                                        aten::ScatterReduction kind,
                                        bool includeSelf = true) {
  FailureOr<int64_t> dim = readDimension(call);
  if (failed(dim))
    return failure();
  Value elements = readSource(call, source);
  return setComputed(call, call.create<aten::ScatterReduceOp>(
                               call.tensor("self"), *dim, call.tensor("index"),
                               elements, kind, includeSelf));
}

static LogicalResult translateScatterAdd(NodeCall &call) {
  return buildScatterReduce(call, "src", aten::ScatterReduction::sum);
}

/// The older overloads, whose reductions are called add and multiply.
template <bool isValue>
static LogicalResult translateScatterCombine(NodeCall &call) {
  StringRef kind = call.text("reduce");
  if (kind != "add" && kind != "multiply")
    return call.unsupported("reduce", "'add' or 'multiply'");
  return buildScatterReduce(call, isValue ? "value" : "src",
                            kind == "add" ? aten::ScatterReduction::sum
                                          : aten::ScatterReduction::prod);
}

static LogicalResult translateScatterReduce(NodeCall &call) {
  std::optional<aten::ScatterReduction> kind =
      aten::symbolizeScatterReduction(call.text("reduce"));
  if (!kind)
    return call.unsupported("reduce", "'sum', 'prod', 'mean', 'amax' or "
                                      "'amin'");
  return buildScatterReduce(call, "src", *kind, call.boolean("include_self"));
}

//===----------------------------------------------------------------------===//
// Index tensors
//===----------------------------------------------------------------------===//

static bool isMask(Value index) {
  Type element = getElementTypeOrSelf(index);
  return element.isInteger(1) || element.isUnsignedInteger(8);
}

/// Index tensors and the dimensions that they are for.
struct Indices {
  SmallVector<Value> tensors;
  SmallVector<int64_t> dims;
  /// The first of them that is a mask.
  Value mask;
};

static Indices readIndices(NodeCall &call) {
  Indices indices;
  int64_t dim = 0;
  for (Value index : call.optionalTensors("indices")) {
    if (index) {
      indices.tensors.push_back(index);
      indices.dims.push_back(dim);
    }
    ++dim;
    if (!index || !isMask(index))
      continue;
    // A mask stands for as many dimensions as it has.
    indices.mask = indices.mask ? indices.mask : index;
    dim += aten::tensorType(index).getRank() - 1;
  }
  return indices;
}

static LogicalResult reportMask(NodeCall &call) {
  InFlightDiagnostic diagnostic = call.error("E0140");
  diagnostic
      << "the number of elements that a boolean mask selects depends on data";
  diagnostic.attachNote()
      << "help: use torch.where(mask, x, 0), or multiply with the mask";
  return failure();
}

static LogicalResult translateIndex(NodeCall &call) {
  Indices indices = readIndices(call);
  if (indices.mask)
    return reportMask(call);
  if (indices.tensors.empty()) {
    call.setResult(call.tensor("self"));
    return success();
  }
  return call.translate<aten::IndexOp>(call.tensor("self"),
                                       ValueRange(indices.tensors),
                                       ArrayRef<int64_t>(indices.dims));
}

/// `self[mask] = values` with a value for each of the places, which are as many
/// as `values` says: `shape` is theirs.
static LogicalResult putInOrder(NodeCall &call, Value mask, Value self,
                                Value values, ArrayRef<int64_t> shape,
                                int64_t count) {
  Decomposition build(call);
  Value places = call.convert(mask, call.builder().getI64Type());
  call.requireBounds(build.sum(places, {}), count, count + 1);
  const bool adds = call.boolean("accumulate");
  Value target = adds ? build.zeros(aten::tensorType(self)) : self;
  Value result = build.build<aten::MaskedScatterOp>(
      target, mask, build.expand(values, shape));
  result = adds ? build.add(self, result) : result;
  return result ? setComputed(call, result) : failure();
}

/// `self[..., mask] = values`: where(mask, values, self) where the places of a
/// row take the same value.
static LogicalResult putAtMask(NodeCall &call, const Indices &indices,
                               Value self, Value values) {
  if (indices.tensors.size() != 1)
    return reportMask(call);
  ArrayRef<int64_t> shape = aten::tensorType(self).getShape();
  ArrayRef<int64_t> maskShape = aten::tensorType(indices.mask).getShape();
  ArrayRef<int64_t> valueShape = aten::tensorType(values).getShape();
  ArrayRef<int64_t> before = shape.take_front(indices.dims.front());
  ArrayRef<int64_t> rest = shape.drop_front(before.size() + maskShape.size());
  SmallVector<int64_t> conditionShape(maskShape);
  conditionShape.append(rest.size(), 1);
  Decomposition build(call);
  Value mask = build.view(
      call.convert(indices.mask, call.builder().getI1Type()), conditionShape);
  if (valueShape.size() > rest.size()) {
    ArrayRef<int64_t> lead = valueShape.drop_back(rest.size() + 1);
    int64_t count = valueShape[lead.size()];
    lead = lead.take_back(std::min(lead.size(), before.size()));
    SmallVector<int64_t> each(count == 1 ? lead : before);
    each.append(count == 1 ? maskShape.size() : 1, count);
    llvm::append_range(each,
                       count == 1 ? valueShape.take_back(rest.size()) : rest);
    if (count != 1)
      return putInOrder(call, mask, self, values, each, count);
    values = build.view(values, each);
  }
  if (call.boolean("accumulate"))
    values = build.add(self, values);
  Value result = build.where(mask, values, self);
  return result ? setComputed(call, result) : failure();
}

static LogicalResult translateIndexPut(NodeCall &call) {
  Indices indices = readIndices(call);
  Value self = call.tensor("self");
  Value values =
      call.convert(call.tensor("values"), getElementTypeOrSelf(self));
  // `x[:, [1, 3]] = 0.5` is in the dtype that x has; PyTorch takes no other.
  if (aten::tensorType(values).getRank() == 0)
    values = call.followSelf(values);
  if (indices.mask)
    return putAtMask(call, indices, self, values);
  if (!indices.tensors.empty())
    return setComputed(call, call.create<aten::IndexPutOp>(
                                 self, ValueRange(indices.tensors), values,
                                 ArrayRef<int64_t>(indices.dims),
                                 call.boolean("accumulate")));
  return setComputed(call, call.create<aten::ExpandOp>(
                               values, aten::tensorType(self).getShape()));
}

//===----------------------------------------------------------------------===//
// One index tensor along one dimension
//===----------------------------------------------------------------------===//

/// `value` in another shape; null after an error.
static Value viewAs(NodeCall &call, Value value, ArrayRef<int64_t> shape) {
  if (!value || aten::tensorType(value).getShape() == shape)
    return value;
  auto view = call.create<aten::ViewOp>(value, shape);
  return failed(view) ? Value() : view->getResult();
}

/// The argument `index` as [N]: a 0-d one counts as one index.
static Value readLine(NodeCall &call) {
  return viewAs(call, call.tensor("index"),
                {call.typeOf("index").getNumElements()});
}

/// `self` as [1] when it is 0-d, so that it has a dimension to index.
static Value readIndexed(NodeCall &call) {
  Value self = call.tensor("self");
  return call.typeOf("self").getRank() ? self : viewAs(call, self, {1});
}

static LogicalResult translateIndexSelect(NodeCall &call) {
  FailureOr<int64_t> dim = readDimension(call);
  call.requireBounds(call.tensor("index"), 0);
  Value self = readIndexed(call), index = readLine(call);
  if (failed(dim) || !self || !index || !call.resultType())
    return failure();
  auto op = call.create<aten::IndexOp>(self, ValueRange(index),
                                       ArrayRef<int64_t>{*dim});
  if (failed(op))
    return failure();
  Value result = viewAs(call, op->getResult(), call.resultType().getShape());
  call.setResult(result);
  return success(bool(result));
}

/// `self`, [1] when it is 0-d, with `values` put at the indices along `dim`, or
/// added to it; null after an error.
static Value putInto(NodeCall &call, Value self, Value values,
                     bool accumulate) {
  FailureOr<int64_t> dim = readDimension(call);
  Value index = readLine(call);
  if (failed(dim) || !self || !index || !values)
    return Value();
  values = call.convert(values, getElementTypeOrSelf(self));
  auto op = call.create<aten::IndexPutOp>(self, ValueRange(index), values,
                                          ArrayRef<int64_t>{*dim}, accumulate);
  return failed(op) ? Value() : op->getResult();
}

static LogicalResult putAlong(NodeCall &call, Value values, bool accumulate) {
  Value result =
      viewAs(call, putInto(call, readIndexed(call), values, accumulate),
             call.typeOf("self").getShape());
  return result ? setComputed(call, result) : failure();
}

static LogicalResult translateIndexAdd(NodeCall &call) {
  call.requireBounds(call.tensor("index"), 0);
  Value source = call.tensor("source");
  Scalar alpha = call.scalar("alpha");
  if (toDouble(alpha) != 1.0) {
    TypedAttr factor = promoteScalar(call, source, alpha);
    auto scaled = call.create<aten::MulScalarOp>(source, factor);
    if (failed(scaled))
      return failure();
    source = scaled->getResult();
  }
  return putAlong(call, source, /*accumulate=*/true);
}

static LogicalResult translateIndexCopy(NodeCall &call) {
  call.requireBounds(call.tensor("index"), 0);
  return putAlong(call, call.tensor("source"), /*accumulate=*/false);
}

static LogicalResult translateIndexFill(NodeCall &call) {
  RankedTensorType type = call.typeOf("self");
  if (call.isNumber("value"))
    return putAlong(call,
                    call.followSelf(splat(call, type.clone(ArrayRef<int64_t>()),
                                          call.scalar("value"))),
                    /*accumulate=*/false);
  // By way of a mask: a place that has several indices counts once in the
  // value's gradient.
  Value self = readIndexed(call);
  if (!self)
    return failure();
  auto boolean = IntegerType::get(type.getContext(), 1);
  auto truth = [&](ArrayRef<int64_t> shape, bool value) {
    return call.create<aten::ConstantOp>(
        DenseElementsAttr::get(RankedTensorType::get(shape, boolean), value));
  };
  auto none = truth(aten::tensorType(self).getShape(), false);
  auto chosen = truth({}, true);
  if (failed(none) || failed(chosen))
    return failure();
  Value mask = putInto(call, none->getResult(), chosen->getResult(),
                       /*accumulate=*/false);
  if (!mask)
    return failure();
  Value value = call.convert(call.tensor("value"), type.getElementType());
  auto filled = call.create<aten::WhereOp>(mask, value, self);
  Value result = failed(filled)
                     ? Value()
                     : viewAs(call, filled->getResult(), type.getShape());
  return result ? setComputed(call, result) : failure();
}

/// take: indices into the flattened tensor.
static LogicalResult translateTake(NodeCall &call) {
  Value flat =
      viewAs(call, call.tensor("self"), {call.typeOf("self").getNumElements()});
  return flat ? call.translate<aten::IndexOp>(flat,
                                              ValueRange(call.tensor("index")),
                                              ArrayRef<int64_t>{0})
              : failure();
}

/// put: elements at indices into the flattened tensor.
static LogicalResult translatePut(NodeCall &call) {
  RankedTensorType type = call.typeOf("self");
  Value flat = viewAs(call, call.tensor("self"), {type.getNumElements()});
  Value values =
      viewAs(call, call.tensor("source"), call.typeOf("index").getShape());
  if (!flat || !values)
    return failure();
  auto op = call.create<aten::IndexPutOp>(
      flat, ValueRange(call.tensor("index")), values, ArrayRef<int64_t>{0},
      call.boolean("accumulate"));
  Value result =
      failed(op) ? Value() : viewAs(call, op->getResult(), type.getShape());
  return result ? setComputed(call, result) : failure();
}

/// index_reduce: a scatter_reduce of whole slices.
static LogicalResult translateIndexReduce(NodeCall &call) {
  StringRef name = call.text("reduce");
  std::optional<aten::ScatterReduction> kind =
      aten::symbolizeScatterReduction(name);
  if (!kind || name == "sum")
    return call.unsupported("reduce", "'prod', 'mean', 'amax' or 'amin'");
  FailureOr<int64_t> dim = readDimension(call);
  Value self = readIndexed(call), index = readLine(call);
  if (failed(dim) || !self || !index)
    return failure();
  SmallVector<int64_t> shape(aten::tensorType(self).getShape());
  shape[*dim] = aten::tensorType(index).getNumElements();
  SmallVector<int64_t> line(shape.size(), 1);
  line[*dim] = shape[*dim];
  Value source = viewAs(call, call.tensor("source"), shape);
  auto places = call.create<aten::ExpandOp>(viewAs(call, index, line), shape);
  if (failed(places) || !source)
    return failure();
  auto op = call.create<aten::ScatterReduceOp>(self, *dim, places->getResult(),
                                               source, *kind,
                                               call.boolean("include_self"));
  Value result = failed(op) ? Value()
                            : viewAs(call, op->getResult(),
                                     call.typeOf("self").getShape());
  return result ? setComputed(call, result) : failure();
}

/// A gather where `self` and indices broadcast outside of `dim`.
static LogicalResult translateTakeAlongDim(NodeCall &call) {
  Value self = call.tensor("self"), indices = call.tensor("indices");
  if (call.isNone("dim")) {
    self = viewAs(call, self, {call.typeOf("self").getNumElements()});
    indices = viewAs(call, indices, {call.typeOf("indices").getNumElements()});
    return self && indices ? call.translate<aten::GatherOp>(self, 0, indices)
                           : failure();
  }
  FailureOr<int64_t> dim = readDimension(call);
  if (failed(dim))
    return failure();
  SmallVector<int64_t> selfShape(call.typeOf("self").getShape());
  SmallVector<int64_t> indexShape(call.typeOf("indices").getShape());
  for (auto [i, pair] : llvm::enumerate(llvm::zip_equal(selfShape, indexShape)))
    if (static_cast<int64_t>(i) != *dim) {
      auto &[own, other] = pair;
      own = other = own == 1 ? other : own;
    }
  auto wideSelf = call.create<aten::ExpandOp>(self, selfShape);
  auto wideIndices = call.create<aten::ExpandOp>(indices, indexShape);
  if (failed(wideSelf) || failed(wideIndices))
    return failure();
  return call.translate<aten::GatherOp>(wideSelf->getResult(), *dim,
                                        wideIndices->getResult());
}

static LogicalResult translateMaskedScatter(NodeCall &call) {
  Value mask = call.convert(call.tensor("mask"), call.builder().getI1Type());
  auto op = call.create<aten::MaskedScatterOp>(call.tensor("self"), mask,
                                               call.tensor("source"));
  if (failed(op))
    return failure();
  ArrayRef<int64_t> shape = aten::tensorType(op->getResult()).getShape();
  int64_t count = call.typeOf("source").getNumElements();
  if (count < ShapedType::getNumElements(shape)) {
    Decomposition build(call);
    Value all = call.convert(mask, call.builder().getI64Type());
    call.requireBounds(build.sum(build.expand(all, shape), {}), 0, count + 1);
  }
  return setComputed(call, op);
}

//===----------------------------------------------------------------------===//
// Fixed patterns
//===----------------------------------------------------------------------===//

/// A list of dimensions, counted from the front.
static FailureOr<SmallVector<int64_t>> readDimensions(NodeCall &call,
                                                      StringRef name) {
  int64_t rank = call.typeOf("self").getRank();
  SmallVector<int64_t> dims = call.integers(name);
  for (int64_t &dim : dims) {
    int64_t counted = dim < 0 ? dim + rank : dim;
    if (counted < 0 || counted >= rank)
      return call.error("E0119")
             << "dimension " << dim << " of argument '" << name
             << "' is outside of a tensor of rank " << rank;
    dim = counted;
  }
  return dims;
}

/// Without dimensions, roll moves the elements of the flattened tensor.
static LogicalResult translateRoll(NodeCall &call) {
  FailureOr<SmallVector<int64_t>> dims = readDimensions(call, "dims");
  SmallVector<int64_t> shifts = call.integers("shifts");
  if (failed(dims))
    return failure();
  Value self = call.tensor("self");
  if (!dims->empty())
    return call.translate<aten::RollOp>(self, shifts, *dims);
  RankedTensorType type = call.typeOf("self");
  Value flat = viewAs(call, self, {type.getNumElements()});
  if (!flat)
    return failure();
  auto rolled = call.create<aten::RollOp>(flat, shifts, ArrayRef<int64_t>{0});
  if (failed(rolled))
    return failure();
  Value result = viewAs(call, rolled->getResult(), type.getShape());
  call.setResult(result);
  return success(bool(result));
}

static LogicalResult translateFlip(NodeCall &call) {
  if (call.typeOf("self").getRank() == 0)
    return Decomposition(call).finish(call.tensor("self"));
  FailureOr<SmallVector<int64_t>> dims = readDimensions(call, "dims");
  return failed(dims)
             ? failure()
             : call.translate<aten::FlipOp>(call.tensor("self"), *dims);
}

template <int64_t dim>
static LogicalResult translateFlipAlong(NodeCall &call) {
  return call.translate<aten::FlipOp>(call.tensor("self"),
                                      ArrayRef<int64_t>{dim});
}

template <typename Op>
static LogicalResult translateTriangle(NodeCall &call) {
  return setComputed(
      call, call.create<Op>(call.tensor("self"), call.integer("diagonal")));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static void addScatters(OperatorTable &table) {
  table.add("gather(Tensor self, int dim, Tensor index, *, "
            "bool sparse_grad=False) -> Tensor",
            translateGather);
  StringRef start = "(Tensor self, int dim, Tensor index, ";
  const std::tuple<StringRef, StringRef, TranslateFunction> scatters[] = {
      {"scatter.src", "Tensor src", translateScatter<false>},
      {"scatter.value", "Scalar value", translateScatter<true>},
      {"scatter.reduce", "Tensor src, *, str reduce",
       translateScatterCombine<false>},
      {"scatter.value_reduce", "Scalar value, *, str reduce",
       translateScatterCombine<true>},
      {"scatter_add", "Tensor src", translateScatterAdd},
      {"scatter_reduce.two",
       "Tensor src, str reduce, *, bool include_self=True",
       translateScatterReduce}};
  for (const auto &[name, rest, translate] : scatters)
    table.addWithInPlace((name + start + rest + ") -> Tensor").str(),
                         translate);
}

static void addIndexTensors(OperatorTable &table) {
  for (StringRef name : {"index.Tensor", "_unsafe_index.Tensor"})
    table.add((name + "(Tensor self, Tensor?[] indices) -> Tensor").str(),
              translateIndex);
  StringRef put = "(Tensor self, Tensor?[] indices, Tensor values, "
                  "bool accumulate=False) -> Tensor";
  table.addWithInPlace(("index_put" + put).str(), translateIndexPut);
  table.add(("_unsafe_index_put" + put).str(), translateIndexPut);
  table.add("index_select(Tensor self, int dim, Tensor index) -> Tensor",
            translateIndexSelect);
  StringRef start = "(Tensor self, int dim, Tensor index, ";
  const std::tuple<StringRef, StringRef, TranslateFunction> writes[] = {
      {"index_add", "Tensor source, *, Scalar alpha=1", translateIndexAdd},
      {"index_copy", "Tensor source", translateIndexCopy},
      {"index_reduce", "Tensor source, str reduce, *, bool include_self=True",
       translateIndexReduce},
      {"index_fill.int_Scalar", "Scalar value", translateIndexFill},
      {"index_fill.int_Tensor", "Tensor value", translateIndexFill}};
  for (const auto &[name, rest, translate] : writes)
    table.addWithInPlace((name + start + rest + ") -> Tensor").str(),
                         translate);
  table.add("take(Tensor self, Tensor index) -> Tensor", translateTake);
  table.addWithInPlace("put(Tensor self, Tensor index, Tensor source, "
                       "bool accumulate=False) -> Tensor",
                       translatePut);
  table.add("take_along_dim(Tensor self, Tensor indices, int? dim=None) -> "
            "Tensor",
            translateTakeAlongDim);
  table.addWithInPlace(
      "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
      translateMaskedScatter);
}

void translation::addIndexingOperators(OperatorTable &table) {
  table.add("embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, "
            "bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
            translateEmbedding);
  addScatters(table);
  addIndexTensors(table);
  table.add("roll(Tensor self, SymInt[] shifts, int[] dims=[]) -> Tensor",
            translateRoll);
  table.add("flip(Tensor self, int[] dims) -> Tensor", translateFlip);
  table.add("flipud(Tensor self) -> Tensor", translateFlipAlong<0>);
  table.add("fliplr(Tensor self) -> Tensor", translateFlipAlong<1>);
  table.addWithInPlace("tril(Tensor self, int diagonal=0) -> Tensor",
                       translateTriangle<aten::TrilOp>);
  table.addWithInPlace("triu(Tensor self, int diagonal=0) -> Tensor",
                       translateTriangle<aten::TriuOp>);
}
