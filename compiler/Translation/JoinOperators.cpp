//===- JoinOperators.cpp - Translation of joins, pads and repetitions -----===//
// SPDX-License-Identifier: Apache-2.0
//
// Operators that make larger tensors out of smaller ones. A repetition is a
// broadcast along a new dimension; the windows of an image are `as_strided`
// over the padded image.
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
// Joins
//===----------------------------------------------------------------------===//

/// The tensors of a join. PyTorch skips vectors without elements, whatever the
/// rank of the others.
static SmallVector<Value> joinedTensors(NodeCall &call, int64_t rank) {
  SmallVector<Value> tensors;
  for (Value tensor : call.tensors("tensors")) {
    RankedTensorType type = Decomposition::typeOf(tensor);
    if (type.getRank() == rank || type.getRank() != 1 ||
        type.getDimSize(0) != 0)
      tensors.push_back(tensor);
  }
  return tensors;
}

static LogicalResult translateCat(NodeCall &call) {
  RankedTensorType type = call.resultType();
  if (!type)
    return missingType(call);
  FailureOr<int64_t> dim = call.dimension("dim", type.getRank());
  if (failed(dim))
    return failure();
  Decomposition build(call);
  return build.finish(build.cat(joinedTensors(call, type.getRank()), *dim));
}

/// Views in which the tensors have a dimension to be joined along.
static LogicalResult
joinViews(NodeCall &call, int64_t dim,
          function_ref<SmallVector<int64_t>(ArrayRef<int64_t>)> reshape) {
  Decomposition build(call);
  SmallVector<Value> tensors;
  for (Value tensor : call.tensors("tensors"))
    tensors.push_back(
        build.view(tensor, reshape(Decomposition::typeOf(tensor).getShape())));
  return build.finish(build.cat(tensors, dim));
}

static LogicalResult translateStack(NodeCall &call) {
  RankedTensorType type = call.resultType();
  if (!type)
    return missingType(call);
  FailureOr<int64_t> dim = call.dimension("dim", type.getRank());
  if (failed(dim))
    return failure();
  SmallVector<int64_t> shape(type.getShape());
  shape[*dim] = 1;
  return joinViews(call, *dim, [&](ArrayRef<int64_t>) { return shape; });
}

/// At least `rank` dimensions, as atleast_1d, atleast_2d and atleast_3d.
static SmallVector<int64_t> atLeast(int64_t rank, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> result(shape);
  if (result.empty())
    result.push_back(1);
  if (rank >= 2 && result.size() == 1)
    result.insert(result.begin(), 1);
  if (rank >= 3 && result.size() == 2)
    result.push_back(1);
  return result;
}

/// hstack joins vectors along their only dimension and others along the second.
static LogicalResult translateHorizontalStack(NodeCall &call) {
  RankedTensorType type = call.resultType();
  if (!type)
    return missingType(call);
  return joinViews(call, type.getRank() == 1 ? 0 : 1,
                   [](ArrayRef<int64_t> shape) { return atLeast(1, shape); });
}

template <int64_t rank, int64_t dim>
static LogicalResult translateNamedStack(NodeCall &call) {
  return joinViews(
      call, dim, [](ArrayRef<int64_t> shape) { return atLeast(rank, shape); });
}

/// Vectors become columns.
static LogicalResult translateColumnStack(NodeCall &call) {
  return joinViews(call, 1, [](ArrayRef<int64_t> shape) {
    SmallVector<int64_t> result(shape);
    while (result.size() < 2)
      result.push_back(1);
    return result;
  });
}

/// Matrices along the diagonal of a larger one, zeros elsewhere.
static LogicalResult translateBlockDiagonal(NodeCall &call) {
  RankedTensorType type = call.resultType();
  if (!type)
    return missingType(call);
  Decomposition build(call);
  int64_t column = 0, width = type.getDimSize(1);
  SmallVector<Value> rows;
  for (Value tensor : call.tensors("tensors")) {
    Value block = build.view(
        tensor, atLeast(2, Decomposition::typeOf(tensor).getShape()));
    if (!block)
      return failure();
    int64_t height = Decomposition::typeOf(block).getDimSize(0);
    int64_t end = column + Decomposition::typeOf(block).getDimSize(1);
    SmallVector<Value> parts;
    if (column > 0)
      parts.push_back(build.zeros({height, column}, block));
    parts.push_back(block);
    if (end < width)
      parts.push_back(build.zeros({height, width - end}, block));
    rows.push_back(build.cat(parts, 1));
    column = end;
  }
  return build.finish(build.cat(rows, 0));
}

