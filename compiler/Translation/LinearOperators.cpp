//===- LinearOperators.cpp - Translation of matrix operators --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Linear layers, and the many names of a matrix product: all are `matmul` with
// views around it, which turn vectors into matrices with one row or column.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Decomposition.h"
#include "compiler/Translation/GradientHistory.h"
#include "compiler/Translation/OperatorTable.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

static LogicalResult translateLinear(NodeCall &call) {
  RankedTensorType weight = call.typeOf("weight"), result = call.resultType();
  if (!result)
    return call.error("E0136") << "the result's sizes are not supported";
  if (weight.getRank() == 1 || isa<ComplexType>(weight.getElementType()) ||
      weight.getNumElements() == 0 ||
      call.typeOf("input").getNumElements() == 0) {
    Decomposition build(call);
    Value columns = weight.getRank() == 1
                        ? build.unsqueeze(call.tensor("weight"), 1)
                        : build.transpose(call.tensor("weight"), 0, 1);
    Value input = call.tensor("input");
    if (call.typeOf("input").getRank() == 1)
      input = build.unsqueeze(input, 0);
    Value product = build.view(build.matmul(input, columns), result.getShape());
    if (!call.isNone("bias"))
      product = build.add(product, call.tensor("bias"));
    return build.finish(product);
  }
  return call.translate<aten::LinearOp>(
      call.tensor("input"), call.tensor("weight"), call.optionalTensor("bias"));
}

