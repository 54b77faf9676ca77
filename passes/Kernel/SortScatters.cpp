//===- SortScatters.cpp - Sums of rows at computed places -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   index_put(self, index, values, accumulate)
//   -> self + embedding_dense_backward(values, index)
//
// A scatter is done in order, one thread for what its index tensors do not
// choose. The gradient of an embedding is the same sum, of rows that a library
// call sorts by their places. What has several index tensors gets one of the
// places that they stand for together.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Passes.h"

#include "dialects/Aten/Composition.h"
#include "dialects/Exec/Dtype.h"
#include "passes/Kernel/TargetOf.h"
#include "runtime/format/LibraryCalls.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <limits>
#include <numeric>

#define DEBUG_TYPE "shardc-sort-scatters"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_SORTSCATTERSPASS
#include "passes/Kernel/Passes.h.inc"

namespace {

struct SortScattersPass : impl::SortScattersPassBase<SortScattersPass> {
  void runOnOperation() override;
};

/// A sum of rows: those of `values` are added to `self` where `indices` say,
/// one for each of the dimensions `dims`.
struct RowSum {
  Value self;
  SmallVector<int64_t> dims;
  /// Of `rows` elements each.
  SmallVector<Value> indices;
  /// With the dimensions of the indices first.
  Value values;
  int64_t rows;
  /// Whether a negative index counts from the end.
  bool wraps;
};

} // namespace

static int64_t product(ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                         std::multiplies<>());
}

/// The dimensions of a tensor of `rank` that are not among `dims`.
static SmallVector<int64_t> otherDims(int64_t rank, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> others;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim))
      others.push_back(dim);
  return others;
}

/// `dims`, then the others.
static SmallVector<int64_t> orderOf(int64_t rank, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> order(dims);
  llvm::append_range(order, otherDims(rank, dims));
  return order;
}

static SmallVector<int64_t> inverse(ArrayRef<int64_t> order) {
  SmallVector<int64_t> inverted(order.size());
  for (auto [place, dim] : llvm::enumerate(order))
    inverted[dim] = static_cast<int64_t>(place);
  return inverted;
}

//===----------------------------------------------------------------------===//
// Scatters that are sums of rows
//===----------------------------------------------------------------------===//

/// Whether the library adds elements of these types.
static bool isSummed(Value self, Value values) {
  Type element = getElementTypeOrSelf(self.getType());
  return isa<FloatType>(element) && exec::isLibraryElement(element) &&
         element == getElementTypeOrSelf(values.getType()) &&
         aten::tensorType(self).getNumElements() != 0 &&
         aten::tensorType(values).getNumElements() != 0;
}

static std::optional<RowSum> readIndexPut(aten::IndexPutOp op,
                                          int64_t fewestRows) {
  FailureOr<SmallVector<int64_t>> shape = op.getIndexedShape();
  if (!op.getAccumulate() || failed(shape))
    return std::nullopt;
  const int64_t rank = aten::tensorType(op.getSelf()).getRank();
  SmallVector<int64_t> dims(op.getDims());
  const auto common = static_cast<int64_t>(shape->size() + dims.size()) - rank;
  const bool areNeighbours =
      dims.back() - dims.front() == static_cast<int64_t>(dims.size()) - 1;
  const int64_t first = areNeighbours ? dims.front() : 0;
  ArrayRef<int64_t> indexed = ArrayRef(*shape).slice(first, common);
  if (product(indexed) < fewestRows)
    return std::nullopt;
  OpBuilder builder(op);
  aten::Composition at(builder, op.getLoc());
  SmallVector<Value> indices;
  for (Value index : op.getIndices())
    indices.push_back(at.expand(index, indexed));
  auto places = llvm::to_vector(llvm::seq(first, first + common));
  Value values =
      at.permute(at.expand(op.getValues(), *shape),
                 orderOf(static_cast<int64_t>(shape->size()), places));
  return RowSum{op.getSelf(),  dims, indices, values, product(indexed),
                /*wraps=*/true};
}

/// Of an index that is the same wherever its place in other dimensions than
/// `dim` is, as `index[:, None].expand_as(src)`, its elements along `dim`; else
/// null.
static Value indexAlong(aten::Composition &at, Value index, int64_t dim) {
  const int64_t rank = aten::tensorType(index).getRank();
  const int64_t size = aten::shapeOf(index)[dim];
  while (auto expand = index.getDefiningOp<aten::ExpandOp>())
    index = expand.getSelf();
  const int64_t added = rank - aten::tensorType(index).getRank();
  const bool variesAlone = aten::tensorType(index).getNumElements() == size &&
                           dim >= added &&
                           aten::shapeOf(index)[dim - added] == size;
  return variesAlone ? at.view(index, size) : Value();
}

static std::optional<RowSum> readScatterReduce(aten::ScatterReduceOp op,
                                               int64_t fewestRows) {
  RankedTensorType self = aten::tensorType(op.getSelf());
  RankedTensorType index = aten::tensorType(op.getIndex());
  const auto dim = static_cast<int64_t>(op.getDim());
  if (op.getReduce() != aten::ScatterReduction::sum || !op.getIncludeSelf() ||
      self.getRank() == 0 || index.getRank() != self.getRank() ||
      index.getShape() != aten::shapeOf(op.getSrc()) ||
      index.getDimSize(dim) < fewestRows)
    return std::nullopt;
  for (int64_t other : otherDims(self.getRank(), dim))
    if (index.getDimSize(other) != self.getDimSize(other))
      return std::nullopt;
  OpBuilder builder(op);
  aten::Composition at(builder, op.getLoc());
  Value along = indexAlong(at, op.getIndex(), dim);
  if (!along)
    return std::nullopt;
  return RowSum{op.getSelf(),
                {dim},
                {along},
                at.permute(op.getSrc(), orderOf(self.getRank(), dim)),
                index.getDimSize(dim),
                /*wraps=*/false};
}