/// Every combination of the vectors' elements, a row each.
static LogicalResult translateCartesianProduct(NodeCall &call) {
  Decomposition build(call);
  SmallVector<Value> vectors = call.tensors("tensors"), columns;
  RankedTensorType result = call.resultType();
  if (!result)
    return missingType(call);
  if (vectors.size() == 1)
    return build.finish(vectors.front());
  SmallVector<int64_t> sizes;
  for (Value vector : vectors)
    sizes.push_back(Decomposition::typeOf(vector).getNumElements());
  for (auto [i, vector] : llvm::enumerate(vectors)) {
    SmallVector<int64_t> shape(sizes.size(), 1);
    shape[i] = sizes[i];
    columns.push_back(build.view(build.expand(build.view(vector, shape), sizes),
                                 {result.getDimSize(0), 1}));
  }
  return build.finish(build.cat(columns, 1));
}

//===----------------------------------------------------------------------===//
// Repetitions
//===----------------------------------------------------------------------===//

/// The whole tensor, `counts` times along the last dimensions.
static LogicalResult repeat(NodeCall &call, SmallVector<int64_t> counts) {
  Decomposition build(call);
  Value self = call.tensor("self");
  RankedTensorType result = call.resultType();
  if (!result)
    return missingType(call);
  SmallVector<int64_t> shape(Decomposition::typeOf(self).getShape());
  while (shape.size() < counts.size())
    shape.insert(shape.begin(), 1);
  while (counts.size() < shape.size())
    counts.insert(counts.begin(), 1);
  if (llvm::all_of(counts, [](int64_t count) { return count == 1; }))
    return build.finish(build.view(self, shape));
  SmallVector<int64_t> split, spread;
  for (auto [count, size] : llvm::zip_equal(counts, shape)) {
    if (count != 1) {
      split.push_back(1);
      spread.push_back(count);
    }
    split.push_back(size);
    spread.push_back(size);
  }
  self = build.expand(build.view(self, split), spread);
  return build.finish(build.view(self, result.getShape()));
}

static LogicalResult translateRepeat(NodeCall &call) {
  return repeat(call, call.integers("repeats"));
}
static LogicalResult translateTile(NodeCall &call) {
  return repeat(call, call.integers("dims"));
}

/// Every element `repeats` times, of the flat tensor without a dimension.
static LogicalResult translateRepeatInterleave(NodeCall &call) {
  Decomposition build(call);
  Value self = call.tensor("self");
  RankedTensorType result = call.resultType();
  if (!result)
    return missingType(call);
  int64_t dim = 0;
  if (call.isNone("dim")) {
    self = build.view(self, {call.typeOf("self").getNumElements()});
  } else {
    FailureOr<int64_t> given =
        call.dimension("dim", call.typeOf("self").getRank());
    if (failed(given))
      return failure();
    dim = *given;
  }
  self = build.unsqueeze(self, dim + 1);
  if (!self)
    return failure();
  SmallVector<int64_t> spread(Decomposition::typeOf(self).getShape());
  spread[dim + 1] = call.integer("repeats");
  return build.finish(
      build.view(build.expand(self, spread), result.getShape()));
}

/// Repeats as data, of which the export knows the sum: place i shows the
/// element up to which more than i repeats add up.
static LogicalResult translateRepeatEach(NodeCall &call) {
  RankedTensorType result = call.resultType(), type = call.typeOf("self");
  if (!result)
    return call.unsupported("repeats",
                            "repeats whose sum does not depend on data",
                            "pass output_size");
  Decomposition build(call);
  Value self = call.tensor("self");
  int64_t dim = 0;
  if (call.isNone("dim") || type.getRank() == 0) {
    self = build.view(self, {type.getNumElements()});
  } else {
    FailureOr<int64_t> given = call.dimension("dim", type.getRank());
    if (failed(given))
      return failure();
    dim = *given;
  }
  if (!self)
    return failure();
  Value repeats =
      call.convert(call.tensor("repeats"), call.builder().getI64Type());
  repeats = build.view(repeats, {call.typeOf("repeats").getNumElements()});
  repeats =
      build.expand(repeats, {Decomposition::typeOf(self).getDimSize(dim)});
  Value ends = build.build<aten::CumsumOp>(repeats, static_cast<uint64_t>(0));
  Value index = build.countUpTo(ends, result.getDimSize(dim));
  return index ? call.translate<aten::IndexOp>(self, ValueRange(index),
                                               ArrayRef<int64_t>{dim})
               : failure();
}

