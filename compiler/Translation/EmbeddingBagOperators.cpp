//===- EmbeddingBagOperators.cpp - Translation of sums of table rows ------===//
// SPDX-License-Identifier: Apache-2.0
//
// An embedding bag looks up rows of a table and combines those of each bag.
// Bags of equal size are another shape of the rows; which bag others are in
// follows from their offsets, which are data.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"

#include "llvm/ADT/Sequence.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

namespace {

/// One call. `mode` counts as PyTorch does: sum, mean, maximum.
class EmbeddingBag {
public:
  /// `countsFromEnd` where -1 is the last row, and no padding is None.
  EmbeddingBag(NodeCall &call, bool countsFromEnd)
      : call(call), build(call), countsFromEnd(countsFromEnd) {}

  LogicalResult translate();

private:
  LogicalResult read();
  bool findSize();
  Value buildRows();
  Value bagNumbers();
  Value sumBags(Value rows);
  Value maximumOfEqual(Value rows);
  Value maximumOfAny(Value rows);
  /// As many as columns of the table.
  Value columns(Value numbers, int64_t width) {
    return build.expand(build.view(numbers, {count, 1}), {count, width});
  }
  /// `value` in the dtype of `other`, whichever a policy gives it.
  Value follow(Value value, Value other) {
    if (!value || !other ||
        isa<IntegerType>(Decomposition::typeOf(other).getElementType()))
      return value;
    return build.build<aten::ToOtherOp>(value, other);
  }
  /// Equal elements of the dtype of `like`.
  Value filled(ArrayRef<int64_t> shape, Value like, double number) {
    Type element = Decomposition::typeOf(like).getElementType();
    bool isInteger = isa<IntegerType>(element);
    return follow(splat(call, RankedTensorType::get(shape, element),
                        isInteger ? Scalar(static_cast<int64_t>(number))
                                  : Scalar(number)),
                  like);
  }

  NodeCall &call;
  Decomposition build;
  bool countsFromEnd;
  int64_t count = 0, width = 0, bags = 0, mode = 0;
  /// Indices in each bag; 0 where they differ.
  int64_t size = 0;
  Type element;
  Value indices, offsets;
  /// Which indices count, [count, 1]; null where all do.
  Value counts;
};

} // namespace

LogicalResult EmbeddingBag::read() {
  if (call.boolean("scale_grad_by_freq"))
    return call.unsupported("scale_grad_by_freq", "False");
  mode = call.integer("mode");
  if (mode < 0 || mode > 2)
    return call.unsupported("mode", "'sum', 'mean' or 'max'");
  RankedTensorType table = call.typeOf("weight");
  element = table.getElementType();
  width = table.getDimSize(1);
  count = call.typeOf("indices").getNumElements();
  bags = call.typeOf("offsets").getNumElements();
  if (bags == 0)
    return call.unsupported("offsets", "at least one bag");
  indices = build.view(call.tensor("indices"), {count});
  offsets = call.tensor("offsets");
  int64_t padding = call.optionalInteger("padding_idx").value_or(-1);
  if (countsFromEnd && padding < 0 && !call.isNone("padding_idx"))
    padding += table.getDimSize(0);
  if (padding >= 0)
    counts = build.view(build.build<aten::NeScalarOp>(
                            indices, call.builder().getI64IntegerAttr(padding)),
                        {count, 1});
  if (findSize())
    bags = count / size;
  return success();
}

/// Whether offsets that are known are those of bags of one size.
bool EmbeddingBag::findSize() {
  auto constant = offsets.getDefiningOp<aten::ConstantOp>();
  auto values = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue())
                         : DenseIntElementsAttr();
  if (!values || call.boolean("include_last_offset") || count % bags != 0 ||
      count == 0)
    return false;
  int64_t next = 0;
  for (const APInt &value : values.getValues<APInt>()) {
    if (value.getSExtValue() != next)
      return false;
    next += count / bags;
  }
  size = count / bags;
  return true;
}

/// The rows [count, width], weighed; zeros where the index is the padding.
Value EmbeddingBag::buildRows() {
  Value rows = build.build<aten::EmbeddingOp>(call.tensor("weight"), indices,
                                              int64_t(-1));
  if (!call.isNone("per_sample_weights"))
    rows = build.mul(rows,
                     build.view(call.tensor("per_sample_weights"), {count, 1}));
  if (counts && rows)
    rows = build.where(counts, rows, build.constant(0, rows));
  return rows;
}

/// The bag of each index: the last whose offset is not behind it.
Value EmbeddingBag::bagNumbers() {
  Value begun = build.countUpTo(
      call.convert(offsets, call.builder().getI64Type()), count);
  return build.add(begun, Scalar(int64_t(-1)));
}

