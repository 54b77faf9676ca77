//===- ShapeOperators.cpp - translation of views, joins and splits --------===//
// SPDX-License-Identifier: Apache-2.0
//
// PyTorch has many names for few ideas: everything that keeps the row-major
// order becomes `view`, every reordering of dimensions `permute`, every piece
// of a tensor `slice`. Sizes such as -1 are not computed again: the result
// types of the export have them.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/OperatorTable.h"
#include "dialects/Aten/Aten.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

//===----------------------------------------------------------------------===//
// Views in row-major order
//===----------------------------------------------------------------------===//

static LogicalResult missingType(NodeCall &call) {
  return call.error("E0136") << "the result's dtype or sizes are not supported";
}

static LogicalResult translateView(NodeCall &call) {
  RankedTensorType type = call.resultType();
  if (!type)
    return missingType(call);
  return call.translate<aten::ViewOp>(call.tensor("self"), type.getShape());
}

static LogicalResult translateExpand(NodeCall &call) {
  RankedTensorType type = call.resultType();
  if (!type)
    return missingType(call);
  return call.translate<aten::ExpandOp>(call.tensor("self"), type.getShape());
}

//===----------------------------------------------------------------------===//
// Reordered dimensions
//===----------------------------------------------------------------------===//

static LogicalResult swapDimensions(NodeCall &call, int64_t a, int64_t b) {
  SmallVector<int64_t> dimensions =
      llvm::to_vector(llvm::seq<int64_t>(call.typeOf("self").getRank()));
  std::swap(dimensions[a], dimensions[b]);
  return call.translate<aten::PermuteOp>(call.tensor("self"),
                                         ArrayRef<int64_t>(dimensions));
}

static LogicalResult translateTranspose(NodeCall &call) {
  int64_t rank = call.typeOf("self").getRank();
  FailureOr<int64_t> a = call.dimension("dim0", rank);
  FailureOr<int64_t> b = call.dimension("dim1", rank);
  if (failed(a) || failed(b))
    return failure();
  return swapDimensions(call, *a, *b);
}

/// `t` of a matrix; vectors stay.
static LogicalResult translateMatrixTranspose(NodeCall &call) {
  int64_t rank = call.typeOf("self").getRank();
  if (rank == 2)
    return swapDimensions(call, 0, 1);
  call.setResult(call.tensor("self"));
  return success();
}

