//===- PieceOperators.cpp - Translation of parts of tensors ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Slices, splits and strided windows, and writing into them. One split is one
// `slice` a piece; the pieces' sizes are those of the export's result types.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

namespace {
/// A slice with its bounds resolved.
struct Piece {
  int64_t dim, start, end, step;
};
} // namespace

static LogicalResult missingType(NodeCall &call) {
  return call.error("E0136") << "the result's dtype or sizes are not supported";
}

/// The arguments dim, start, end and step of a slice of a tensor of `type`.
static FailureOr<Piece> resolveSlice(NodeCall &call, RankedTensorType type) {
  FailureOr<int64_t> dim = call.dimension("dim", type.getRank());
  if (failed(dim) || failed(call.checkRange("step", 1)))
    return failure();
  int64_t size = type.getDimSize(*dim);
  auto resolve = [&](StringRef name, int64_t otherwise) {
    int64_t index = call.optionalInteger(name).value_or(otherwise);
    return std::clamp<int64_t>(index < 0 ? index + size : index, 0, size);
  };
  int64_t start = resolve("start", 0);
  int64_t end = std::max(start, resolve("end", size));
  return Piece{*dim, start, end, call.integer("step")};
}

static LogicalResult translateSlice(NodeCall &call) {
  FailureOr<Piece> piece = resolveSlice(call, call.typeOf("self"));
  if (failed(piece))
    return failure();
  return call.translate<aten::SliceOp>(call.tensor("self"), piece->dim,
                                       piece->start, piece->end, piece->step);
}

static LogicalResult translateSliceScatter(NodeCall &call) {
  FailureOr<Piece> piece = resolveSlice(call, call.typeOf("self"));
  if (failed(piece))
    return failure();
  return call.translate<aten::SliceScatterOp>(
      call.tensor("self"), call.tensor("src"), piece->dim, piece->start,
      piece->end, piece->step);
}

static LogicalResult translateSliceBackward(NodeCall &call) {
  SmallVector<int64_t> sizes = call.integers("input_sizes");
  FailureOr<Piece> piece =
      resolveSlice(call, call.typeOf("grad_output").clone(sizes));
  if (failed(piece))
    return failure();
  Decomposition build(call);
  Value gradient = call.tensor("grad_output");
  return build.finish(build.build<aten::SliceScatterOp>(
      build.zeros(sizes, gradient), gradient, piece->dim, piece->start,
      piece->end, piece->step));
}

/// The dimension and the index of select, select_scatter and select_backward,
/// in a tensor of `type`.
static FailureOr<Piece> resolveSelect(NodeCall &call, RankedTensorType type) {
  FailureOr<int64_t> dim = call.dimension("dim", type.getRank());
  if (failed(dim))
    return failure();
  FailureOr<int64_t> index = call.dimension("index", type.getDimSize(*dim));
  if (failed(index))
    return failure();
  return Piece{*dim, *index, *index + 1, 1};
}

static LogicalResult translateSelect(NodeCall &call) {
  FailureOr<Piece> piece = resolveSelect(call, call.typeOf("self"));
  RankedTensorType result = call.resultType();
  if (failed(piece))
    return failure();
  if (!result)
    return missingType(call);
  FailureOr<aten::SliceOp> slice = call.create<aten::SliceOp>(
      call.tensor("self"), piece->dim, piece->start, piece->end, 1);
  if (failed(slice))
    return failure();
  return call.translate<aten::ViewOp>(slice->getResult(), result.getShape());
}

/// At an index that is computed.
static LogicalResult translateSelectAt(NodeCall &call) {
  int64_t rank = call.typeOf("self").getRank(), dim = call.integer("dim");
  if (dim < -rank || dim >= rank)
    return call.unsupported("dim", "a dimension of the tensor");
  return call.translate<aten::IndexOp>(
      call.tensor("self"), ValueRange(call.tensor("index")),
      ArrayRef<int64_t>{dim < 0 ? dim + rank : dim});
}

static LogicalResult translateSelectBackward(NodeCall &call) {
  SmallVector<int64_t> sizes = call.integers("input_sizes");
  FailureOr<Piece> piece =
      resolveSelect(call, call.typeOf("grad_output").clone(sizes));
  if (failed(piece))
    return failure();
  Decomposition build(call);
  Value gradient = build.unsqueeze(call.tensor("grad_output"), piece->dim);
  return build.finish(build.build<aten::SliceScatterOp>(
      build.zeros(sizes, gradient), gradient, piece->dim, piece->start,
      piece->end, 1));
}

