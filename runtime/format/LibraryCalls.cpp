//===- LibraryCalls.cpp - Which library calls there are -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One check for each library call, and the table that names them.
//===----------------------------------------------------------------------===//

#include "runtime/format/LibraryCallCheck.h"
#include "runtime/format/Operations.h"

#include <algorithm>
#include <limits>

namespace shardc::format {

using Shape = std::vector<int64_t>;

static constexpr std::initializer_list<Dtype> floats = {Dtype::F32, Dtype::BF16,
                                                        Dtype::F64};

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

using Sizes = std::span<const int64_t>;

static bool isContiguous(Sizes shape, Sizes strides) {
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != expected)
      return false;
    expected *= shape[i];
  }
  return true;
}

static bool isWhole(Dtype, Sizes shape, Sizes strides) {
  return isContiguous(shape, strides);
}

bool isChannelsLast(Sizes shape, Sizes strides) {
  if (shape.size() < 3 || (shape[1] != 1 && strides[1] != 1))
    return false;
  int64_t expected = shape[1];
  for (size_t i = shape.size(); i-- > 0;) {
    if (i == 1)
      continue;
    if (shape[i] != 1 && strides[i] != expected)
      return false;
    expected *= shape[i];
  }
  return true;
}

/// Those of a convolution in f64 are verified, not trained with.
static bool isImage(Dtype dtype, Sizes shape, Sizes strides) {
  return isContiguous(shape, strides) ||
         (dtype != Dtype::F64 && isChannelsLast(shape, strides));
}

/// Batch dimensions are free. A vector is contiguous.
static bool isMatrix(Dtype, Sizes shape, Sizes strides) {
  const size_t rank = shape.size();
  if (rank < 2)
    return isContiguous(shape, strides);
  const int64_t rows = shape[rank - 2], columns = shape[rank - 1];
  const int64_t rowStride = strides[rank - 2], columnStride = strides[rank - 1];
  const bool byRows = (columnStride == 1 || columns == 1) &&
                      (rowStride >= columns || rows == 1);
  const bool byColumns =
      (rowStride == 1 || rows == 1) && (columnStride >= rows || columns == 1);
  return byRows || byColumns;
}

/// Heads [B, H, T, D] and masks; log-sum-exp [B, H, T] as a whole.
static bool isAttention(Dtype, Sizes shape, Sizes strides) {
  if (shape.size() != 4)
    return isContiguous(shape, strides);
  return shape[3] == 1 || strides[3] == 1;
}

static constexpr LibraryLayout contiguous = {isWhole, "contiguous tensors"};
static constexpr LibraryLayout images = {
    isImage, "contiguous tensors or, but in f64, ones with channels last"};
static constexpr LibraryLayout matrices = {
    isMatrix, "matrices with rows or columns one element apart"};
static constexpr LibraryLayout heads = {
    isAttention, "tensors with a contiguous last dimension"};

//===----------------------------------------------------------------------===//
// One check a call
//===----------------------------------------------------------------------===//

static bool checkMatmulShapes(LibraryCallCheck &check, bool transposeA,
                              bool transposeB) {
  const TensorReference &a = check.operand(0), &b = check.operand(1);
  const size_t rank = a.shape.size();
  if (!check.require(rank >= 2, "operand 0 must have rank 2 or more") ||
      !check.require(b.shape.size() == 2 || b.shape.size() == rank,
                     "operand 1 must have rank 2 or that of operand 0") ||
      !check.rank(check.result(0), rank))
    return false;
  const Shape batch(a.shape.begin(), a.shape.end() - 2);
  if (b.shape.size() > 2 &&
      !check.require(Shape(b.shape.begin(), b.shape.end() - 2) == batch,
                     "operands have different batch dimensions"))
    return false;
  auto side = [](const TensorReference &tensor, bool last) {
    return tensor.shape[tensor.shape.size() - (last ? 1 : 2)];
  };
  const int64_t m = side(a, transposeA), n = side(b, !transposeB);
  Shape expected = batch;
  expected.insert(expected.end(), {m, n});
  if (check.operands() == 3 && !check.shape(check.operand(2), {n}))
    return false;
  return check.require(side(a, !transposeA) == side(b, transposeB),
                       "operands have different inner dimensions") &&
         check.shape(check.result(0), expected);
}