/// out[o] = sum over i, j of input1[i] * weight[o, i, j] * input2[j] + bias[o].
static LogicalResult translateBilinear(NodeCall &call) {
  RankedTensorType result = call.resultType();
  if (!result)
    return call.error("E0136") << "the result's sizes are not supported";
  Decomposition build(call);
  ArrayRef<int64_t> weight = call.typeOf("weight").getShape();
  if (weight.size() != 3)
    return call.unsupported("weight", "a tensor [out, in1, in2]");
  int64_t rows = result.getNumElements() / weight[0];
  Value left = build.view(call.tensor("input1"), {rows, weight[1]});
  Value right = build.view(call.tensor("input2"), {rows, 1, weight[2]});
  Value matrix = build.view(build.permute(call.tensor("weight"), {1, 0, 2}),
                            {weight[1], weight[0] * weight[2]});
  Value products =
      build.view(build.matmul(left, matrix), {rows, weight[0], weight[2]});
  Value sum =
      build.view(build.sum(build.mul(products, right), {2}), result.getShape());
  if (!call.isNone("bias"))
    sum = build.add(sum, call.tensor("bias"));
  return build.finish(sum);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// matmul of anything but scalars, in the shape that the export gives it.
static LogicalResult translateProduct(NodeCall &call, StringRef a,
                                      StringRef b) {
  Decomposition build(call);
  Value left = call.tensor(a), right = call.tensor(b);
  int64_t leftRank = Decomposition::typeOf(left).getRank();
  int64_t rightRank = Decomposition::typeOf(right).getRank();
  if (leftRank == 0 || rightRank == 0)
    return call.unsupported(leftRank ? b : a, "a vector or more");
  if (leftRank == 1)
    left = build.unsqueeze(left, 0);
  if (rightRank == 1)
    right = build.unsqueeze(right, 1);
  Value product = build.matmul(left, right);
  RankedTensorType type = call.resultType();
  return build.finish(type ? build.view(product, type.getShape()) : product);
}

static LogicalResult translateMatmul(NodeCall &call) {
  return translateProduct(call, "self", "other");
}
static LogicalResult translateMm(NodeCall &call) {
  return translateProduct(call, "self", "mat2");
}
static LogicalResult translateMv(NodeCall &call) {
  return translateProduct(call, "self", "vec");
}
static LogicalResult translateDot(NodeCall &call) {
  return translateProduct(call, "self", "tensor");
}

/// The sum over both tensors' last dimensions; a scalar multiplies.
static LogicalResult translateInner(NodeCall &call) {
  Decomposition build(call);
  Value self = call.tensor("self"), other = call.tensor("other");
  RankedTensorType left = call.typeOf("self"), right = call.typeOf("other");
  RankedTensorType result = call.resultType();
  if (left.getRank() == 0 || right.getRank() == 0 || !result)
    return build.finish(build.mul(self, other));
  int64_t size = left.getShape().back();
  if (size == 0)
    return call.unsupported("self", "a tensor with elements");
  Value product = build.matmul(
      build.view(self, {left.getNumElements() / size, size}),
      build.transpose(build.view(other, {right.getNumElements() / size, size}),
                      0, 1));
  return build.finish(build.view(product, result.getShape()));
}

static LogicalResult translateOuter(NodeCall &call) {
  Decomposition build(call);
  return build.finish(build.mul(build.unsqueeze(call.tensor("self"), 1),
                                build.unsqueeze(call.tensor("vec2"), 0)));
}

/// The dot product with the first vector conjugated, which a real one is.
static LogicalResult translateVdot(NodeCall &call) {
  Decomposition build(call);
  Value product =
      build.mul(build.conjugate(call.tensor("self")), call.tensor("other"));
  return build.finish(build.sum(product, {}));
}

/// The product of a list of matrices, of which the outer two may be vectors.
template <char list>
static LogicalResult translateChain(NodeCall &call) {
  Decomposition build(call);
  SmallVector<Value> tensors =
      call.tensors(list == 'm' ? "matrices" : "tensors");
  RankedTensorType type = call.resultType();
  if (tensors.empty() || !type)
    return call.unsupported("tensors", "at least one matrix");
  if (Decomposition::typeOf(tensors.front()).getRank() == 1)
    tensors.front() = build.unsqueeze(tensors.front(), 0);
  if (Decomposition::typeOf(tensors.back()).getRank() == 1)
    tensors.back() = build.unsqueeze(tensors.back(), 1);
  Value product = tensors.front();
  for (Value tensor : ArrayRef<Value>(tensors).drop_front())
    product = build.matmul(product, tensor);
  return build.finish(build.view(product, type.getShape()));
}

/// Every element of self times the whole of other: a product with each
/// dimension split in two.
static LogicalResult translateKronecker(NodeCall &call) {
  Decomposition build(call);
  RankedTensorType result = call.resultType();
  if (!result)
    return call.error("E0136") << "the result's sizes are not supported";
  auto interleave = [&](StringRef name, bool isOuter) {
    SmallVector<int64_t> shape;
    ArrayRef<int64_t> sizes = call.typeOf(name).getShape();
    for (int64_t i = 0; i < result.getRank(); ++i) {
      int64_t missing = result.getRank() - sizes.size();
      int64_t size = i < missing ? 1 : sizes[i - missing];
      shape.push_back(isOuter ? size : 1);
      shape.push_back(isOuter ? 1 : size);
    }
    return build.view(call.tensor(name), shape);
  };
  Value product =
      build.mul(interleave("self", true), interleave("other", false));
  return build.finish(build.view(product, result.getShape()));
}

/// The sum of a matrix's diagonal.
static LogicalResult translateTrace(NodeCall &call) {
  ArrayRef<int64_t> shape = call.typeOf("self").getShape();
  if (shape.size() != 2)
    return call.unsupported("self", "a matrix");
  Decomposition build(call);
  Value diagonal = build.build<aten::AsStridedOp>(
      call.tensor("self"), ArrayRef<int64_t>(std::min(shape[0], shape[1])),
      ArrayRef<int64_t>(shape[1] + 1), 0);
  return build.finish(build.sum(diagonal, {}));
}

/// The dimensions `dims` of `type`, counted from the front.
static SmallVector<int64_t> fromFront(ArrayRef<int64_t> dims,
                                      RankedTensorType type) {
  SmallVector<int64_t> result(dims);
  for (int64_t &dim : result)
    dim += dim < 0 ? type.getRank() : 0;
  return result;
}

/// `value` as a matrix with the dimensions `dims` for rows or columns.
static Value asMatrix(Decomposition &build, Value value, ArrayRef<int64_t> dims,
                      bool inRows) {
  ArrayRef<int64_t> shape = Decomposition::typeOf(value).getShape();
  SmallVector<int64_t> others;
  int64_t rows = 1, columns = 1;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    bool isListed = llvm::is_contained(dims, static_cast<int64_t>(dim));
    (isListed == inRows ? rows : columns) *= size;
    if (!isListed)
      others.push_back(dim);
  }
  SmallVector<int64_t> order(inRows ? dims : ArrayRef<int64_t>(others));
  llvm::append_range(order, inRows ? ArrayRef<int64_t>(others) : dims);
  return build.view(build.permute(value, order), {rows, columns});
}