static LogicalResult translateSelectScatter(NodeCall &call) {
  FailureOr<Piece> piece = resolveSelect(call, call.typeOf("self"));
  if (failed(piece))
    return failure();
  Decomposition build(call);
  Value source = build.unsqueeze(call.tensor("src"), piece->dim);
  return build.finish(build.build<aten::SliceScatterOp>(
      call.tensor("self"), source, piece->dim, piece->start, piece->end, 1));
}

static LogicalResult translateNarrow(NodeCall &call) {
  RankedTensorType type = call.typeOf("self");
  FailureOr<int64_t> dim = call.dimension("dim", type.getRank());
  if (failed(dim))
    return failure();
  int64_t start = call.integer("start");
  start += start < 0 ? type.getDimSize(*dim) : 0;
  return call.translate<aten::SliceOp>(call.tensor("self"), *dim, start,
                                       start + call.integer("length"), 1);
}

//===----------------------------------------------------------------------===//
// Splits
//===----------------------------------------------------------------------===//

static LogicalResult splitAlong(NodeCall &call, int64_t dim) {
  RankedTensorType type = call.typeOf("self");
  Value self = call.tensor("self");
  SmallVector<Value> pieces;
  int64_t start = 0;
  for (size_t i = 0; i < call.resultCount(); ++i) {
    RankedTensorType piece = call.resultType(i);
    if (!piece || piece.getRank() != type.getRank())
      return missingType(call);
    int64_t end = start + piece.getDimSize(dim);
    FailureOr<aten::SliceOp> slice =
        call.create<aten::SliceOp>(self, dim, start, end, 1);
    if (failed(slice))
      return failure();
    pieces.push_back(slice->getResult());
    start = end;
  }
  call.setResults(pieces);
  return success();
}

/// split, split_with_sizes, chunk and tensor_split.
static LogicalResult translateSplit(NodeCall &call) {
  FailureOr<int64_t> dim = call.dimension("dim", call.typeOf("self").getRank());
  return failed(dim) ? failure() : splitAlong(call, *dim);
}

/// hsplit, vsplit and dsplit; hsplit splits a vector along its only dimension.
template <int64_t dim>
static LogicalResult translateNamedSplit(NodeCall &call) {
  return splitAlong(call, call.typeOf("self").getRank() == 1 ? 0 : dim);
}

static LogicalResult translateUnbind(NodeCall &call) {
  FailureOr<int64_t> dim = call.dimension("dim", call.typeOf("self").getRank());
  if (failed(dim))
    return failure();
  Decomposition build(call);
  Value self = call.tensor("self");
  SmallVector<Value> pieces;
  for (size_t i = 0; i < call.resultCount(); ++i)
    pieces.push_back(build.select(self, *dim, i));
  return build.finish(pieces);
}

//===----------------------------------------------------------------------===//
// Strided windows
//===----------------------------------------------------------------------===//

namespace {
/// What `as_strided` reads of the row-major tensor that has the value.
struct StridedPiece {
  SmallVector<int64_t> size, stride;
  int64_t offset = 0;
};
} // namespace

static LogicalResult translatePiece(NodeCall &call,
                                    FailureOr<StridedPiece> piece) {
  if (failed(piece))
    return failure();
  return call.translate<aten::AsStridedOp>(
      call.tensor("self"), ArrayRef<int64_t>(piece->size),
      ArrayRef<int64_t>(piece->stride), piece->offset);
}

static LogicalResult scatterPiece(NodeCall &call, Value self, Value source,
                                  FailureOr<StridedPiece> piece) {
  if (failed(piece))
    return failure();
  return call.translate<aten::AsStridedScatterOp>(
      self, source, ArrayRef<int64_t>(piece->size),
      ArrayRef<int64_t>(piece->stride), piece->offset);
}

/// PyTorch's strides are those of memory; values are row-major.
static FailureOr<StridedPiece> resolveAsStrided(NodeCall &call) {
  if (!call.isContiguous("self"))
    return FailureOr<StridedPiece>(
        call.unsupported("self", "a contiguous tensor"));
  std::optional<int64_t> own = call.storageOffset("self"),
                         offset = call.optionalInteger("storage_offset");
  if (!own && offset)
    return FailureOr<StridedPiece>(call.unsupported(
        "self", "a tensor whose place in memory does not depend on data"));
  return StridedPiece{call.integers("size"), call.integers("stride"),
                      offset ? *offset - *own : 0};
}