static void checkMatmul(LibraryCallCheck &check) {
  const Attributes &attributes = check.command.attributes;
  const std::string epilogue =
      attributeOr(attributes, "epilogue", std::string("none"));
  if (!check.require(epilogue == "none" || epilogue == "bias",
                     "unknown epilogue '" + epilogue + "'"))
    return;
  const size_t operands = epilogue == "bias" ? 3 : 2;
  if (!check.require(check.operands() == operands,
                     "expected " + std::to_string(operands) +
                         " operands with epilogue '" + epilogue + "'"))
    return;
  const TensorReference &a = check.operand(0), &b = check.operand(1);
  const TensorReference &c = check.result(0);
  if (!check.dtype(a, floats) || !check.dtype(b, {a.dtype}))
    return;
  if (a.dtype == Dtype::F64)
    check.dtype(c, {Dtype::F64});
  else
    check.dtype(c, {Dtype::F32, Dtype::BF16});
  if (operands == 3)
    check.dtype(check.operand(2), {a.dtype, c.dtype});
  if (!checkMatmulShapes(check, attributeOr(attributes, "transpose_a", false),
                         attributeOr(attributes, "transpose_b", false)))
    return;
  const size_t last = c.shape.size() - 1;
  check.require(c.strides.empty() || c.strides[last] == 1 || c.shape[last] == 1,
                "the result's rows must be contiguous");
}

/// Operands of one dtype; groups of `rows` end at `ends`.
static bool checkGroups(LibraryCallCheck &check, const TensorReference &ends,
                        const TensorReference &rows) {
  const TensorReference &result = check.result(0);
  return check.require(result.strides.empty() ||
                           isContiguous(result.shape, result.strides),
                       "the result must be contiguous") &&
         check.rank(rows, 2) && check.dtype(check.operand(0), floats) &&
         check.dtype(check.operand(1), {check.operand(0).dtype}) &&
         check.dtype(ends, {Dtype::I64}) && check.rank(ends, 1);
}

static void checkGroupedMm(LibraryCallCheck &check) {
  const TensorReference &rows = check.operand(0), &matrices = check.operand(1);
  const TensorReference &ends = check.operand(2);
  if (!checkGroups(check, ends, rows) || !check.rank(matrices, 3) ||
      !check.dtype(check.result(0), {rows.dtype}) ||
      !check.shape(matrices, {ends.shape[0], rows.shape[1], matrices.shape[2]}))
    return;
  check.shape(check.result(0), {rows.shape[0], matrices.shape[2]});
}

static void checkGroupedMmBackwardMat2(LibraryCallCheck &check) {
  const TensorReference &gradient = check.operand(0), &rows = check.operand(1);
  const TensorReference &ends = check.operand(2);
  if (!checkGroups(check, ends, rows) ||
      !check.shape(gradient, {rows.shape[0], gradient.shape.back()}))
    return;
  if (rows.dtype == Dtype::BF16)
    check.dtype(check.result(0), {Dtype::BF16, Dtype::F32});
  else
    check.dtype(check.result(0), {rows.dtype});
  check.shape(check.result(0),
              {ends.shape[0], rows.shape[1], gradient.shape[1]});
}

/// The shapes of out = convolution(input, weight) for all three calls.
static void checkConvolutionShapes(LibraryCallCheck &check,
                                   const TensorReference &input,
                                   const TensorReference &weight,
                                   const TensorReference &output) {
  if (!check.rank(input, 4) || !check.rank(weight, 4) ||
      !check.pair("stride", 1) || !check.pair("padding", 0) ||
      !check.pair("dilation", 1) || !check.attribute<int64_t>("groups"))
    return;
  const Attributes &attributes = check.command.attributes;
  const auto groups = attributeOr<int64_t>(attributes, "groups", 1);
  constexpr int64_t mostGroups = 1 << 14;
  if (!check.require(groups >= 1 && groups <= mostGroups &&
                         weight.shape[0] % groups == 0 &&
                         weight.shape[1] * groups == input.shape[1],
                     "channels do not fit the groups"))
    return;
  const Shape stride = attributeOr(attributes, "stride", Shape());
  const Shape padding = attributeOr(attributes, "padding", Shape());
  const Shape dilation = attributeOr(attributes, "dilation", Shape());
  Shape expected = {input.shape[0], weight.shape[0]};
  for (size_t i = 0; i < 2; ++i) {
    const int64_t reach = dilation[i] * (weight.shape[2 + i] - 1) + 1;
    const int64_t room = input.shape[2 + i] + 2 * padding[i] - reach;
    if (!check.require(room >= 0, "the window is larger than the input"))
      return;
    expected.push_back(room / stride[i] + 1);
  }
  check.shape(output, expected);
}