//===----------------------------------------------------------------------===//
// The sum
//===----------------------------------------------------------------------===//

/// Whether all elements are known, and among the `size` places.
static bool isKnownBelow(Value index, int64_t size, bool wraps) {
  while (isa_and_present<aten::ExpandOp, aten::ViewOp>(index.getDefiningOp()))
    index = index.getDefiningOp()->getOperand(0);
  auto constant = index.getDefiningOp<aten::ConstantOp>();
  auto elements =
      constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue()) : nullptr;
  return elements &&
         llvm::all_of(elements.getValues<APInt>(), [&](const APInt &element) {
           const int64_t place = element.getSExtValue();
           return place < size && place >= (wraps ? -size : 0);
         });
}

namespace {
/// The place of each row, and whether it is none; null where all are places.
struct Places {
  Value numbers, areNone;
};
} // namespace

/// What the indices stand for together, in row-major order of the dimensions.
static Places findPlaces(aten::Composition &at, const RowSum &sum) {
  Type i64 = at.builder.getI64Type();
  Places places;
  for (auto [dim, given] : llvm::zip_equal(sum.dims, sum.indices)) {
    const int64_t size = aten::shapeOf(sum.self)[dim];
    Value index = at.to(at.view(given, sum.rows), i64);
    const int64_t min = sum.wraps ? -size : 0;
    if (!isKnownBelow(given, size, sum.wraps)) {
      Value isNone = at.create<aten::LogicalOrOp>(
          at.create<aten::LtScalarOp>(index, at.builder.getI64IntegerAttr(min)),
          at.create<aten::GeScalarOp>(index,
                                      at.builder.getI64IntegerAttr(size)));
      places.areNone =
          places.areNone ? at.create<aten::LogicalOrOp>(places.areNone, isNone)
                         : isNone;
    }
    if (sum.wraps) {
      Value isNegative =
          at.create<aten::LtScalarOp>(index, at.builder.getI64IntegerAttr(0));
      index =
          at.where(isNegative, at.add(index, static_cast<double>(size)), index);
    }
    places.numbers =
        places.numbers
            ? at.add(at.mul(places.numbers, static_cast<double>(size)), index)
            : index;
  }
  if (places.areNone)
    places.numbers =
        at.where(places.areNone, at.number(places.numbers, 0), places.numbers);
  return places;
}

/// 0, or NaN if a row has no place: PyTorch raises then.
static Value lostIfAny(aten::Composition &at, Value areNone, Type element) {
  auto number = [&](double value) {
    return at.splat(RankedTensorType::get({}, element), value);
  };
  Value lost = number(std::numeric_limits<double>::quiet_NaN());
  return at.sum(at.where(areNone, lost, number(0)), {0});
}

/// Sums of 16-bit rows are f32, and rounded when all is added.
static Value buildSum(aten::Composition &at, const RowSum &sum) {
  RankedTensorType self = aten::tensorType(sum.self);
  SmallVector<int64_t> order = orderOf(self.getRank(), sum.dims);
  auto sizes = llvm::map_to_vector(
      order, [&](int64_t dim) { return self.getDimSize(dim); });
  int64_t places = 1;
  for (int64_t dim : sum.dims)
    places *= self.getDimSize(dim);
  const int64_t width = self.getNumElements() / places;
  Places found = findPlaces(at, sum);
  Type element = self.getElementType();
  if (element.getIntOrFloatBitWidth() == 16)
    element = at.builder.getF32Type();
  Value rows = at.create<aten::EmbeddingBackwardOp>(
      RankedTensorType::get({places, width}, element),
      at.view(sum.values, {sum.rows, width}), found.numbers);
  Value result = at.permute(at.view(rows, sizes), inverse(order));
  if (!matchPattern(sum.self, m_AnyZeroFloat()))
    result = at.add(at.wide(sum.self), result);
  if (found.areNone)
    result = at.add(result, lostIfAny(at, found.areNone, element));
  return at.to(result, self.getElementType());
}

/// The sum of rows that `op` is, if it is one of `fewestRows` or more.
static std::optional<RowSum> readScatter(Operation *op, int64_t fewestRows) {
  if (auto put = dyn_cast<aten::IndexPutOp>(op);
      put && isSummed(put.getSelf(), put.getValues()))
    return readIndexPut(put, fewestRows);
  if (auto scatter = dyn_cast<aten::ScatterReduceOp>(op);
      scatter && isSummed(scatter.getSelf(), scatter.getSrc()))
    return readScatterReduce(scatter, fewestRows);
  return std::nullopt;
}

void SortScattersPass::runOnOperation() {
  const Target *target = targetOf(getOperation());
  if (!target)
    return signalPassFailure();
  if (target->fewestSortedRows == 0 ||
      !target->hasLibraryCall(nameOf(format::CallId::EmbeddingBackward)))
    return;
  for (Block &block : getOperation().getBody())
    for (Operation &op : llvm::make_early_inc_range(block))
      if (std::optional<RowSum> sum =
              readScatter(&op, target->fewestSortedRows)) {
        OpBuilder builder(&op);
        aten::Composition at(builder, op.getLoc());
        op.getResult(0).replaceAllUsesWith(buildSum(at, *sum));
        op.erase();
      }
}

} // namespace shardc