static LogicalResult translateAsStrided(NodeCall &call) {
  return translatePiece(call, resolveAsStrided(call));
}

static LogicalResult translateAsStridedScatter(NodeCall &call) {
  return scatterPiece(call, call.tensor("self"), call.tensor("src"),
                      resolveAsStrided(call));
}

/// Overlapping windows along one dimension become a last dimension.
static LogicalResult translateUnfold(NodeCall &call) {
  RankedTensorType type = call.typeOf("self");
  int64_t size = call.integer("size"), step = call.integer("step");
  StridedPiece piece{SmallVector<int64_t>(type.getShape()),
                     computeStrides(type.getShape())};
  if (type.getRank() == 0) {
    piece.size.push_back(size);
    piece.stride.push_back(1);
    return translatePiece(call, piece);
  }
  FailureOr<int64_t> dim = call.dimension("dimension", type.getRank());
  if (failed(dim) || failed(call.checkRange("step", 1)))
    return failure();
  piece.size[*dim] = (type.getDimSize(*dim) - size) / step + 1;
  piece.size.push_back(size);
  piece.stride.push_back(piece.stride[*dim]);
  piece.stride[*dim] *= step;
  return translatePiece(call, piece);
}

/// The diagonal of two dimensions of `type`, as a last dimension.
static FailureOr<StridedPiece> resolveDiagonal(NodeCall &call,
                                               RankedTensorType type) {
  FailureOr<int64_t> first = call.dimension("dim1", type.getRank());
  FailureOr<int64_t> second = call.dimension("dim2", type.getRank());
  if (failed(first) || failed(second))
    return failure();
  int64_t offset = call.integer("offset");
  SmallVector<int64_t> strides = computeStrides(type.getShape());
  StridedPiece piece;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (dim != *first && dim != *second) {
      piece.size.push_back(type.getDimSize(dim));
      piece.stride.push_back(strides[dim]);
    }
  int64_t down = std::max<int64_t>(-offset, 0);
  int64_t right = std::max<int64_t>(offset, 0);
  piece.size.push_back(
      std::max<int64_t>(0, std::min(type.getDimSize(*first) - down,
                                    type.getDimSize(*second) - right)));
  piece.stride.push_back(strides[*first] + strides[*second]);
  piece.offset = down * strides[*first] + right * strides[*second];
  return piece;
}

static LogicalResult translateDiagonal(NodeCall &call) {
  return translatePiece(call, resolveDiagonal(call, call.typeOf("self")));
}

/// The diagonal of the last two dimensions of `A`.
static LogicalResult translateLinalgDiagonal(NodeCall &call) {
  FailureOr<StridedPiece> piece = resolveDiagonal(call, call.typeOf("A"));
  if (failed(piece))
    return failure();
  return call.translate<aten::AsStridedOp>(
      call.tensor("A"), ArrayRef<int64_t>(piece->size),
      ArrayRef<int64_t>(piece->stride), piece->offset);
}

static LogicalResult translateDiagonalScatter(NodeCall &call) {
  return scatterPiece(call, call.tensor("self"), call.tensor("src"),
                      resolveDiagonal(call, call.typeOf("self")));
}

static LogicalResult translateDiagonalEmbed(NodeCall &call) {
  RankedTensorType result = call.resultType();
  if (!result)
    return missingType(call);
  Value self = call.tensor("self");
  Value zeros = Decomposition(call).zeros(result.getShape(), self);
  return scatterPiece(call, zeros, self, resolveDiagonal(call, result));
}

/// The diagonal of a matrix, or a matrix with this diagonal.
static LogicalResult translateDiag(NodeCall &call) {
  RankedTensorType type = call.typeOf("self"), result = call.resultType();
  if (!result)
    return missingType(call);
  int64_t offset = call.integer("diagonal");
  RankedTensorType matrix = type.getRank() == 2 ? type : result;
  if (matrix.getRank() != 2)
    return call.unsupported("self", "a vector or a matrix");
  int64_t columns = matrix.getDimSize(1);
  int64_t length =
      type.getRank() == 2 ? result.getDimSize(0) : type.getDimSize(0);
  StridedPiece piece{
      {length}, {columns + 1}, offset < 0 ? -offset * columns : offset};
  if (type.getRank() == 2)
    return translatePiece(call, piece);
  Value self = call.tensor("self");
  Value zeros = Decomposition(call).zeros(result.getShape(), self);
  return scatterPiece(call, zeros, self, piece);
}