/// Every way to choose r elements, in order.
static LogicalResult translateCombinations(NodeCall &call) {
  RankedTensorType result = call.resultType();
  int64_t count = call.typeOf("self").getNumElements();
  auto r = static_cast<size_t>(call.integer("r"));
  if (!result || r == 0)
    return call.unsupported("r", "1 or more");
  bool isRepeated = call.boolean("with_replacement");
  SmallVector<int64_t> indices, chosen;
  // Each choice is the one before with its last element that can grow larger.
  auto complete = [&] {
    while (chosen.size() < r)
      chosen.push_back(chosen.empty() ? 0 : chosen.back() + !isRepeated);
  };
  for (complete(); !chosen.empty();) {
    if (chosen.back() < count)
      llvm::append_range(indices, chosen);
    while (!chosen.empty() && ++chosen.back() >= count)
      chosen.pop_back();
    if (!chosen.empty())
      complete();
  }
  if (static_cast<int64_t>(indices.size()) != result.getNumElements())
    return call.unsupported("r", "as many elements as there are, or fewer");
  auto type =
      RankedTensorType::get(result.getShape(), call.builder().getI64Type());
  Value index = aten::ConstantOp::create(
      call.builder(), call.loc(),
      DenseElementsAttr::get(type, ArrayRef<int64_t>(indices)));
  return call.translate<aten::IndexOp>(call.tensor("self"), ValueRange(index),
                                       ArrayRef<int64_t>{0});
}

//===----------------------------------------------------------------------===//
// Pads
//===----------------------------------------------------------------------===//

static LogicalResult buildPad(NodeCall &call, aten::PadMode mode,
                              double value) {
  SmallVector<int64_t> pad = call.integers("pad");
  StringRef op = mode == aten::PadMode::reflect     ? "reflection_pad"
                 : mode == aten::PadMode::replicate ? "replication_pad"
                                                    : "pad";
  Value self = call.tensorOf((op + Twine(pad.size() / 2) + "d").str(), "self");
  if (llvm::all_of(pad, [](int64_t count) { return count == 0; })) {
    call.setResult(self);
    return success();
  }
  return call.translate<aten::PadOp>(self, ArrayRef<int64_t>(pad), mode,
                                     APFloat(value));
}

static LogicalResult translateConstantPad(NodeCall &call) {
  return buildPad(call, aten::PadMode::constant, call.number("value"));
}

static LogicalResult translatePad(NodeCall &call) {
  std::optional<aten::PadMode> mode = aten::symbolizePadMode(call.text("mode"));
  if (!mode)
    return call.unsupported("mode",
                            "'constant', 'reflect', 'replicate' or 'circular'");
  return buildPad(call, *mode, call.isNone("value") ? 0 : call.number("value"));
}

template <aten::PadMode mode>
static LogicalResult translateNamedPad(NodeCall &call) {
  SmallVector<int64_t> pad = call.integers("padding");
  return call.translate<aten::PadOp>(
      call.tensor("self"), ArrayRef<int64_t>(pad), mode, APFloat(0.0));
}

//===----------------------------------------------------------------------===//
// Windows of images
//===----------------------------------------------------------------------===//