static void checkConvolution(LibraryCallCheck &check) {
  const TensorReference &input = check.operand(0), &weight = check.operand(1);
  if (!check.dtype(input, floats) || !check.dtype(weight, {input.dtype}) ||
      !check.dtype(check.result(0), {input.dtype}))
    return;
  if (check.operands() == 3 &&
      (!check.dtype(check.operand(2), {input.dtype}) ||
       !check.shape(check.operand(2), {weight.shape[0]})))
    return;
  checkConvolutionShapes(check, input, weight, check.result(0));
}

static void checkConvolutionBackwardInput(LibraryCallCheck &check) {
  if (!check.dtype(check.operand(0), floats) ||
      !check.dtype(check.operand(1), {check.operand(0).dtype}) ||
      !check.dtype(check.result(0), {check.operand(0).dtype}))
    return;
  checkConvolutionShapes(check, check.result(0), check.operand(1),
                         check.operand(0));
}

static void checkConvolutionBackwardWeight(LibraryCallCheck &check) {
  if (!check.dtype(check.operand(0), floats) ||
      !check.dtype(check.operand(1), {check.operand(0).dtype}))
    return;
  if (check.operand(0).dtype == Dtype::BF16)
    check.dtype(check.result(0), {Dtype::BF16, Dtype::F32});
  else
    check.dtype(check.result(0), {check.operand(0).dtype});
  checkConvolutionShapes(check, check.operand(1), check.result(0),
                         check.operand(0));
}

/// The tensors of attention in both directions; gradients are as what they are
/// of.
struct AttentionTensors {
  const TensorReference &query, &key, &value, &output, &logSumExp;
};

/// A mask broadcasts to the scores [B, H, T, S], to which it is added, so that
/// it has their dtype.
static bool checkAttentionMask(LibraryCallCheck &check,
                               const AttentionTensors &of,
                               const TensorReference &mask) {
  if (!check.rank(mask, 4) || !check.dtype(mask, {of.logSumExp.dtype}))
    return false;
  const Shape &q = of.query.shape;
  const Shape scores = {q[0], q[1], q[2], of.key.shape[2]};
  for (size_t i = 0; i < scores.size(); ++i)
    if (!check.require(mask.shape[i] == 1 || mask.shape[i] == scores[i],
                       "the mask does not broadcast to the scores"))
      return false;
  return true;
}

static bool checkAttentionShapes(LibraryCallCheck &check,
                                 const AttentionTensors &of) {
  if (!check.dtype(of.query, floats) || !check.attribute<bool>("is_causal") ||
      !check.require(check.command.attributes.contains("scale"),
                     "attribute 'scale' is missing") ||
      !check.rank(of.query, 4) || !check.rank(of.key, 4) ||
      !check.rank(of.value, 4))
    return false;
  const Shape &q = of.query.shape, &k = of.key.shape;
  const int64_t valueWidth = of.value.shape[3];
  const Dtype dtype = of.query.dtype;
  const Dtype wide = dtype == Dtype::F64 ? Dtype::F64 : Dtype::F32;
  return check.require(q[0] == k[0] && k[1] > 0 && q[1] % k[1] == 0 &&
                           q[3] == k[3] && q[3] > 0 && k[2] > 0 &&
                           valueWidth > 0,
                       "query and key have different dimensions") &&
         check.dtype(of.key, {dtype}) && check.dtype(of.value, {dtype}) &&
         check.dtype(of.output, {dtype}) &&
         check.shape(of.value, {k[0], k[1], k[2], valueWidth}) &&
         check.shape(of.output, {q[0], q[1], q[2], valueWidth}) &&
         check.dtype(of.logSumExp, {wide}) &&
         check.shape(of.logSumExp, {q[0], q[1], q[2]});
}

