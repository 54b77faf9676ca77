//===- SelectLibraries.cpp - Operators that an engine runs ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   aten.linear %x, %w, %b  ->  %a = aten.view %x [rows, in]
//                               %c = exec.library "matmul" (%a, %w, %b)
//                               %y = aten.view %c [*, out]
//
// One function an operator; the calls and their settings are those of
// docs/Format.md. Collapsing views are left to materialize-views, conversions
// of operands to form-kernels.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Exec/Dtype.h"
#include "dialects/Exec/Exec.h"
#include "dialects/Fsdp/Fsdp.h"
#include "passes/Kernel/TargetOf.h"
#include "runtime/format/LibraryCalls.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

#include <array>
#include <limits>

#define DEBUG_TYPE "shardc-select-libraries"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_SELECTLIBRARIESPASS
#include "passes/Kernel/Passes.h.inc"

using format::CallId;
using format::nameOf;

namespace {
struct SelectLibrariesPass
    : impl::SelectLibrariesPassBase<SelectLibrariesPass> {
  void runOnOperation() override;
};

/// Builds the call that replaces one operator, before it.
class CallBuilder {
public:
  CallBuilder(Operation *op, StringRef name)
      : builder(op), op(op), name(name) {}

  /// `value` as a matrix: all dimensions but the last collapsed.
  CallBuilder &matrix(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getRank() != 2) {
      int64_t columns = type.getShape().back();
      int64_t rows = type.getNumElements() / columns;
      value = view(value, {rows, columns});
    }
    operands.push_back(value);
    return *this;
  }

  CallBuilder &operand(Value value) {
    if (value)
      operands.push_back(value);
    return *this;
  }

  CallBuilder &setting(StringRef key, Attribute value) {
    settings.push_back(builder.getNamedAttr(key, value));
    return *this;
  }
  CallBuilder &setting(StringRef key, bool value) {
    return setting(key, builder.getBoolAttr(value));
  }

  /// Replaces the operator by the call with results of the operator's types.
  void replace() {
    op->replaceAllUsesWith(create(op->getResultTypes()).getResults());
    op->erase();
  }

  /// As above for one result that the call computes as a matrix.
  void replaceByMatrix() {
    auto type = cast<RankedTensorType>(op->getResultTypes().front());
    int64_t columns = type.getShape().back();
    int64_t rows = type.getNumElements() / columns;
    Value result = create(type.clone({rows, columns})).getResult(0);
    if (type.getRank() != 2)
      result = view(result, type.getShape());
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }

  exec::LibraryOp create(TypeRange types) {
    SmallVector<Attribute> orders(types.size(),
                                  builder.getDenseI64ArrayAttr({}));
    return exec::LibraryOp::create(builder, op->getLoc(), types,
                                   builder.getStringAttr(name),
                                   builder.getDictionaryAttr(settings),
                                   builder.getArrayAttr(orders), operands);
  }

private:
  Value view(Value value, ArrayRef<int64_t> size) {
    return aten::ViewOp::create(builder, op->getLoc(), value, size);
  }

  OpBuilder builder;
  Operation *op;
  StringRef name;
  SmallVector<Value> operands;
  SmallVector<NamedAttribute> settings;
};

/// Makes the library's masks of attention's: numbers [B, H, T, S], with sizes
/// of 1 where the mask broadcasts, that are added to the scores. One that many
/// layers have is made once for all in forward, and once in backward.
class MaskMaker {
public:
  /// `mask` of `op` with the elements of its log-sum-exp.
  Value make(Operation *op, Value mask, Type element);

private:
  llvm::DenseMap<std::pair<Value, Type>, Value> masks;
};
} // namespace

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

static void selectMatmul(Operation *op, Value a, bool transposeA, Value b,
                         bool transposeB, Value bias) {
  OpBuilder builder(op);
  CallBuilder(op, nameOf(CallId::Matmul))
      .matrix(a)
      .matrix(b)
      .operand(bias)
      .setting("transpose_a", transposeA)
      .setting("transpose_b", transposeB)
      .setting("epilogue", builder.getStringAttr(bias ? "bias" : "none"))
      .replaceByMatrix();
}

/// A product of two batches of as many matrices each.
static void selectBatches(aten::MatmulOp op) {
  OpBuilder builder(op);
  CallBuilder(op, nameOf(CallId::Matmul))
      .operand(op.getSelf())
      .operand(op.getOther())
      .setting("transpose_a", false)
      .setting("transpose_b", false)
      .setting("epilogue", builder.getStringAttr("none"))
      .replace();
}