/// [N, C, H, W] -> [N, C * kH * kW, positions].
static LogicalResult translateIm2col(NodeCall &call) {
  RankedTensorType result = call.resultType();
  if (!result || failed(call.checkRange("stride", 1)))
    return missingType(call);
  Decomposition build(call);
  Value self = call.tensor("self");
  if (Decomposition::typeOf(self).getRank() == 3)
    self = build.unsqueeze(self, 0);
  SmallVector<int64_t> kernel = call.integers("kernel_size"),
                       dilation = call.integers("dilation"),
                       padding = call.integers("padding"),
                       stride = call.integers("stride");
  if (padding[0] || padding[1])
    self = build.build<aten::PadOp>(
        self,
        ArrayRef<int64_t>({padding[1], padding[1], padding[0], padding[0]}),
        aten::PadMode::constant, APFloat(0.0));
  if (!self)
    return failure();
  ArrayRef<int64_t> image = Decomposition::typeOf(self).getShape();
  int64_t positions[2];
  for (int i : {0, 1})
    positions[i] =
        (image[2 + i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1;
  int64_t row = image[3], plane = image[2] * row;
  Value windows = build.build<aten::AsStridedOp>(
      self,
      ArrayRef<int64_t>({image[0], image[1], kernel[0], kernel[1], positions[0],
                         positions[1]}),
      ArrayRef<int64_t>({image[1] * plane, plane, dilation[0] * row,
                         dilation[1], stride[0] * row, stride[1]}),
      0);
  return build.finish(build.view(windows, result.getShape()));
}

static LogicalResult translateCol2im(NodeCall &call) {
  RankedTensorType result = call.resultType();
  if (!result)
    return missingType(call);
  Decomposition build(call);
  Value self = call.tensor("self");
  if (Decomposition::typeOf(self).getRank() == 2)
    self = build.unsqueeze(self, 0);
  Value image = build.build<aten::Col2imOp>(
      self, ArrayRef<int64_t>(call.integers("output_size")),
      ArrayRef<int64_t>(call.integers("kernel_size")),
      ArrayRef<int64_t>(call.integers("dilation")),
      ArrayRef<int64_t>(call.integers("padding")),
      ArrayRef<int64_t>(call.integers("stride")));
  return build.finish(build.view(image, result.getShape()));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static void addPads(OperatorTable &table) {
  table.add("pad(Tensor self, SymInt[] pad, str mode='constant', "
            "float? value=None) -> Tensor",
            translatePad);
  table.add("constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> "
            "Tensor",
            translateConstantPad);
  for (int dimensions : {1, 2, 3}) {
    auto add = [&](StringRef name, TranslateFunction translate) {
      table.add((name + "_pad" + Twine(dimensions) + "d(Tensor self, SymInt[" +
                 Twine(2 * dimensions) + "] padding) -> Tensor")
                    .str(),
                translate);
    };
    add("reflection", translateNamedPad<aten::PadMode::reflect>);
    add("replication", translateNamedPad<aten::PadMode::replicate>);
  }
}

void translation::addJoinOperators(OperatorTable &table) {
  for (StringRef name : {"cat", "concat", "concatenate"})
    table.add((name + "(Tensor[] tensors, int dim=0) -> Tensor").str(),
              translateCat);
  table.add("stack(Tensor[] tensors, int dim=0) -> Tensor", translateStack);
  table.add("hstack(Tensor[] tensors) -> Tensor", translateHorizontalStack);
  for (StringRef name : {"vstack", "row_stack"})
    table.add((name + "(Tensor[] tensors) -> Tensor").str(),
              translateNamedStack<2, 0>);
  table.add("dstack(Tensor[] tensors) -> Tensor", translateNamedStack<3, 2>);
  table.add("block_diag(Tensor[] tensors) -> Tensor", translateBlockDiagonal);
  table.add("cartesian_prod(Tensor[] tensors) -> Tensor",
            translateCartesianProduct);
  table.add("column_stack(Tensor[] tensors) -> Tensor", translateColumnStack);
  table.add("repeat(Tensor self, SymInt[] repeats) -> Tensor", translateRepeat);
  table.add("tile(Tensor self, SymInt[] dims) -> Tensor", translateTile);
  table.add("combinations(Tensor self, int r=2, bool with_replacement=False) "
            "-> Tensor",
            translateCombinations);
  table.add("repeat_interleave.self_Tensor(Tensor self, Tensor repeats, "
            "int? dim=None, *, SymInt? output_size=None) -> Tensor",
            translateRepeatEach);
  table.add("repeat_interleave.self_int(Tensor self, SymInt repeats, "
            "int? dim=None, *, SymInt? output_size=None) -> Tensor",
            translateRepeatInterleave);
  addPads(table);
  table.add("im2col(Tensor self, int[2] kernel_size, int[2] dilation, "
            "int[2] padding, int[2] stride) -> Tensor",
            translateIm2col);
  table.add("col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, "
            "int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
            translateCol2im);
}