/// The operands from `first` on are seed, step and slice of the run.
static bool checkDropout(LibraryCallCheck &check, size_t first) {
  const double p = attributeOr(check.command.attributes, "dropout_p", 0.0);
  if (!check.require(p > 0 && p <= 1, "attribute 'dropout_p' must be above 0 "
                                      "and at most 1") ||
      !check.attribute<int64_t>("stream"))
    return false;
  for (size_t i = first; i < first + 3; ++i)
    if (!check.dtype(check.operand(i), {Dtype::I64}) ||
        !check.shape(check.operand(i), {}))
      return false;
  return true;
}

/// What may follow the first `count` operands: a mask, and the three numbers of
/// dropout. Returns whether there is a mask; nothing on failure.
static std::optional<bool> checkAttentionRest(LibraryCallCheck &check,
                                              const AttentionTensors &tensors,
                                              size_t count) {
  const size_t rest = check.operands() - count;
  const bool drops = rest >= 3, hasMask = rest % 3 == 1;
  if (!check.require(rest % 3 < 2, "expected a mask, or three numbers of the "
                                   "run for dropout, or both") ||
      !check.require(drops == check.command.attributes.contains("dropout_p"),
                     "attribute 'dropout_p' stands for three operands") ||
      (hasMask && !checkAttentionMask(check, tensors, check.operand(count))) ||
      (drops && !checkDropout(check, count + rest - 3)))
    return std::nullopt;
  return hasMask;
}

static void checkAttention(LibraryCallCheck &check) {
  const AttentionTensors tensors = {check.operand(0), check.operand(1),
                                    check.operand(2), check.result(0),
                                    check.result(1)};
  if (checkAttentionShapes(check, tensors))
    checkAttentionRest(check, tensors, 3);
}

static void checkAttentionBackward(LibraryCallCheck &check) {
  const AttentionTensors tensors = {check.operand(1), check.operand(2),
                                    check.operand(3), check.operand(4),
                                    check.operand(5)};
  if (!checkAttentionShapes(check, tensors))
    return;
  auto isLike = [&](const TensorReference &gradient,
                    const TensorReference &of) {
    return check.dtype(gradient, {of.dtype}) && check.shape(gradient, of.shape);
  };
  if (!isLike(check.operand(0), tensors.output) ||
      !isLike(check.result(0), tensors.query) ||
      !isLike(check.result(1), tensors.key) ||
      !isLike(check.result(2), tensors.value))
    return;
  const std::optional<bool> hasMask = checkAttentionRest(check, tensors, 6);
  if (hasMask && check.kind.results > 3 &&
      check.require(*hasMask, "expected a mask"))
    isLike(check.result(3), check.operand(6));
}

static void checkEmbeddingBackward(LibraryCallCheck &check) {
  if (!check.rank(check.result(0), 2) ||
      !check.dtype(check.operand(0), floats) ||
      !check.dtype(check.operand(1), {Dtype::I64}) ||
      !check.attribute<int64_t>("padding_idx"))
    return;
  if (check.operand(0).dtype == Dtype::BF16)
    check.dtype(check.result(0), {Dtype::BF16, Dtype::F32});
  else
    check.dtype(check.result(0), {check.operand(0).dtype});
  Shape expected = check.operand(1).shape;
  expected.push_back(check.result(0).shape[1]);
  check.shape(check.operand(0), expected);
  // What the gradient is added to.
  if (check.operands() == 3 &&
      check.dtype(check.operand(2), {check.result(0).dtype}))
    check.shape(check.operand(2), check.result(0).shape);
}