/// Whether a processor's library computes each of a batch of products faster
/// than a loop nest, which needs no call and may be fused. On a GPU always:
/// only its library uses tensor cores.
static bool isWorthCall(RankedTensorType self, RankedTensorType other,
                        const Target &target) {
  constexpr int64_t minExtent = 8, minMultiplications = 8192;
  const int64_t rank = self.getRank();
  const std::array<int64_t, 3> extents = {self.getDimSize(rank - 2),
                                          self.getDimSize(rank - 1),
                                          other.getDimSize(rank - 1)};
  return target.compiler == Compiler::Cuda ||
         (*llvm::min_element(extents) >= minExtent &&
          extents[0] * extents[1] * extents[2] >= minMultiplications);
}

static void selectProduct(aten::MatmulOp op, const Target &target) {
  auto self = cast<RankedTensorType>(op.getSelf().getType());
  auto other = cast<RankedTensorType>(op.getOther().getType());
  if (!isa<FloatType>(other.getElementType()))
    return;
  if (other.getRank() == 2)
    return selectMatmul(op, op.getSelf(), false, op.getOther(), false, Value());
  if (self.getRank() == other.getRank() && self.getRank() > 2 &&
      self.getShape().drop_back(2) == other.getShape().drop_back(2) &&
      isWorthCall(self, other, target))
    selectBatches(op);
}

static void selectLinear(aten::LinearOp op) {
  selectMatmul(op, op.getInput(), false, op.getWeight(), true, op.getBias());
}

static void selectLinearInput(aten::LinearBackwardInputOp op) {
  selectMatmul(op, op.getGradOutput(), false, op.getWeight(), false, Value());
}

static void selectLinearWeight(aten::LinearBackwardWeightOp op) {
  selectMatmul(op, op.getGradOutput(), true, op.getInput(), false, Value());
}

//===----------------------------------------------------------------------===//
// Convolutions and pooling
//===----------------------------------------------------------------------===//

/// A transposed convolution is the gradient of an input.
static StringRef convolutionCall(aten::ConvolutionOp op) {
  return op.getTransposed() ? nameOf(CallId::ConvolutionBackwardInput)
                            : nameOf(CallId::Convolution);
}

template <typename OpTy>
static void selectConvolution(OpTy op, StringRef name) {
  CallBuilder call(op, name);
  for (Value operand : op->getOperands())
    call.operand(operand);
  call.setting("stride", op.getStrideAttr())
      .setting("padding", op.getPaddingAttr())
      .setting("dilation", op.getDilationAttr())
      .setting("groups", op.getGroupsAttr())
      .replace();
}

template <typename OpTy>
static void selectMaxPool(OpTy op, StringRef name) {
  CallBuilder call(op, name);
  for (Value operand : op->getOperands())
    call.operand(operand);
  call.setting("kernel", op.getKernelSizeAttr())
      .setting("stride", op.getStrideAttr())
      .setting("padding", op.getPaddingAttr())
      .setting("dilation", op.getDilationAttr())
      .replace();
}

//===----------------------------------------------------------------------===//
// Attention and embeddings
//===----------------------------------------------------------------------===//

/// A mask's shape as one of four dimensions.
static SmallVector<int64_t> maskShape(RankedTensorType type) {
  SmallVector<int64_t> shape(4 - type.getRank(), 1);
  llvm::append_range(shape, type.getShape());
  return shape;
}

Value MaskMaker::make(Operation *op, Value mask, Type element) {
  Value &made = masks[{mask, element}];
  if (made)
    return made;
  OpBuilder builder(op);
  Location location = op->getLoc();
  auto type = cast<RankedTensorType>(mask.getType());
  made = mask;
  if (type.getElementType().isInteger(1)) {
    auto scalar = RankedTensorType::get({}, element);
    auto constant = [&](double value) {
      return aten::ConstantOp::create(
          builder, location,
          DenseElementsAttr::get(scalar, builder.getFloatAttr(element, value)));
    };
    Value seen = constant(0);
    Value unseen = constant(-std::numeric_limits<double>::infinity());
    made = aten::WhereOp::create(builder, location, mask, seen, unseen);
  } else if (type.getElementType() != element) {
    made = aten::ToOp::create(builder, location, mask, TypeAttr::get(element));
  }
  if (type.getRank() != 4)
    made = aten::ViewOp::create(builder, location, made, maskShape(type));
  return made;
}

