//===- ShapeOperators.cpp - Translation of views --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// PyTorch has many names for few ideas: everything that keeps the row-major
// order becomes `view`, every reordering of dimensions `permute`, every
// broadcast `expand`. Sizes such as -1 are not computed again: the result types
// of the export have them.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/OperatorTable.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

static LogicalResult missingType(NodeCall &call) {
  return call.error("E0136") << "the result's dtype or sizes are not supported";
}

//===----------------------------------------------------------------------===//
// Views in row-major order
//===----------------------------------------------------------------------===//

static LogicalResult setView(NodeCall &call, Value value) {
  if (!value)
    return failure();
  call.setResult(value);
  return success();
}

static LogicalResult translateView(NodeCall &call) {
  RankedTensorType type = call.resultType();
  if (!type)
    return missingType(call);
  // `reshape` and `flatten` copy where strides leave no choice.
  if (!call.isViewable("self", type.getShape()))
    call.setResultsAreCopies();
  return setView(
      call, Decomposition(call).view(call.tensor("self"), type.getShape()));
}

static LogicalResult translateExpand(NodeCall &call) {
  RankedTensorType type = call.resultType();
  if (!type)
    return missingType(call);
  return setView(
      call, Decomposition(call).expand(call.tensor("self"), type.getShape()));
}

/// Each of several tensors in the shape that the export gives its result.
template <Value (Decomposition::*reshape)(Value, ArrayRef<int64_t>)>
static LogicalResult translateEach(NodeCall &call) {
  Decomposition build(call);
  SmallVector<Value> results;
  for (auto [i, tensor] : llvm::enumerate(call.tensors("tensors"))) {
    RankedTensorType type = call.resultType(i);
    results.push_back(type ? (build.*reshape)(tensor, type.getShape())
                           : tensor);
  }
  return build.finish(results);
}