static LogicalResult translateTensordot(NodeCall &call) {
  Decomposition build(call);
  RankedTensorType result = call.resultType();
  if (!result)
    return call.error("E0136") << "the result's sizes are not supported";
  SmallVector<int64_t> left =
      fromFront(call.integers("dims_self"), call.typeOf("self"));
  SmallVector<int64_t> right =
      fromFront(call.integers("dims_other"), call.typeOf("other"));
  Value self = call.tensor("self"), other = call.tensor("other");
  // A single element meets the sum over what it stands opposite.
  for (auto [i, j] : llvm::zip(left, right)) {
    int64_t rows = Decomposition::typeOf(self).getDimSize(i);
    int64_t columns = Decomposition::typeOf(other).getDimSize(j);
    if (rows != columns && columns == 1)
      self = build.sum(self, {i}, /*keepdim=*/true);
    else if (rows != columns && rows == 1)
      other = build.sum(other, {j}, /*keepdim=*/true);
  }
  Value product = build.matmul(asMatrix(build, self, left, false),
                               asMatrix(build, other, right, true));
  return build.finish(build.view(product, result.getShape()));
}

//===----------------------------------------------------------------------===//
// Products that are added
//===----------------------------------------------------------------------===//

/// beta * self + alpha * product. A beta of 0 ignores self, NaN included.
static LogicalResult addScaled(NodeCall &call, Value product) {
  Decomposition build(call);
  product = build.mul(product, call.scalar("alpha"));
  Value self = call.tensor("self");
  if (toDouble(call.scalar("beta")) != 0.0)
    product = build.add(build.mul(self, call.scalar("beta")), product);
  else if (product)
    product = connect(call.builder(), product, self);
  return build.finish(product);
}

static LogicalResult translateAddMatmul(NodeCall &call, StringRef a,
                                        StringRef b) {
  return addScaled(call,
                   Decomposition(call).matmul(call.tensor(a), call.tensor(b)));
}

static LogicalResult translateAddmm(NodeCall &call) {
  return translateAddMatmul(call, "mat1", "mat2");
}
static LogicalResult translateBaddbmm(NodeCall &call) {
  return translateAddMatmul(call, "batch1", "batch2");
}

/// addmm with the sum of a batch of products.
static LogicalResult translateAddbmm(NodeCall &call) {
  Decomposition build(call);
  Value product = build.matmul(call.tensor("batch1"), call.tensor("batch2"));
  return addScaled(call, build.sum(product, {0}));
}

static LogicalResult translateAddmv(NodeCall &call) {
  Decomposition build(call);
  Value product =
      build.matmul(call.tensor("mat"), build.unsqueeze(call.tensor("vec"), 1));
  if (!product)
    return failure();
  return addScaled(
      call,
      build.view(product, {Decomposition::typeOf(product).getDimSize(0)}));
}

static LogicalResult translateAddr(NodeCall &call) {
  Decomposition build(call);
  return addScaled(call, build.mul(build.unsqueeze(call.tensor("vec1"), 1),
                                   build.unsqueeze(call.tensor("vec2"), 0)));
}

//===----------------------------------------------------------------------===//
// Vectors along a dimension
//===----------------------------------------------------------------------===//

static LogicalResult translateVecdot(NodeCall &call) {
  Decomposition build(call);
  Value product =
      build.mul(build.conjugate(call.tensor("x")), call.tensor("y"));
  if (!product)
    return failure();
  FailureOr<int64_t> dim =
      call.dimension("dim", Decomposition::typeOf(product).getRank());
  return failed(dim) ? failure() : build.finish(build.sum(product, {*dim}));
}

/// The cross product along `dim`; without one, along the first of size 3.
static LogicalResult translateCross(NodeCall &call) {
  RankedTensorType type = call.resultType();
  if (!type)
    return call.error("E0136") << "the result's sizes are not supported";
  auto *three = llvm::find(type.getShape(), 3);
  int64_t dim = three - type.getShape().begin();
  if (!call.isNone("dim")) {
    FailureOr<int64_t> given = call.dimension("dim", type.getRank());
    if (failed(given))
      return failure();
    dim = *given;
  }
  if (dim >= type.getRank() || type.getDimSize(dim) != 3)
    return call.unsupported("dim", "a dimension of size 3");
  Decomposition build(call);
  Value self = build.expand(call.tensor("self"), type.getShape());
  Value other = build.expand(call.tensor("other"), type.getShape());
  auto rolled = [&](Value value, int64_t by) {
    return build.build<aten::RollOp>(value, ArrayRef<int64_t>{by},
                                     ArrayRef<int64_t>{dim});
  };
  return build.finish(build.sub(build.mul(rolled(self, 2), rolled(other, 1)),
                                build.mul(rolled(self, 1), rolled(other, 2))));
}