/// The mask of attention, in either direction, or null.
static Value maskOf(Operation *op) {
  if (auto attention = dyn_cast<aten::ScaledDotProductAttentionOp>(op))
    return attention.getAttnMask();
  if (auto backward = dyn_cast<aten::ScaledDotProductAttentionBackwardOp>(op))
    return backward.getAttnMask();
  return Value();
}

/// What broadcasts to `mask`, which broadcasts just as well.
static Value withoutExpansion(Value mask) {
  while (auto expand = mask.getDefiningOp<aten::ExpandOp>())
    mask = expand.getSelf();
  return mask;
}

template <typename OpTy>
static CallBuilder beginAttention(OpTy op, StringRef name, MaskMaker &masks,
                                  bool keepsShape) {
  CallBuilder call(op, name);
  Value mask = op.getAttnMask();
  for (Value operand :
       op->getOperands().drop_back((mask ? 1 : 0) + op.getRun().size()))
    call.operand(operand);
  if (mask)
    call.operand(masks.make(op, keepsShape ? mask : withoutExpansion(mask),
                            getElementTypeOrSelf(op.getLogSumExp().getType())));
  call.setting("is_causal", op.getIsCausalAttr())
      .setting("scale", op.getScaleAttr());
  if (op.getRun().empty())
    return call;
  for (Value number : op.getRun())
    call.operand(number);
  call.setting("dropout_p", op.getDropoutPAttr())
      .setting("stream", op.getStreamAttr());
  return call;
}

static void selectAttention(aten::ScaledDotProductAttentionOp op,
                            StringRef name, MaskMaker &masks) {
  beginAttention(op, name, masks, /*keepsShape=*/false).replace();
}

/// The gradient of a mask has the shape and the elements of the library's mask.
static void
selectAttentionBackward(aten::ScaledDotProductAttentionBackwardOp op,
                        StringRef name, MaskMaker &masks) {
  Value gradient = op.getGradMask();
  CallBuilder call = beginAttention(op, name, masks, gradient != nullptr);
  if (!gradient)
    return call.replace();
  auto type = cast<RankedTensorType>(gradient.getType());
  Type element = getElementTypeOrSelf(op.getLogSumExp().getType());
  SmallVector<Type> types(op->getResultTypes());
  types.back() = RankedTensorType::get(maskShape(type), element);
  exec::LibraryOp made = call.create(types);
  SmallVector<Value> results(made.getResults());
  OpBuilder builder(op);
  if (type.getRank() != 4)
    results.back() = aten::ViewOp::create(builder, op.getLoc(), results.back(),
                                          type.getShape());
  if (type.getElementType() != element)
    results.back() = aten::ToOp::create(builder, op.getLoc(), results.back(),
                                        TypeAttr::get(type.getElementType()));
  op->replaceAllUsesWith(results);
  op->erase();
}

/// The library's integers are i64.
static void widenIntegers(Operation *op) {
  OpBuilder builder(op);
  Type wide = builder.getI64Type();
  for (OpOperand &operand : op->getOpOperands())
    if (Type element = getElementTypeOrSelf(operand.get().getType());
        element.isInteger() && element != wide)
      operand.set(aten::ToOp::create(builder, op->getLoc(), operand.get(),
                                     TypeAttr::get(wide)));
}

static void selectEmbedding(aten::EmbeddingBackwardOp op) {
  CallBuilder(op, nameOf(CallId::EmbeddingBackward))
      .operand(op.getGradOutput())
      .operand(op.getIndices())
      .setting("padding_idx", op.getPaddingIdxAttr())
      .replace();
}

/// The call that makes `gradient`, if it is an embedding's gradient that
/// nothing else uses, that is added to nothing yet, and that is computed after
/// `addend`, which is in memory because a call makes it, too.
static exec::LibraryOp findEmbedding(Value gradient, Value addend) {
  auto call = gradient.getDefiningOp<exec::LibraryOp>();
  auto other = addend.getDefiningOp<exec::LibraryOp>();
  return call && other && other->isBeforeInBlock(call) &&
                 call.getCall() ==
                     StringRef(nameOf(CallId::EmbeddingBackward)) &&
                 call.getInputs().size() == 2 && gradient.hasOneUse() &&
                 gradient.getType() == addend.getType()
             ? call
             : exec::LibraryOp();
}