/// A matrix with all elements on a diagonal.
static LogicalResult translateDiagflat(NodeCall &call) {
  RankedTensorType result = call.resultType();
  if (!result)
    return missingType(call);
  int64_t offset = call.integer("offset"), columns = result.getDimSize(1);
  int64_t length = call.typeOf("self").getNumElements();
  Decomposition build(call);
  Value self = build.view(call.tensor("self"), {length});
  return scatterPiece(call, build.zeros(result.getShape(), self), self,
                      StridedPiece{{length},
                                   {columns + 1},
                                   offset < 0 ? -offset * columns : offset});
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static void addSplits(OperatorTable &table) {
  for (StringRef signature :
       {"split.Tensor(Tensor(a) self, SymInt split_size, int dim=0) -> "
        "Tensor(a)[]",
        "split_with_sizes(Tensor(a) self, SymInt[] split_sizes, int dim=0) -> "
        "Tensor(a)[]"})
    table.addWithCopy(signature, translateSplit);
  for (StringRef signature :
       {"split.sizes(Tensor(a) self, SymInt[] split_size, int dim=0) -> "
        "Tensor(a)[]",
        "unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> "
        "Tensor[]",
        "unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, "
        "int dim=0) -> Tensor[]",
        "chunk(Tensor(a) self, int chunks, int dim=0) -> Tensor(a)[]",
        "unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
        "tensor_split.sections(Tensor(a) self, SymInt sections, int dim=0) -> "
        "Tensor(a)[]",
        "tensor_split.indices(Tensor(a) self, SymInt[] indices, int dim=0) -> "
        "Tensor(a)[]"})
    table.add(signature, translateSplit);
  auto addNamed = [&](const std::string &name, TranslateFunction translate) {
    table.add(name + ".int(Tensor(a) self, int sections) -> Tensor(a)[]",
              translate);
    table.add(name + ".array(Tensor(a) self, int[] indices) -> Tensor(a)[]",
              translate);
  };
  addNamed("hsplit", translateNamedSplit<1>);
  addNamed("vsplit", translateNamedSplit<0>);
  addNamed("dsplit", translateNamedSplit<2>);
  table.addWithCopy("unbind.int(Tensor(a) self, int dim=0) -> Tensor(a)[]",
                    translateUnbind);
}

void translation::addPieceOperators(OperatorTable &table) {
  table.addWithCopy(
      "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, "
      "SymInt? end=None, SymInt step=1) -> Tensor(a)",
      translateSlice);
  table.add("slice_scatter(Tensor self, Tensor src, int dim=0, "
            "SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor",
            translateSliceScatter);
  table.add("slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, "
            "SymInt start, SymInt end, SymInt step) -> Tensor",
            translateSliceBackward);
  table.addWithCopy(
      "select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
      translateSelect);
  // What compiler/Pt2 makes of an index that depends on data.
  table.add("select.at(Tensor(a) self, int dim, Tensor index) -> Tensor(a)",
            translateSelectAt);
  table.add(
      "select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, "
      "SymInt index) -> Tensor",
      translateSelectBackward);
  table.add("select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> "
            "Tensor",
            translateSelectScatter);
  table.addWithCopy(
      "narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> "
      "Tensor(a)",
      translateNarrow);
  addSplits(table);
  table.addWithCopy(
      "as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, "
      "SymInt? storage_offset=None) -> Tensor(a)",
      translateAsStrided);
  table.add("as_strided_scatter(Tensor self, Tensor src, SymInt[] size, "
            "SymInt[] stride, SymInt? storage_offset=None) -> Tensor",
            translateAsStridedScatter);
  table.addWithCopy(
      "unfold(Tensor(a) self, int dimension, int size, int step) -> "
      "Tensor(a)",
      translateUnfold);
  table.addWithCopy(
      "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> "
      "Tensor(a)",
      translateDiagonal);
  table.add("diagonal_scatter(Tensor self, Tensor src, int offset=0, "
            "int dim1=0, int dim2=1) -> Tensor",
            translateDiagonalScatter);
  table.add("diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) "
            "-> Tensor",
            translateDiagonalEmbed);
  table.add("diag(Tensor self, int diagonal=0) -> Tensor", translateDiag);
  table.add("diagflat(Tensor self, int offset=0) -> Tensor", translateDiagflat);
  table.add("linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, "
            "int dim2=-1) -> Tensor(a)",
            translateLinalgDiagonal);
}