/// The sums of each bag's rows, [bags, any].
Value EmbeddingBag::sumBags(Value rows) {
  if (!rows)
    return nullptr;
  int64_t columns = Decomposition::typeOf(rows).getDimSize(1);
  if (size)
    return build.sum(build.view(rows, {bags, size, columns}), {1});
  Value numbers = bagNumbers();
  return numbers
             ? build.build<aten::IndexPutOp>(filled({bags, columns}, rows, 0),
                                             ValueRange(numbers), rows,
                                             ArrayRef<int64_t>{0},
                                             /*accumulate=*/true)
             : Value();
}

Value EmbeddingBag::maximumOfEqual(Value rows) {
  FailureOr<aten::MaxDimOp> op = call.create<aten::MaxDimOp>(
      build.view(rows, {bags, size, width}), 1, /*keepdim=*/false);
  return failed(op) ? Value() : op->getValues();
}

/// The first row with the maximum has its gradient, so that its place is found.
/// Bags without one find the zeros behind the rows.
Value EmbeddingBag::maximumOfAny(Value rows) {
  Value numbers = columns(bagNumbers(), width);
  Value known = build.detach(rows);
  if (!numbers || !known)
    return nullptr;
  auto reduce = [&](Value start, Value values, aten::ScatterReduction kind) {
    return build.build<aten::ScatterReduceOp>(start, 0, numbers, values, kind,
                                              /*include_self=*/true);
  };
  Value top = reduce(filled({bags, width}, known, -INFINITY), known,
                     aten::ScatterReduction::amax);
  Value isTop = top ? build.build<aten::EqOp>(
                          known, build.build<aten::GatherOp>(top, 0, numbers))
                    : Value();
  if (counts)
    isTop = build.build<aten::LogicalAndOp>(isTop, counts);
  Type i64 = call.builder().getI64Type();
  auto places = llvm::to_vector(llvm::seq<int64_t>(count));
  Value place =
      columns(aten::ConstantOp::create(
                  call.builder(), call.loc(),
                  DenseElementsAttr::get(RankedTensorType::get({count}, i64),
                                         ArrayRef<int64_t>(places))),
              width);
  auto none = static_cast<double>(count);
  place = build.where(isTop, place, build.constant(none, place));
  Value first = place ? reduce(filled({bags, width}, place, none), place,
                               aten::ScatterReduction::amin)
                      : Value();
  Value all = build.cat({rows, filled({1, width}, rows, 0)}, 0);
  return first && all ? build.build<aten::GatherOp>(all, 0, first) : Value();
}

LogicalResult EmbeddingBag::translate() {
  if (failed(read()))
    return failure();
  Value rows = buildRows();
  if (!rows)
    return failure();
  Value found;
  if (mode == 0)
    found = sumBags(rows);
  Type i64 = call.builder().getI64Type();
  Value numbers =
      counts ? call.convert(counts, i64)
             : splat(call, RankedTensorType::get({count, 1}, i64), int64_t(1));
  Value total = mode ? sumBags(numbers) : Value();
  if (mode == 1) {
    found = sumBags(rows);
    found = build.div(found, follow(build.clampMin(total, 1), found));
  }
  if (mode == 2) {
    if (counts)
      rows = build.where(counts, rows, build.constant(-INFINITY, rows));
    found = size ? maximumOfEqual(rows) : maximumOfAny(rows);
    Value isEmpty = build.build<aten::EqScalarOp>(
        total, call.builder().getI64IntegerAttr(0));
    if (found && isEmpty)
      found = build.where(isEmpty, build.constant(0, found), found);
  }
  if (found && call.boolean("include_last_offset"))
    found = build.slice(found, 0, 0, bags - 1);
  if (!found)
    return failure();
  // What else PyTorch returns is for its backward.
  call.setResults({found, Value(), Value(), Value()});
  return success();
}

template <bool countsFromEnd>
static LogicalResult translateEmbeddingBag(NodeCall &call) {
  return EmbeddingBag(call, countsFromEnd).translate();
}

void translation::addEmbeddingBagOperators(OperatorTable &table) {
  StringRef four = "(Tensor, Tensor, Tensor, Tensor)";
  StringRef plain = "(Tensor weight, Tensor indices, Tensor offsets, "
                    "bool scale_grad_by_freq=False, int mode=0, "
                    "bool sparse=False, Tensor? per_sample_weights=None, "
                    "bool include_last_offset=False, ";
  table.add(
      ("embedding_bag" + plain + "int? padding_idx=None) -> " + four).str(),
      translateEmbeddingBag<true>);
  for (StringRef name : {"_embedding_bag", "_embedding_bag_forward_only"})
    table.add((name + plain + "int padding_idx=-1) -> " + four).str(),
              translateEmbeddingBag<false>);
  table.add(("embedding_bag.padding_idx(Tensor weight, Tensor indices, "
             "Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, "
             "Tensor? per_sample_weights, bool include_last_offset, "
             "int? padding_idx) -> " +
             four)
                .str(),
            translateEmbeddingBag<true>);
}