/// Most rows of a table are of no token: adding the gradient in the call that
/// makes it, as where an embedding is tied to the last layer, moves half as
/// many bytes, and the gradient has no memory of its own. Nothing is computed
/// earlier or later for that.
static void addInEmbedding(aten::AddOp add) {
  Value addend = add.getOther(), gradient = add.getSelf();
  exec::LibraryOp call = findEmbedding(gradient, addend);
  if (!call) {
    std::swap(addend, gradient);
    call = findEmbedding(gradient, addend);
  }
  if (!call || add.getType() != gradient.getType())
    return;
  exec::LibraryOp sum =
      CallBuilder(call, call.getCall())
          .operand(call.getInputs()[0])
          .operand(call.getInputs()[1])
          .operand(addend)
          .setting("padding_idx", call.getSettings().get("padding_idx"))
          .create(add.getType());
  add.replaceAllUsesWith(sum.getResult(0));
  add.erase();
  call.erase();
}

/// `tensor` with dimension `dim` and the last one exchanged.
static Value exchangeWithLast(OpBuilder &builder, Location location,
                              Value tensor, int64_t dim) {
  auto type = cast<RankedTensorType>(tensor.getType());
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  std::swap(order[dim], order.back());
  return aten::PermuteOp::create(builder, location, tensor, order);
}

/// Rows are along the last dimension.
template <typename Op>
static void selectSort(Op op, int64_t dim, bool isDescending) {
  OpBuilder builder(op);
  if (cast<RankedTensorType>(op.getSelf().getType()).getRank() == 0) {
    op.getValues().replaceAllUsesWith(op.getSelf());
    op.getIndices().replaceAllUsesWith(aten::ConstantOp::create(
        builder, op.getLoc(),
        cast<ElementsAttr>(builder.getZeroAttr(op.getIndices().getType()))));
    op->erase();
    return;
  }
  Value rows = exchangeWithLast(builder, op.getLoc(), op.getSelf(), dim);
  SmallVector<Type> types;
  for (Type type : op->getResultTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(tensor.getShape());
    std::swap(shape[dim], shape.back());
    types.push_back(tensor.clone(shape));
  }
  ArrayAttr orders = builder.getArrayAttr(
      SmallVector<Attribute>(types.size(), builder.getDenseI64ArrayAttr({})));
  auto call = exec::LibraryOp::create(
      builder, op.getLoc(), types, nameOf(CallId::Sort),
      builder.getDictionaryAttr(builder.getNamedAttr(
          "descending", builder.getBoolAttr(isDescending))),
      orders, rows);
  for (auto [old, sorted] :
       llvm::zip_equal(op->getResults(), call.getResults()))
    old.replaceAllUsesWith(exchangeWithLast(builder, op.getLoc(), sorted, dim));
  op->erase();
}

/// The call has the operator's operands and attributes.
static void selectByName(Operation *op, StringRef name) {
  CallBuilder call(op, name);
  for (Value operand : op->getOperands())
    call.operand(operand);
  for (StringAttr attribute : op->getName().getAttributeNames())
    call.setting(attribute, op->getAttr(attribute));
  call.replace();
}

/// Whether the target has the library call `name`.
static bool hasCall(const Target &target, StringRef name) {
  const format::LibraryCallKind *kind = format::findLibraryCall(name);
  return target.hasLibraryCall(name) && kind &&
         !(isForProcessors(kind->id) && target.compiler == Compiler::Cuda);
}

/// Whether a library computes this form of `op` in these types. What it does
/// not compute is left, and require-kernels says so.
static bool isAccepted(Operation *op) {
  auto differentiable = dyn_cast<aten::DifferentiableOpInterface>(op);
  if (differentiable && !differentiable.describeUnsupportedForm().empty())
    return false;
  auto composition = dyn_cast<aten::DecomposableOpInterface>(op);
  if (composition && composition.isComposition())
    return false;
  // Masks are made the library's.
  Value mask = maskOf(op);
  auto isTensor = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getNumElements() != 0 &&
           ((mask && type == mask.getType()) ||
            tensor.getElementType().isF16() ||
            exec::isLibraryElement(tensor.getElementType()));
  };
  return llvm::all_of(op->getOperandTypes(), isTensor) &&
         llvm::all_of(op->getResultTypes(), isTensor);
}

