//===- SortingOperators.cpp - Translation of order and counts -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sorting, the largest k, look-up in sorted sequences, histograms and one-hot.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"
#include "dialects/Aten/Aten.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

static FailureOr<int64_t> readDimension(NodeCall &call) {
  return call.dimension("dim",
                        std::max<int64_t>(call.typeOf("self").getRank(), 1));
}

static FailureOr<aten::SortOp> buildSort(NodeCall &call, bool isDescending) {
  FailureOr<int64_t> dim = readDimension(call);
  if (failed(dim))
    return failure();
  return call.create<aten::SortOp>(call.tensor("self"), *dim, isDescending);
}

static LogicalResult translateSort(NodeCall &call) {
  auto sort = buildSort(call, call.boolean("descending"));
  if (failed(sort))
    return failure();
  call.setResults((*sort)->getResults());
  return success();
}

static LogicalResult translateArgsort(NodeCall &call) {
  auto sort = buildSort(call, call.boolean("descending"));
  if (failed(sort))
    return failure();
  call.setResult(sort->getIndices());
  return success();
}

static LogicalResult translateTopk(NodeCall &call) {
  FailureOr<int64_t> dim = readDimension(call);
  if (failed(dim))
    return failure();
  auto topk = call.create<aten::TopkOp>(call.tensor("self"), call.integer("k"),
                                        *dim, call.boolean("largest"));
  if (failed(topk))
    return failure();
  call.setResults((*topk)->getResults());
  return success();
}

/// The k-th smallest elements: one slice of the sorted ones.
static LogicalResult translateKthValue(NodeCall &call) {
  auto sort = buildSort(call, false);
  FailureOr<int64_t> dim = readDimension(call);
  if (failed(sort) || failed(dim))
    return failure();
  int64_t k = call.integer("k");
  SmallVector<Value> results;
  for (auto [i, value] : llvm::enumerate((*sort)->getResults())) {
    RankedTensorType type = call.resultType(i);
    if (!type) {
      results.push_back(nullptr);
      continue;
    }
    if (call.typeOf("self").getRank() == 0) {
      results.push_back(value);
      continue;
    }
    auto slice = call.create<aten::SliceOp>(value, *dim, k - 1, k);
    if (failed(slice))
      return failure();
    auto view = call.create<aten::ViewOp>(slice->getResult(), type.getShape());
    if (failed(view))
      return failure();
    results.push_back(view->getResult());
  }
  call.setResults(results);
  return success();
}

//===----------------------------------------------------------------------===//
// Look-up and counts
//===----------------------------------------------------------------------===//

/// `side` is the newer spelling of `right`.
static LogicalResult translateSearchsorted(NodeCall &call) {
  if (!call.isNone("sorter"))
    return call.unsupported("sorter", "None");
  bool isRight = call.boolean("right");
  if (!call.isNone("side"))
    isRight = call.text("side") == "right";
  return call.translate<aten::SearchsortedOp>(
      call.tensor("sorted_sequence"), call.tensor("self"),
      call.boolean("out_int32"), isRight);
}

static LogicalResult translateBucketize(NodeCall &call) {
  return call.translate<aten::SearchsortedOp>(
      call.tensor("boundaries"), call.tensor("self"), call.boolean("out_int32"),
      call.boolean("right"));
}

static LogicalResult translateHistc(NodeCall &call) {
  return call.translate<aten::HistcOp>(
      call.tensor("self"), call.integer("bins"), APFloat(call.number("min")),
      APFloat(call.number("max")));
}

/// Ones, or weights, added up at their bins. As many bins as `minlength` says:
/// compiler/Pt2/SymbolBindings.cpp.
static LogicalResult translateBincount(NodeCall &call) {
  RankedTensorType result = call.resultType();
  if (!result)
    return call.unsupported("minlength", "the number of bins");
  OpBuilder &builder = call.builder();
  Decomposition build(call);
  Value bins = call.convert(call.tensor("self"), builder.getI64Type());
  Value added;
  if (call.isNone("weights")) {
    auto one = RankedTensorType::get({}, result.getElementType());
    added = aten::ConstantOp::create(builder, call.loc(),
                                     DenseElementsAttr::get(one, {int64_t(1)}));
  } else {
    added = build.detach(
        call.convert(call.optionalTensor("weights"), result.getElementType()));
  }
  return build.finish(build.build<aten::ScatterReduceOp>(
      build.zeros(result), 0, bins,
      build.expand(added, call.typeOf("self").getShape()),
      aten::ScatterReduction::sum));
}

/// Each class number, looked up among all of them, compared with each.
static LogicalResult translateOneHot(NodeCall &call) {
  int64_t classes = call.integer("num_classes");
  if (classes < 0)
    return call.unsupported(
        "num_classes", "a number, not -1",
        "with -1 the number of classes depends on data; pass it");
  Type i64 = call.builder().getI64Type();
  SmallVector<int64_t> numbers = llvm::to_vector(llvm::seq<int64_t>(classes));
  auto value = DenseElementsAttr::get(RankedTensorType::get({classes}, i64),
                                      ArrayRef<int64_t>(numbers));
  Value all = aten::ConstantOp::create(call.builder(), call.loc(), value);
  Value self = call.tensor("self");
  // A negative number is no class, but an index from the end.
  call.requireBounds(self, 0, classes);
  SmallVector<int64_t> shape(call.typeOf("self").getShape());
  shape.push_back(1);
  auto known =
      call.create<aten::IndexOp>(all, ValueRange(self), ArrayRef<int64_t>{0});
  if (failed(known))
    return failure();
  auto column = call.create<aten::ViewOp>(known->getResult(), shape);
  if (failed(column))
    return failure();
  auto isClass = call.create<aten::EqOp>(column->getResult(), all);
  if (failed(isClass))
    return failure();
  call.setResult(call.convert(isClass->getResult(), i64));
  return success();
}

void translation::addSortingOperators(OperatorTable &table) {
  StringRef two = "(Tensor, Tensor)";
  StringRef plain = "(Tensor self, int dim=-1, bool descending=False) -> ";
  StringRef stable = ".stable(Tensor self, *, bool? stable=None, int dim=-1, "
                     "bool descending=False) -> ";
  table.add(("sort" + plain + two).str(), translateSort);
  table.add(("sort" + stable + two).str(), translateSort);
  table.add(("argsort" + plain + "Tensor").str(), translateArgsort);
  table.add(("argsort" + stable + "Tensor").str(), translateArgsort);
  table.add("topk(Tensor self, SymInt k, int dim=-1, bool largest=True, "
            "bool sorted=True) -> (Tensor, Tensor)",
            translateTopk);
  table.add("kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) "
            "-> (Tensor, Tensor)",
            translateKthValue);
  table.add("searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, "
            "bool out_int32=False, bool right=False, str? side=None, "
            "Tensor? sorter=None) -> Tensor",
            translateSearchsorted);
  table.add("bucketize.Tensor(Tensor self, Tensor boundaries, *, "
            "bool out_int32=False, bool right=False) -> Tensor",
            translateBucketize);
  table.add("histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> "
            "Tensor",
            translateHistc);
  table.add("bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) "
            "-> Tensor",
            translateBincount);
  table.add("one_hot(Tensor self, int num_classes=-1) -> Tensor",
            translateOneHot);
}
