//===- LibraryEvaluation.cpp - What a library call computes ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every result is linear in its operands (attention apart), so that the
// magnitude of a sum's terms is the same call on the operands' magnitudes.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/LibraryEvaluation.h"
#include "runtime/format/LibraryCalls.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/ModulePath.h"
#include "dialects/Reference/AttentionBounds.h"
#include "dialects/Reference/MatrixProduct.h"
#include "dialects/Reference/Philox.h"

#include "mlir/IR/Builders.h"

#include <cmath>

using namespace mlir;

namespace shardc::reference {

namespace {

/// One call in evaluation.
struct Call {
  const LibraryCallSite &site;
  ArrayRef<BoundedTensor> operands;
  const EvaluationTable &table;
  SmallVectorImpl<BoundedTensor> &results;

  const Tensor &tensor(unsigned operand) const {
    return operands[operand].tensor;
  }
  bool flag(StringRef name) const {
    auto setting = site.settings.getAs<BoolAttr>(name);
    return setting && setting.getValue();
  }
  /// The type that sums of the call are made in.
  FloatType accumulator() const {
    auto element = cast<FloatType>(tensor(0).getElementType());
    return element.isF64() ? element : Float32Type::get(element.getContext());
  }
};

using Evaluation = LogicalResult (*)(Call &);

} // namespace

static Tensor magnitudes(const Tensor &tensor) {
  if (!tensor.isFloat())
    return tensor;
  Tensor result = tensor;
  for (double &element : result.mutableFloats())
    element = std::abs(element);
  return result;
}

static SmallVector<Tensor> magnitudes(ArrayRef<BoundedTensor> operands) {
  return llvm::map_to_vector(operands, [](const BoundedTensor &operand) {
    return magnitudes(operand.tensor);
  });
}

/// `tensor` with the bound of sums of `terms` numbers whose magnitudes add up
/// to `sums`, and of the rounding to its element type.
static BoundedTensor boundSums(Tensor tensor, ArrayRef<double> sums,
                               int64_t terms, FloatType accumulator) {
  BoundedTensor result{std::move(tensor), {}};
  for (double magnitude : sums)
    // A product is rounded too, and a bias is one more term.
    result.bounds.push_back(summationBound(magnitude, terms + 2, accumulator));
  boundRounding(result);
  return result;
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

namespace {
/// C [batch, rows, columns] = A @ B + bias on row-major doubles.
struct Product {
  int64_t batch, rows, inner, columns;
  bool sharesB;

  std::vector<double> run(const Tensor &a, bool transposeA, const Tensor &b,
                          bool transposeB, const Tensor *bias) const {
    std::vector<double> result(batch * rows * columns);
    for (int64_t i = 0; i < batch; ++i) {
      double *target = result.data() + i * rows * columns;
      if (bias)
        for (int64_t row = 0; row < rows; ++row)
          llvm::copy(bias->floats(), target + row * columns);
      std::vector<double> left =
          matrix(a, i * rows * inner, rows, inner, transposeA);
      std::vector<double> right = matrix(b, sharesB ? 0 : i * inner * columns,
                                         inner, columns, transposeB);
      addProduct(target, left.data(), right.data(), rows, inner, columns);
    }
    return result;
  }

private:
  static std::vector<double> matrix(const Tensor &tensor, int64_t first,
                                    int64_t rows, int64_t columns,
                                    bool isTransposed) {
    const double *elements = tensor.floats().data() + first;
    if (isTransposed)
      return transposed(elements, columns, rows);
    return std::vector<double>(elements, elements + rows * columns);
  }
};
} // namespace

static LogicalResult evaluateMatmul(Call &call) {
  bool transposeA = call.flag("transpose_a");
  bool transposeB = call.flag("transpose_b");
  const Tensor &a = call.tensor(0), &b = call.tensor(1);
  Tensor result(call.site.results[0]);
  int64_t rank = result.getRank();
  Product product;
  product.rows = result.getDimSize(rank - 2);
  product.columns = result.getDimSize(rank - 1);
  product.inner = a.getDimSize(a.getRank() - (transposeA ? 2 : 1));
  product.batch = result.getNumElements() /
                  std::max<int64_t>(1, product.rows * product.columns);
  product.sharesB = b.getRank() == 2;
  const Tensor *bias = call.operands.size() > 2 ? &call.tensor(2) : nullptr;
  std::vector<double> sums = product.run(a, transposeA, b, transposeB, bias);
  llvm::copy(sums, result.mutableFloats().begin());
  result.round();
  SmallVector<Tensor> sizes = magnitudes(call.operands);
  call.results.push_back(
      boundSums(std::move(result),
                product.run(sizes[0], transposeA, sizes[1], transposeB,
                            bias ? &sizes[2] : nullptr),
                product.inner, call.accumulator()));
  return success();
}

/// The pair (high, low) whose exact sum the squares' is.
static LogicalResult evaluateSumOfSquares(Call &call) {
  // Neumaier's summation: of ten million squares, a plain sum loses more than
  // the call does.
  long double sum = 0, lost = 0;
  for (const BoundedTensor &operand : call.operands)
    for (double element : operand.tensor.floats()) {
      long double square = static_cast<long double>(element) * element;
      long double next = sum + square;
      lost += sum >= square ? (sum - next) + square : (square - next) + sum;
      sum = next;
    }
  sum += lost;
  BoundedTensor pair{Tensor(call.site.results[0]), {}};
  auto high = static_cast<double>(sum);
  pair.tensor.mutableFloats()[0] = high;
  if (std::isfinite(high)) // Infinities and NaN have no error.
    pair.tensor.mutableFloats()[1] =
        static_cast<double>(sum - static_cast<long double>(high));
  // The low part makes up for where the high part was rounded.
  Rounding rounding(Float64Type::get(call.site.settings.getContext()));
  pair.bounds.assign(2, rounding.spacing(high));
  call.results.push_back(std::move(pair));
  return success();
}

//===----------------------------------------------------------------------===//
// Calls that are an aten operator
//===----------------------------------------------------------------------===//

/// The aten operator that a call runs, on the tensors of a block's arguments.
static OwningOpRef<Operation *>
makeOperator(const Call &call, Block &block, StringRef name,
             ArrayRef<std::pair<StringRef, StringRef>> renamed,
             ArrayRef<int32_t> segments = {}) {
  OperationState state(call.site.op->getLoc(), name);
  if (!segments.empty())
    state.addAttribute(
        "operandSegmentSizes",
        DenseI32ArrayAttr::get(call.site.op->getContext(), segments));
  for (const BoundedTensor &operand : call.operands)
    state.operands.push_back(
        block.addArgument(operand.tensor.getType(), call.site.op->getLoc()));
  for (NamedAttribute setting : call.site.settings) {
    StringRef key = setting.getName();
    for (auto [from, to] : renamed)
      key = key == from ? to : key;
    state.addAttribute(key, setting.getValue());
  }
  for (RankedTensorType type : call.site.results)
    state.types.push_back(type);
  return OwningOpRef<Operation *>(Operation::create(state));
}

/// Runs the operator twice: for its results, and on magnitudes for the bounds
/// of its first, whose elements are sums of at most `terms` products.
static LogicalResult
evaluateLinear(Call &call, StringRef name, int64_t terms,
               ArrayRef<std::pair<StringRef, StringRef>> renamed = {}) {
  Block block;
  OwningOpRef<Operation *> op = makeOperator(call, block, name, renamed);
  SmallVector<Tensor> inputs, values, sizes;
  for (const BoundedTensor &operand : call.operands)
    inputs.push_back(operand.tensor);
  if (failed(call.table.evaluate(*op, inputs, values)) ||
      failed(call.table.evaluate(*op, magnitudes(call.operands), sizes)))
    return failure();
  call.results.push_back(
      boundSums(values[0], sizes[0].floats(), terms, call.accumulator()));
  for (const Tensor &value : ArrayRef(values).drop_front())
    call.results.push_back({value, {}});
  return success();
}

static int64_t elementsPerRow(const Tensor &tensor) {
  return tensor.getNumElements() / std::max<int64_t>(1, tensor.getDimSize(0));
}

static LogicalResult evaluateConvolution(Call &call) {
  return evaluateLinear(call, aten::ConvolutionOp::getOperationName(),
                        elementsPerRow(call.tensor(1)));
}

static LogicalResult evaluateConvolutionBackwardInput(Call &call) {
  // Every weight of a channel meets an element of the input at most once.
  const Tensor &weight = call.tensor(1);
  return evaluateLinear(
      call, aten::ConvolutionBackwardInputOp::getOperationName(),
      weight.getNumElements() / std::max<int64_t>(1, weight.getDimSize(1)));
}

static LogicalResult evaluateConvolutionBackwardWeight(Call &call) {
  const Tensor &gradient = call.tensor(0);
  return evaluateLinear(
      call, aten::ConvolutionBackwardWeightOp::getOperationName(),
      gradient.getNumElements() / std::max<int64_t>(1, gradient.getDimSize(1)));
}

/// A third operand is what the gradient is added to.
static LogicalResult evaluateEmbeddingBackward(Call &call) {
  Call gradient = {call.site, call.operands.take_front(2), call.table,
                   call.results};
  if (failed(evaluateLinear(gradient,
                            aten::EmbeddingBackwardOp::getOperationName(),
                            call.tensor(1).getNumElements())))
    return failure();
  if (call.operands.size() == 2)
    return success();
  BoundedTensor &sum = call.results.back();
  for (auto [element, addend] :
       llvm::zip_equal(sum.tensor.mutableFloats(), call.tensor(2).floats()))
    element += addend;
  sum.tensor.round();
  boundRounding(sum);
  return success();
}

static LogicalResult evaluateGroupedMm(Call &call) {
  return evaluateLinear(call, aten::GroupedMmOp::getOperationName(),
                        call.tensor(0).getDimSize(1));
}

static LogicalResult evaluateGroupedMmBackwardMat2(Call &call) {
  return evaluateLinear(call, aten::GroupedMmBackwardMat2Op::getOperationName(),
                        call.tensor(0).getDimSize(0));
}

static LogicalResult evaluateMaxPool2dBackward(Call &call) {
  int64_t window = 1;
  for (int64_t size :
       call.site.settings.getAs<DenseI64ArrayAttr>("kernel").asArrayRef())
    window *= size;
  return evaluateLinear(call, aten::MaxPool2dBackwardOp::getOperationName(),
                        window, {{"kernel", "kernel_size"}});
}

/// A choice among elements, not a sum.
static LogicalResult evaluateMaxPool2d(Call &call) {
  Block block;
  OwningOpRef<Operation *> op =
      makeOperator(call, block, aten::MaxPool2dOp::getOperationName(),
                   {{"kernel", "kernel_size"}});
  SmallVector<Tensor> values;
  if (failed(call.table.evaluate(*op, {call.tensor(0)}, values)))
    return failure();
  for (const Tensor &value : values)
    call.results.push_back({value, {}});
  return success();
}

/// Of the same name. Both sides run one function in double, and round once.
static LogicalResult evaluateMatrices(Call &call) {
  Block block;
  OwningOpRef<Operation *> op =
      makeOperator(call, block, ("aten." + call.site.call).str(), {});
  SmallVector<Tensor> inputs, values;
  for (const BoundedTensor &operand : call.operands)
    inputs.push_back(operand.tensor);
  if (failed(call.table.evaluate(*op, inputs, values)))
    return failure();
  for (const Tensor &value : values)
    call.results.push_back({value, {}});
  return success();
}

/// An order of elements, of which the first are kept.
static LogicalResult evaluateSort(Call &call) {
  const Tensor &self = call.tensor(0);
  auto type = cast<RankedTensorType>(call.site.results[0]);
  MLIRContext *context = type.getContext();
  OpBuilder builder(context);
  Location location = builder.getUnknownLoc();
  Block block;
  OwningOpRef<aten::TopkOp> op = aten::TopkOp::create(
      builder, location, type, call.site.results[1],
      block.addArgument(self.getType(), location), type.getShape().back(),
      type.getRank() - 1, /*largest=*/call.flag("descending"));
  SmallVector<Tensor> values;
  if (failed(call.table.evaluate(*op, {self}, values)))
    return failure();
  for (const Tensor &value : values)
    call.results.push_back({value, {}});
  return success();
}

template <typename Op>
static LogicalResult evaluateAttentionOf(
    Call &call,
    std::vector<std::vector<double>> (*bounds)(const AttentionProblem &)) {
  SmallVector<Tensor> inputs, values;
  for (const BoundedTensor &operand : call.operands)
    inputs.push_back(operand.tensor);
  auto p = call.site.settings.getAs<FloatAttr>("dropout_p");
  constexpr bool isForward =
      std::is_same_v<Op, aten::ScaledDotProductAttentionOp>;
  ArrayRef<Tensor> tensors = ArrayRef(inputs).drop_back(p ? 3 : 0);
  SmallVector<int32_t> segments(isForward ? 3 : 6, 1);
  segments.push_back(tensors.size() > segments.size() ? 1 : 0);
  segments.push_back(p ? 3 : 0);
  Block block;
  OwningOpRef<Operation *> op =
      makeOperator(call, block, Op::getOperationName(), {}, segments);
  if (failed(call.table.evaluate(*op, inputs, values)))
    return failure();
  AttentionProblem problem;
  problem.tensors = tensors;
  if (p) {
    const Tensor &query = inputs[isForward ? 0 : 1];
    const Tensor &key = inputs[isForward ? 1 : 2];
    problem.dropout =
        dropoutFactors(p.getValueAsDouble(),
                       call.site.settings.getAs<IntegerAttr>("stream").getInt(),
                       ArrayRef(inputs).take_back(3),
                       query.getDimSize(0) * query.getDimSize(1) *
                           query.getDimSize(2) * key.getDimSize(2),
                       query.getElementType().isF64());
  }
  problem.isCausal = call.flag("is_causal");
  problem.scale =
      call.site.settings.getAs<FloatAttr>("scale").getValueAsDouble();
  problem.unit = unitRoundoff(call.accumulator());
  // The last bound is that of a mask's gradient, which not every call has.
  for (auto [value, bound] : llvm::zip_first(values, bounds(problem))) {
    BoundedTensor result{value, bound};
    boundRounding(result);
    call.results.push_back(std::move(result));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The calls
//===----------------------------------------------------------------------===//

static LogicalResult evaluateAttention(Call &site) {
  return evaluateAttentionOf<aten::ScaledDotProductAttentionOp>(site,
                                                                boundAttention);
}
static LogicalResult evaluateAttentionBackward(Call &site) {
  return evaluateAttentionOf<aten::ScaledDotProductAttentionBackwardOp>(
      site, boundAttentionBackward);
}
static constexpr Evaluation evaluateAttentionBackwardMask =
    evaluateAttentionBackward;

static constexpr Evaluation evaluateLinalgCholeskyEx = evaluateMatrices,
                            evaluateLinalgEigh = evaluateMatrices,
                            evaluateLinalgLuFactorEx = evaluateMatrices,
                            evaluateLinalgQr = evaluateMatrices,
                            evaluateLinalgSolveTriangular = evaluateMatrices,
                            evaluateLinalgSvd = evaluateMatrices;

static Evaluation lookupEvaluation(StringRef call) {
  static constexpr Evaluation evaluations[] = {
#define SHARDC_LIBRARY_CALL(id, name) evaluate##id,
#include "runtime/format/LibraryCalls.def"
  };
  const format::LibraryCallKind *kind = format::findLibraryCall(call);
  return kind ? evaluations[static_cast<size_t>(kind->id)] : nullptr;
}

LogicalResult evaluateLibraryCall(const LibraryCallSite &site,
                                  ArrayRef<BoundedTensor> operands,
                                  const EvaluationTable &table,
                                  SmallVectorImpl<BoundedTensor> &results) {
  Evaluation evaluation = lookupEvaluation(site.call);
  if (!evaluation) {
    emitNumberedError(site.op, "E0142")
        << "the reference interpreter has no meaning for the library call '"
        << site.call << "'";
    return failure();
  }
  Call call{site, operands, table, results};
  return evaluation(call);
}

} // namespace shardc::reference