/// The call that computes operators of this kind; empty for none.
static StringRef callOf(Operation *op) {
  using namespace aten;
  return TypeSwitch<Operation *, StringRef>(op)
      .Case<MatmulOp, LinearOp, LinearBackwardInputOp, LinearBackwardWeightOp>(
          [](auto) { return nameOf(CallId::Matmul); })
      .Case(convolutionCall)
      .Case([](ConvolutionBackwardInputOp) {
        return nameOf(CallId::ConvolutionBackwardInput);
      })
      .Case([](ConvolutionBackwardWeightOp) {
        return nameOf(CallId::ConvolutionBackwardWeight);
      })
      .Case(
          [](ScaledDotProductAttentionOp) { return nameOf(CallId::Attention); })
      .Case([](ScaledDotProductAttentionBackwardOp backward) {
        return backward.getGradMask() ? nameOf(CallId::AttentionBackwardMask)
                                      : nameOf(CallId::AttentionBackward);
      })
      .Case([](MaxPool2dOp) { return nameOf(CallId::MaxPool2d); })
      .Case(
          [](MaxPool2dBackwardOp) { return nameOf(CallId::MaxPool2dBackward); })
      .Case(
          [](EmbeddingBackwardOp) { return nameOf(CallId::EmbeddingBackward); })
      .Case<SortOp, TopkOp>([](auto) { return nameOf(CallId::Sort); })
      .Case<GroupedMmOp, GroupedMmBackwardMat2Op, LinalgCholeskyExOp,
            LinalgEighOp, LinalgLuFactorExOp, LinalgQrOp,
            LinalgSolveTriangularOp, LinalgSvdOp>(
          [](auto op) { return op->getName().stripDialect(); })
      .Default([](Operation *) { return StringRef(); });
}

/// Libraries have no f16: they compute in f32, between conversions.
static void widenHalf(Operation *op) {
  OpBuilder builder(op);
  auto isHalf = [](Value value) {
    return getElementTypeOrSelf(value.getType()).isF16();
  };
  auto convert = [&](Value value, Type element) {
    return aten::ToOp::create(builder, op->getLoc(), value,
                              TypeAttr::get(element));
  };
  for (OpOperand &operand : op->getOpOperands())
    if (isHalf(operand.get()))
      operand.set(convert(operand.get(), builder.getF32Type()));
  builder.setInsertionPointAfter(op);
  for (OpResult result : op->getResults()) {
    if (!isHalf(result))
      continue;
    auto type = cast<RankedTensorType>(result.getType());
    result.setType(type.clone(builder.getF32Type()));
    Value narrow = convert(result, type.getElementType());
    result.replaceAllUsesExcept(narrow, narrow.getDefiningOp());
  }
}

static void selectLibrary(Operation *op, const Target &target,
                          MaskMaker &masks) {
  using namespace aten;
  if (isa<EmbeddingBackwardOp, GroupedMmOp, GroupedMmBackwardMat2Op>(op))
    widenIntegers(op);
  if (auto add = dyn_cast<AddOp>(op))
    return addInEmbedding(add);
  StringRef call = callOf(op);
  if (call.empty() || !hasCall(target, call) || !isAccepted(op))
    return;
  widenHalf(op);
  TypeSwitch<Operation *>(op)
      .Case([&](MatmulOp product) { selectProduct(product, target); })
      .Case(selectLinear)
      .Case(selectLinearInput)
      .Case(selectLinearWeight)
      .Case<ConvolutionOp, ConvolutionBackwardInputOp,
            ConvolutionBackwardWeightOp>(
          [&](auto convolution) { selectConvolution(convolution, call); })
      .Case([&](ScaledDotProductAttentionOp attention) {
        selectAttention(attention, call, masks);
      })
      .Case([&](ScaledDotProductAttentionBackwardOp backward) {
        selectAttentionBackward(backward, call, masks);
      })
      .Case<MaxPool2dOp, MaxPool2dBackwardOp>(
          [&](auto pool) { selectMaxPool(pool, call); })
      .Case<GroupedMmOp, GroupedMmBackwardMat2Op, LinalgCholeskyExOp,
            LinalgEighOp, LinalgLuFactorExOp, LinalgQrOp,
            LinalgSolveTriangularOp, LinalgSvdOp>(
          [&](auto named) { selectByName(named, call); })
      .Case(selectEmbedding)
      .Case([](SortOp sort) {
        selectSort(sort, sort.getDim(), sort.getDescending());
      })
      .Case([](TopkOp topk) {
        selectSort(topk, topk.getDim(), topk.getLargest());
      });
}

void SelectLibrariesPass::runOnOperation() {
  const Target *target = targetOf(getOperation());
  if (!target)
    return signalPassFailure();
  for (Block &block : getOperation().getBody()) {
    MaskMaker masks;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      // A mask is not kept from one part of the step to the next.
      if (isa<fsdp::BeginOp>(op))
        masks = MaskMaker();
      selectLibrary(&op, *target, masks);
    }
  }
}

} // namespace shardc