/// Tensor i varies along dimension i; under 'xy' indexing the first two
/// dimensions change places.
static LogicalResult translateMeshgrid(NodeCall &call) {
  Decomposition build(call);
  SmallVector<Value> tensors = call.tensors("tensors"), results;
  for (auto [i, tensor] : llvm::enumerate(tensors)) {
    RankedTensorType type = call.resultType(i);
    if (!type)
      return missingType(call);
    size_t dim = i;
    if (i < 2 && tensors.size() > 1 && call.text("indexing") == "xy")
      dim = 1 - i;
    SmallVector<int64_t> shape(type.getRank(), 1);
    shape[dim] = type.getDimSize(dim);
    results.push_back(build.expand(build.view(tensor, shape), type.getShape()));
  }
  return build.finish(results);
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

/// transpose, swapaxes and swapdims, which name their dimensions differently.
static LogicalResult swapNamed(NodeCall &call, StringRef first,
                               StringRef second) {
  int64_t rank = call.typeOf("self").getRank();
  if (rank == 0) {
    call.setResult(call.tensor("self"));
    return success();
  }
  FailureOr<int64_t> a = call.dimension(first, rank);
  FailureOr<int64_t> b = call.dimension(second, rank);
  if (failed(a) || failed(b))
    return failure();
  return swapDimensions(call, *a, *b);
}

static LogicalResult translateTranspose(NodeCall &call) {
  return swapNamed(call, "dim0", "dim1");
}
static LogicalResult translateSwapAxes(NodeCall &call) {
  return swapNamed(call, "axis0", "axis1");
}

/// `t` of a matrix; vectors stay.
static LogicalResult translateMatrixTranspose(NodeCall &call) {
  int64_t rank = call.typeOf("self").getRank();
  if (rank == 2)
    return swapDimensions(call, 0, 1);
  call.setResult(call.tensor("self"));
  return success();
}

/// `mT`: the last two dimensions.
static LogicalResult translateLastTwo(NodeCall &call) {
  int64_t rank = call.typeOf("self").getRank();
  if (rank < 2)
    return call.unsupported("self", "a matrix or more");
  return swapDimensions(call, rank - 2, rank - 1);
}

/// `mH`, `H` and `adjoint` of real matrices.
static LogicalResult translateAdjoint(NodeCall &call) {
  int64_t rank = call.typeOf("self").getRank();
  if (isa<ComplexType>(call.typeOf("self").getElementType()) && rank >= 2) {
    Decomposition build(call);
    return build.finish(build.conjugate(
        build.transpose(call.tensor("self"), rank - 2, rank - 1)));
  }
  return rank < 2 ? translateMatrixTranspose(call) : translateLastTwo(call);
}

/// `T`: all dimensions in reverse.
static LogicalResult translateReverse(NodeCall &call) {
  auto dimensions =
      llvm::to_vector(llvm::seq<int64_t>(call.typeOf("self").getRank()));
  std::reverse(dimensions.begin(), dimensions.end());
  return call.translate<aten::PermuteOp>(call.tensor("self"),
                                         ArrayRef<int64_t>(dimensions));
}

static LogicalResult translatePermute(NodeCall &call) {
  SmallVector<int64_t> dimensions = call.integers("dims");
  for (int64_t &dimension : dimensions)
    if (dimension < 0)
      dimension += call.typeOf("self").getRank();
  return call.translate<aten::PermuteOp>(call.tensor("self"),
                                         ArrayRef<int64_t>(dimensions));
}

/// The dimensions `source` move to the places `destination`; the others keep
/// their order in the places that are left.
static LogicalResult translateMoveDimensions(NodeCall &call) {
  int64_t rank = call.typeOf("self").getRank();
  SmallVector<int64_t> source = call.integers("source");
  SmallVector<int64_t> destination = call.integers("destination");
  SmallVector<int64_t> order(rank, -1);
  SmallVector<bool> isMoved(rank, false);
  for (auto [from, to] : llvm::zip(source, destination)) {
    from += from < 0 ? rank : 0;
    to += to < 0 ? rank : 0;
    if (std::min(from, to) < 0 || std::max(from, to) >= rank)
      return call.error("E0119") << "moves a dimension that a tensor of rank "
                                 << rank << " does not have";
    order[to] = from;
    isMoved[from] = true;
  }
  int64_t next = 0;
  for (int64_t &place : order) {
    if (place >= 0)
      continue;
    while (next < rank && isMoved[next])
      ++next;
    place = next++;
  }
  return call.translate<aten::PermuteOp>(call.tensor("self"),
                                         ArrayRef<int64_t>(order));
}

/// k quarter turns from the first of two dimensions towards the second.
static LogicalResult translateRotate(NodeCall &call) {
  int64_t rank = call.typeOf("self").getRank();
  SmallVector<int64_t> dims = call.integers("dims");
  for (int64_t &dim : dims)
    dim += dim < 0 ? rank : 0;
  if (dims.size() != 2 ||
      llvm::any_of(dims, [&](int64_t dim) { return dim < 0 || dim >= rank; }))
    return call.unsupported("dims", "two dimensions");
  int64_t turns = ((call.integer("k") % 4) + 4) % 4;
  Decomposition build(call);
  Value self = call.tensor("self");
  auto flip = [&](Value value, ArrayRef<int64_t> along) {
    return build.build<aten::FlipOp>(value, along);
  };
  if (turns == 1)
    self = build.transpose(flip(self, dims[1]), dims[0], dims[1]);
  else if (turns == 2)
    self = flip(self, dims);
  else if (turns == 3)
    self = flip(build.transpose(self, dims[0], dims[1]), dims[1]);
  return build.finish(self);
}

//===----------------------------------------------------------------------===//
// Blocks of pixels
//===----------------------------------------------------------------------===//

/// [*, C * r * r, H, W] -> [*, C, H * r, W * r], or back with `isReverse`.
template <bool isReverse>
static LogicalResult translatePixelShuffle(NodeCall &call) {
  RankedTensorType type = isReverse ? call.resultType() : call.typeOf("self");
  RankedTensorType result = call.resultType();
  if (!type || !result)
    return missingType(call);
  int64_t r = call.integer(isReverse ? "downscale_factor" : "upscale_factor");
  int64_t lead = type.getRank() - 3;
  if (lead < 0 || r < 1 || type.getDimSize(lead) % (r * r) != 0)
    return call.unsupported("self", "images [*, C * r * r, H, W]");
  SmallVector<int64_t> shape(type.getShape().take_front(lead));
  shape.append({type.getDimSize(lead) / (r * r), r, r,
                type.getDimSize(lead + 1), type.getDimSize(lead + 2)});
  auto order = llvm::to_vector(llvm::seq<int64_t>(lead + 1));
  order.append({lead + 3, lead + 1, lead + 4, lead + 2});
  Decomposition build(call);
  Value self = call.tensor("self");
  if constexpr (isReverse) {
    SmallVector<int64_t> inverse(order.size()), shuffled;
    for (auto [i, dim] : llvm::enumerate(order)) {
      inverse[dim] = i;
      shuffled.push_back(shape[dim]);
    }
    self = build.permute(build.view(self, shuffled), inverse);
  } else {
    self = build.permute(build.view(self, shape), order);
  }
  return build.finish(build.view(self, result.getShape()));
}

/// The channels of `groups` groups, dealt like cards.
static LogicalResult translateChannelShuffle(NodeCall &call) {
  RankedTensorType type = call.typeOf("self");
  int64_t groups = call.integer("groups");
  if (type.getRank() < 2 || groups < 1 || type.getDimSize(1) % groups != 0)
    return call.unsupported("groups", "a number that divides the channels");
  SmallVector<int64_t> shape = {type.getDimSize(0), groups,
                                type.getDimSize(1) / groups};
  llvm::append_range(shape, type.getShape().drop_front(2));
  Decomposition build(call);
  Value split = build.view(call.tensor("self"), shape);
  return build.finish(
      build.view(build.transpose(split, 1, 2), type.getShape()));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static void addViews(OperatorTable &table) {
  for (StringRef signature :
       {"view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
        "unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
        "squeeze(Tensor(a) self) -> Tensor(a)",
        "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
        "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)"})
    table.addWithCopy(signature, translateView);
  for (StringRef signature :
       {"_unsafe_view(Tensor self, SymInt[] size) -> Tensor",
        "reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
        "view_as(Tensor(a) self, Tensor other) -> Tensor(a)",
        "reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
        "flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) "
        "-> Tensor(a)",
        "unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)",
        "ravel(Tensor(a) self) -> Tensor(a)",
        "atleast_1d(Tensor self) -> Tensor",
        "atleast_2d(Tensor self) -> Tensor",
        "atleast_3d(Tensor self) -> Tensor"})
    table.add(signature, translateView);
  table.addWithCopy("expand(Tensor(a) self, SymInt[] size, *, "
                    "bool implicit=False) -> Tensor(a)",
                    translateExpand);
  for (StringRef signature :
       {"expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
        "broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)"})
    table.add(signature, translateExpand);
  table.add("broadcast_tensors(Tensor[] tensors) -> Tensor[]",
            translateEach<&Decomposition::expand>);
  for (StringRef signature : {"atleast_1d.Sequence(Tensor[] tensors) -> "
                              "Tensor[]",
                              "atleast_2d.Sequence(Tensor[] tensors) -> "
                              "Tensor[]",
                              "atleast_3d.Sequence(Tensor[] tensors) -> "
                              "Tensor[]"})
    table.add(signature, translateEach<&Decomposition::view>);
  table.add("meshgrid(Tensor[] tensors, *, str indexing='ij') -> Tensor[]",
            translateMeshgrid);
  table.add("meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
            translateMeshgrid);
}

/// x.squeeze_() and its like give the tensor another shape: what the graph uses
/// afterwards is the view that they return.
static void addInPlaceViews(OperatorTable &table) {
  for (StringRef signature :
       {"unsqueeze_(Tensor(a) self, int dim) -> Tensor(a)",
        "squeeze_(Tensor(a) self) -> Tensor(a)",
        "squeeze_.dim(Tensor(a) self, int dim) -> Tensor(a)",
        "squeeze_.dims(Tensor(a) self, int[] dim) -> Tensor(a)"})
    table.add(signature, translateView);
  for (StringRef name : {"transpose_", "swapdims_"})
    table.add(
        (name + "(Tensor(a) self, int dim0, int dim1) -> Tensor(a)").str(),
        translateTranspose);
  table.add("swapaxes_(Tensor(a) self, int axis0, int axis1) -> Tensor(a)",
            translateSwapAxes);
  table.add("t_(Tensor(a) self) -> Tensor(a)", translateMatrixTranspose);
}

void translation::addShapeOperators(OperatorTable &table) {
  addViews(table);
  addInPlaceViews(table);
  table.addWithCopy(
      "transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
      translateTranspose);
  table.add("swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
            translateTranspose);
  table.add("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)",
            translateSwapAxes);
  table.addWithCopy("t(Tensor(a) self) -> Tensor(a)", translateMatrixTranspose);
  table.add("mT(Tensor(a) self) -> Tensor(a)", translateLastTwo);
  table.add("matrix_H(Tensor(a) self) -> Tensor(a)", translateAdjoint);
  table.add("mH(Tensor(a) self) -> Tensor(a)", translateAdjoint);
  table.add("adjoint(Tensor(a) self) -> Tensor(a)", translateAdjoint);
  table.add("numpy_T(Tensor(a) self) -> Tensor(a)", translateReverse);
  table.addWithCopy("permute(Tensor(a) self, int[] dims) -> Tensor(a)",
                    translatePermute);
  for (StringRef name : {"movedim", "moveaxis"}) {
    table.add((name + ".int(Tensor(a) self, int[1] source, int[1] "
                      "destination) -> Tensor(a)")
                  .str(),
              translateMoveDimensions);
    table.add((name + ".intlist(Tensor(a) self, int[] source, int[] "
                      "destination) -> Tensor(a)")
                  .str(),
              translateMoveDimensions);
  }
  table.add("rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor",
            translateRotate);
  table.add("pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
            translatePixelShuffle<false>);
  table.add("pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
            translatePixelShuffle<true>);
  table.add("channel_shuffle(Tensor self, SymInt groups) -> Tensor",
            translateChannelShuffle);
}