static LogicalResult translatePermute(NodeCall &call) {
  SmallVector<int64_t> dimensions = call.integers("dims");
  for (int64_t &dimension : dimensions)
    if (dimension < 0)
      dimension += call.typeOf("self").getRank();
  return call.translate<aten::PermuteOp>(call.tensor("self"),
                                         ArrayRef<int64_t>(dimensions));
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

static LogicalResult translateSlice(NodeCall &call) {
  RankedTensorType type = call.typeOf("self");
  FailureOr<int64_t> dimension = call.dimension("dim", type.getRank());
  if (failed(dimension))
    return failure();
  if (call.integer("step") != 1)
    return call.unsupported("step", "1");
  int64_t size = type.getDimSize(*dimension);
  auto resolve = [&](StringRef name, int64_t otherwise) {
    int64_t index = call.optionalInteger(name).value_or(otherwise);
    return std::clamp<int64_t>(index < 0 ? index + size : index, 0, size);
  };
  int64_t start = resolve("start", 0);
  int64_t end = std::max(start, resolve("end", size));
  return call.translate<aten::SliceOp>(call.tensor("self"), *dimension, start,
                                       end);
}

static LogicalResult translateSelect(NodeCall &call) {
  RankedTensorType type = call.typeOf("self");
  FailureOr<int64_t> dimension = call.dimension("dim", type.getRank());
  if (failed(dimension))
    return failure();
  FailureOr<int64_t> index =
      call.dimension("index", type.getDimSize(*dimension));
  if (failed(index))
    return failure();
  RankedTensorType result = call.resultType();
  if (!result)
    return missingType(call);
  FailureOr<aten::SliceOp> slice = call.create<aten::SliceOp>(
      call.tensor("self"), *dimension, *index, *index + 1);
  if (failed(slice))
    return failure();
  return call.translate<aten::ViewOp>(slice->getResult(), result.getShape());
}

/// split, split_with_sizes and chunk: the pieces' sizes are those of the
/// export's result types.
static LogicalResult translateSplit(NodeCall &call) {
  RankedTensorType type = call.typeOf("self");
  FailureOr<int64_t> dimension = call.dimension("dim", type.getRank());
  if (failed(dimension))
    return failure();
  Value self = call.tensor("self");
  SmallVector<Value> pieces;
  int64_t start = 0;
  for (size_t i = 0; i < call.resultCount(); ++i) {
    RankedTensorType piece = call.resultType(i);
    if (!piece || piece.getRank() != type.getRank())
      return missingType(call);
    int64_t end = start + piece.getDimSize(*dimension);
    FailureOr<aten::SliceOp> slice =
        call.create<aten::SliceOp>(self, *dimension, start, end);
    if (failed(slice))
      return failure();
    pieces.push_back(slice->getResult());
    start = end;
  }
  call.setResults(pieces);
  return success();
}

static LogicalResult translateUnbind(NodeCall &call) {
  RankedTensorType type = call.typeOf("self");
  FailureOr<int64_t> dimension = call.dimension("dim", type.getRank());
  if (failed(dimension))
    return failure();
  Value self = call.tensor("self");
  SmallVector<Value> pieces;
  for (size_t i = 0; i < call.resultCount(); ++i) {
    RankedTensorType piece = call.resultType(i);
    if (!piece)
      return missingType(call);
    FailureOr<aten::SliceOp> slice = call.create<aten::SliceOp>(
        self, *dimension, int64_t(i), int64_t(i) + 1);
    if (failed(slice))
      return failure();
    FailureOr<aten::ViewOp> view =
        call.create<aten::ViewOp>(slice->getResult(), piece.getShape());
    if (failed(view))
      return failure();
    pieces.push_back(view->getResult());
  }
  call.setResults(pieces);
  return success();
}

//===----------------------------------------------------------------------===//
// Joins
//===----------------------------------------------------------------------===//

static LogicalResult translateCat(NodeCall &call) {
  RankedTensorType type = call.resultType();
  if (!type)
    return missingType(call);
  FailureOr<int64_t> dimension = call.dimension("dim", type.getRank());
  if (failed(dimension))
    return failure();
  return call.translate<aten::CatOp>(call.tensors("tensors"), *dimension);
}

static LogicalResult translateStack(NodeCall &call) {
  RankedTensorType type = call.resultType();
  if (!type)
    return missingType(call);
  FailureOr<int64_t> dimension = call.dimension("dim", type.getRank());
  if (failed(dimension))
    return failure();
  SmallVector<int64_t> shape(type.getShape());
  shape[*dimension] = 1;
  SmallVector<Value> tensors;
  for (Value tensor : call.tensors("tensors")) {
    FailureOr<aten::ViewOp> view =
        call.create<aten::ViewOp>(tensor, ArrayRef<int64_t>(shape));
    if (failed(view))
      return failure();
    tensors.push_back(view->getResult());
  }
  return call.translate<aten::CatOp>(tensors, *dimension);
}

void translation::addShapeOperators(OperatorTable &table) {
  table.add("view(Tensor(a) self, SymInt[] size) -> Tensor(a)", translateView);
  table.add("_unsafe_view(Tensor self, SymInt[] size) -> Tensor",
            translateView);
  table.add("reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
            translateView);
  table.add("flatten.using_ints(Tensor(a) self, int start_dim=0, "
            "int end_dim=-1) -> Tensor(a)",
            translateView);
  table.add("unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> "
            "Tensor(a)",
            translateView);
  table.add("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", translateView);
  table.add("squeeze(Tensor(a) self) -> Tensor(a)", translateView);
  table.add("squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", translateView);
  table.add("squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
            translateView);
  table.add("expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> "
            "Tensor(a)",
            translateExpand);
  table.add("transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
            translateTranspose);
  table.add("t(Tensor(a) self) -> Tensor(a)", translateMatrixTranspose);
  table.add("permute(Tensor(a) self, int[] dims) -> Tensor(a)",
            translatePermute);
  table.add("slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, "
            "SymInt? end=None, SymInt step=1) -> Tensor(a)",
            translateSlice);
  table.add("select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
            translateSelect);
  table.add("split.Tensor(Tensor(a) self, SymInt split_size, int dim=0) -> "
            "Tensor(a)[]",
            translateSplit);
  table.add("split_with_sizes(Tensor(a) self, SymInt[] split_sizes, "
            "int dim=0) -> Tensor(a)[]",
            translateSplit);
  table.add("chunk(Tensor(a) self, int chunks, int dim=0) -> Tensor(a)[]",
            translateSplit);
  table.add("unbind.int(Tensor(a) self, int dim=0) -> Tensor(a)[]",
            translateUnbind);
  table.add("cat(Tensor[] tensors, int dim=0) -> Tensor", translateCat);
  table.add("stack(Tensor[] tensors, int dim=0) -> Tensor", translateStack);
}