//===----------------------------------------------------------------------===//
// Products of groups
//===----------------------------------------------------------------------===//

static LogicalResult translateGroupedMm(NodeCall &call) {
  if (!call.isNone("bias"))
    return call.unsupported("bias", "None");
  Decomposition build(call);
  Value self = call.tensor("self"), mat2 = call.tensor("mat2");
  if (call.isNone("offs"))
    return build.finish(build.matmul(self, mat2));
  if (call.typeOf("self").getRank() != 2 || call.typeOf("mat2").getRank() != 3)
    return call.unsupported("offs", "offsets of the rows of self");
  return build.finish(
      build.build<aten::GroupedMmOp>(self, mat2, call.tensor("offs")));
}

static LogicalResult translateGroupedMmOfTransformers(NodeCall &call) {
  return call.translate<aten::GroupedMmOp>(
      call.tensor("input"), call.tensor("weight"), call.tensor("offs"));
}

static void addProducts(OperatorTable &table) {
  for (StringRef name : {"matmul", "linalg_matmul"})
    table.add((name + "(Tensor self, Tensor other) -> Tensor").str(),
              translateMatmul);
  table.add("mm(Tensor self, Tensor mat2) -> Tensor", translateMm);
  table.add("bmm(Tensor self, Tensor mat2) -> Tensor", translateMm);
  table.add("mv(Tensor self, Tensor vec) -> Tensor", translateMv);
  table.add("dot(Tensor self, Tensor tensor) -> Tensor", translateDot);
  table.add("vdot(Tensor self, Tensor other) -> Tensor", translateVdot);
  table.add("inner(Tensor self, Tensor other) -> Tensor", translateInner);
  table.add("kron(Tensor self, Tensor other) -> Tensor", translateKronecker);
  table.add("trace(Tensor self) -> Tensor", translateTrace);
  table.add("linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
            translateVecdot);
  table.add("cross(Tensor self, Tensor other, int? dim=None) -> Tensor",
            translateCross);
  table.add("linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
            translateCross);
  table.add("linalg_multi_dot(Tensor[] tensors) -> Tensor",
            translateChain<'t'>);
  table.add("chain_matmul(Tensor[] matrices) -> Tensor", translateChain<'m'>);
  table.add("outer(Tensor self, Tensor vec2) -> Tensor", translateOuter);
  table.add("ger(Tensor self, Tensor vec2) -> Tensor", translateOuter);
  table.add("tensordot(Tensor self, Tensor other, int[] dims_self, "
            "int[] dims_other) -> Tensor",
            translateTensordot);
}

/// Adds `name` and its in-place form.
static void addSum(OperatorTable &table, StringRef name, StringRef factors,
                   TranslateFunction translate) {
  std::string rest =
      (" self, " + factors + ", *, Scalar beta=1, Scalar alpha=1) -> Tensor")
          .str();
  table.add((name + "(Tensor" + rest).str(), translate);
  table.add((name + "_(Tensor(a!)" + rest + "(a!)").str(), translate);
}

void translation::addLinearOperators(OperatorTable &table) {
  table.add("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
            translateLinear);
  table.add("bilinear(Tensor input1, Tensor input2, Tensor weight, "
            "Tensor? bias=None) -> Tensor",
            translateBilinear);
  addProducts(table);
  addSum(table, "addmm", "Tensor mat1, Tensor mat2", translateAddmm);
  addSum(table, "baddbmm", "Tensor batch1, Tensor batch2", translateBaddbmm);
  addSum(table, "addbmm", "Tensor batch1, Tensor batch2", translateAddbmm);
  addSum(table, "addmv", "Tensor mat, Tensor vec", translateAddmv);
  addSum(table, "addr", "Tensor vec1, Tensor vec2", translateAddr);
  table.add("_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, "
            "Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor",
            translateGroupedMm);
  table.add("transformers::grouped_mm_fallback(Tensor input, Tensor weight, "
            "Tensor offs) -> Tensor",
            translateGroupedMmOfTransformers);
}