/// out = max_pool2d(input), for both directions.
static void checkPoolShapes(LibraryCallCheck &check,
                            const TensorReference &input,
                            const TensorReference &output,
                            const TensorReference &indices) {
  if (!check.rank(input, 4) || !check.dtype(input, floats) ||
      !check.dtype(output, {input.dtype}) ||
      !check.dtype(indices, {Dtype::I64}) || !check.pair("kernel", 1) ||
      !check.pair("stride", 1) || !check.pair("padding", 0) ||
      !check.pair("dilation", 1))
    return;
  const Attributes &attributes = check.command.attributes;
  const Shape kernel = attributeOr(attributes, "kernel", Shape());
  const Shape stride = attributeOr(attributes, "stride", Shape());
  const Shape padding = attributeOr(attributes, "padding", Shape());
  const Shape dilation = attributeOr(attributes, "dilation", Shape());
  Shape expected = {input.shape[0], input.shape[1]};
  for (size_t i = 0; i < 2; ++i) {
    const int64_t room =
        input.shape[2 + i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1;
    // A window that begins in the padding has its next position inside only if
    // that is not behind the end; one that does not is inside.
    const bool meets = padding[i] == 0 || dilation[i] <= input.shape[2 + i];
    if (!check.require(room >= 0 && 2 * padding[i] <= kernel[i] && meets,
                       "the window does not fit the input") ||
        !check.rank(output, 4))
      return;
    const int64_t whole = room / stride[i] + 1;
    // With ceil_mode a last window begins in the input and reaches behind it.
    const bool hasPart = output.shape[2 + i] == whole + 1 &&
                         room % stride[i] != 0 &&
                         whole * stride[i] < input.shape[2 + i] + padding[i];
    expected.push_back(hasPart ? whole + 1 : whole);
  }
  check.shape(output, expected);
  check.shape(indices, expected);
}

static void checkMaxPool(LibraryCallCheck &check) {
  checkPoolShapes(check, check.operand(0), check.result(0), check.result(1));
}

static void checkMaxPoolBackward(LibraryCallCheck &check) {
  checkPoolShapes(check, check.result(0), check.operand(0), check.operand(1));
}

/// The first k in order along the last dimension.
static void checkSort(LibraryCallCheck &check) {
  const TensorReference &input = check.operand(0), &values = check.result(0);
  if (!check.require(!input.shape.empty(), "operand 0 must have a dimension") ||
      !check.attribute<bool>("descending") ||
      !check.dtype(values, {input.dtype}) ||
      !check.dtype(check.result(1), {Dtype::I64}) ||
      !check.rank(values, input.shape.size()))
    return;
  Shape expected = input.shape;
  expected.back() = values.shape.back();
  if (check.require(expected.back() <= input.shape.back(),
                    "more results than elements") &&
      check.shape(values, expected))
    check.shape(check.result(1), expected);
}

static void checkSumOfSquares(LibraryCallCheck &check) {
  if (!check.dtype(check.result(0), {Dtype::F64}) ||
      !check.shape(check.result(0), {2}))
    return;
  for (const TensorReference &operand : check.command.operands)
    check.dtype(operand, {Dtype::F32, Dtype::F64, Dtype::BF16, Dtype::F16});
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static int64_t countMatmul(const Command &command) {
  const Shape &a = command.operands[0].shape;
  const bool transposed = attributeOr(command.attributes, "transpose_a", false);
  return productOperations(elementCount(command.operands.back().shape),
                           a[a.size() - (transposed ? 2 : 1)]);
}

/// Every row meets one matrix.
static int64_t countGroupedMm(const Command &command) {
  return productOperations(elementCount(command.operands[0].shape),
                           command.operands.back().shape.back());
}
static int64_t countGroupedMmBackwardMat2(const Command &command) {
  return productOperations(elementCount(command.operands[0].shape),
                           command.operands[1].shape[1]);
}

/// `output` and `weight` are those of the forward convolution.
static int64_t countConvolutionOf(const TensorReference &output,
                                  const TensorReference &weight) {
  return convolutionOperations(elementCount(output.shape),
                               elementCount(weight.shape), weight.shape[0]);
}
static int64_t countConvolution(const Command &command) {
  return countConvolutionOf(command.operands.back(), command.operands[1]);
}
static int64_t countConvolutionBackwardInput(const Command &command) {
  return countConvolutionOf(command.operands[0], command.operands[1]);
}
static int64_t countConvolutionBackwardWeight(const Command &command) {
  return countConvolutionOf(command.operands[0], command.operands.back());
}

static int64_t countAttentionOf(const Command &command, size_t query,
                                AttentionProducts products) {
  const Shape &q = command.operands[query].shape;
  const Shape &v = command.operands[query + 2].shape;
  return attentionOperations(q[0] * q[1], q[2], v[2], q[3], v[3], products);
}
static int64_t countAttention(const Command &command) {
  return countAttentionOf(command, 0, attentionForward);
}
static int64_t countAttentionBackward(const Command &command) {
  return countAttentionOf(command, 1, attentionBackward);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

std::span<const LibraryCallKind> libraryCallKinds() {
  constexpr size_t any = std::numeric_limits<size_t>::max();
  using Work = WorkKind;
  static constexpr LibraryCallKind kinds[] = {
      {"convolution", 2, 3, 1, images, false, checkConvolution, false,
       Work::Convolution, countConvolution},
      {"convolution_backward_input", 2, 2, 1, images, false,
       checkConvolutionBackwardInput, false, Work::Convolution,
       countConvolutionBackwardInput},
      {"convolution_backward_weight", 2, 2, 1, images, false,
       checkConvolutionBackwardWeight, false, Work::Convolution,
       countConvolutionBackwardWeight},
      {"embedding_dense_backward", 2, 3, 1, contiguous, false,
       checkEmbeddingBackward},
      {"grouped_mm", 3, 3, 1, matrices, false, checkGroupedMm, true,
       Work::Product, countGroupedMm},
      {"grouped_mm_backward_mat2", 3, 3, 1, matrices, false,
       checkGroupedMmBackwardMat2, true, Work::Product,
       countGroupedMmBackwardMat2},
      {"linalg_cholesky_ex", 1, 1, 2, contiguous, false, checkCholesky, true,
       Work::Factorization, countFactorization},
      {"linalg_eigh", 1, 1, 2, contiguous, false, checkEigh, true,
       Work::Factorization, countFactorization},
      {"linalg_lu_factor_ex", 1, 1, 4, contiguous, false, checkLuFactor, true,
       Work::Factorization, countFactorization},
      {"linalg_qr", 1, 1, 2, contiguous, false, checkQr, true,
       Work::Factorization, countFactorization},
      {"linalg_solve_triangular", 2, 2, 1, contiguous, false,
       checkSolveTriangular, true, Work::Factorization, countTriangularSolve},
      {"linalg_svd", 1, 1, 3, contiguous, false, checkSvd, true,
       Work::Factorization, countFactorization},
      {"matmul", 2, 3, 1, matrices, false, checkMatmul, false, Work::Product,
       countMatmul},
      {"max_pool2d", 1, 1, 2, images, false, checkMaxPool},
      {"max_pool2d_backward", 2, 2, 1, images, false, checkMaxPoolBackward},
      {"scaled_dot_product_attention", 3, 7, 2, heads, false, checkAttention,
       false, Work::Attention, countAttention},
      {"scaled_dot_product_attention_backward", 6, 10, 3, heads, false,
       checkAttentionBackward, false, Work::Attention, countAttentionBackward},
      {"scaled_dot_product_attention_backward_mask", 7, 10, 4, heads, false,
       checkAttentionBackward, false, Work::Attention, countAttentionBackward},
      {"sort", 1, 1, 2, contiguous, false, checkSort},
      {"sum_of_squares", 1, any, 1, contiguous, true, checkSumOfSquares, false,
       Work::Memory, nullptr, /*f64OperationsOfElement=*/8},
  };
  return kinds;
}

const LibraryCallKind *findLibraryCall(std::string_view name) {
  for (const LibraryCallKind &kind : libraryCallKinds())
    if (kind.name == name)
      return &kind;
  return nullptr;
}

bool isLibraryDtype(Dtype dtype) {
  return dtype == Dtype::I64 ||
         std::find(floats.begin(), floats.end(), dtype) != floats.end();
}

Status checkLibraryCall(const Command &command) {
  const LibraryCallKind *kind = findLibraryCall(command.callee);
  if (!kind)
    return Status(ErrorCode::E0309,
                  "unknown library call '" + command.callee + "'");
  LibraryCallCheck check(command, *kind);
  if (!check.counts())
    return check.status;
  kind->check(check);
  for (const TensorReference &tensor : command.operands)
    check.layout(tensor);
  return check.status;
}

} // namespace shardc::format
