//===- ElementwiseOperators.cpp - translation of point-wise operators -----===//
// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic, activations, dropout and conversions. An in-place operator is
// built like its functional form; the signature makes the result the argument's
// new value.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/OperatorTable.h"
#include "dialects/Aten/Aten.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// The scalar as an attribute, and `self` in the type that PyTorch computes
/// `self (+) scalar` in: a float makes an integer tensor f32, an integer makes
/// a boolean tensor i64.
static TypedAttr promoteScalar(NodeCall &call, Value &self, Scalar scalar) {
  OpBuilder &builder = call.builder();
  Type element = getElementTypeOrSelf(self);
  const auto *integer = std::get_if<int64_t>(&scalar);
  if (!isa<FloatType>(element) && !integer)
    self = call.convert(self, builder.getF32Type());
  else if (element.isInteger(1))
    self = call.convert(self, builder.getI64Type());
  if (isa<FloatType>(getElementTypeOrSelf(self)))
    return builder.getF64FloatAttr(toDouble(scalar));
  return builder.getI64IntegerAttr(*integer);
}

static bool isOne(const Scalar &scalar) { return toDouble(scalar) == 1.0; }

static Scalar multiply(const Scalar &a, const Scalar &b) {
  if (std::holds_alternative<int64_t>(a) && std::holds_alternative<int64_t>(b))
    return std::get<int64_t>(a) * std::get<int64_t>(b);
  return toDouble(a) * toDouble(b);
}

/// An in-place operator keeps the dtype of what it changes.
static LogicalResult setArithmeticResult(NodeCall &call, Value value) {
  if (call.isInPlace())
    value = call.convert(value, call.typeOf("self").getElementType());
  call.setResult(value);
  return success();
}

template <typename ScalarOp>
static LogicalResult translateWithScalar(NodeCall &call, Scalar scalar) {
  Value self = call.tensor("self");
  TypedAttr other = promoteScalar(call, self, scalar);
  FailureOr<ScalarOp> op = call.create<ScalarOp>(self, other);
  return failed(op) ? failure() : setArithmeticResult(call, op->getResult());
}

/// self + alpha * other, or with `sign` -1 self - alpha * other.
template <int sign>
static LogicalResult translateSum(NodeCall &call) {
  Scalar alpha = call.scalar("alpha");
  if (call.isNumber("other"))
    return translateWithScalar<aten::AddScalarOp>(
        call,
        multiply(multiply(Scalar(int64_t(sign)), alpha), call.scalar("other")));
  Value self = call.tensor("self"), other = call.tensor("other");
  if (!isOne(alpha)) {
    TypedAttr factor = promoteScalar(call, other, alpha);
    FailureOr<aten::MulScalarOp> scaled =
        call.create<aten::MulScalarOp>(other, factor);
    if (failed(scaled))
      return failure();
    other = scaled->getResult();
  }
  if constexpr (sign > 0) {
    FailureOr<aten::AddOp> op = call.create<aten::AddOp>(self, other);
    return failed(op) ? failure() : setArithmeticResult(call, op->getResult());
  } else {
    FailureOr<aten::SubOp> op = call.create<aten::SubOp>(self, other);
    return failed(op) ? failure() : setArithmeticResult(call, op->getResult());
  }
}

static LogicalResult translateMul(NodeCall &call) {
  if (call.isNumber("other"))
    return translateWithScalar<aten::MulScalarOp>(call, call.scalar("other"));
  FailureOr<aten::MulOp> op =
      call.create<aten::MulOp>(call.tensor("self"), call.tensor("other"));
  return failed(op) ? failure() : setArithmeticResult(call, op->getResult());
}

static LogicalResult translateNeg(NodeCall &call) {
  return translateWithScalar<aten::MulScalarOp>(call, Scalar(int64_t(-1)));
}

//===----------------------------------------------------------------------===//
// Activations and dropout
//===----------------------------------------------------------------------===//

static LogicalResult translateRelu(NodeCall &call) {
  return call.translate<aten::ReluOp>(call.tensor("self"));
}

static LogicalResult translateGelu(NodeCall &call) {
  std::optional<aten::GeluApproximation> approximation =
      aten::symbolizeGeluApproximation(call.text("approximate"));
  if (!approximation)
    return call.unsupported("approximate", "'none' or 'tanh'");
  return call.translate<aten::GeluOp>(call.tensor("self"), *approximation);
}

static LogicalResult translateDropout(NodeCall &call) {
  if (!call.boolean("train") || call.number("p") == 0.0) {
    call.setResult(call.tensor("input"));
    return success();
  }
  std::string probability;
  llvm::raw_string_ostream(probability) << llvm::format("%g", call.number("p"));
  InFlightDiagnostic diagnostic = call.error("E0132");
  diagnostic << "dropout with probability " << probability
             << " is not supported yet";
  diagnostic.attachNote()
      << "help: export the model with dropout 0, for example with "
         "config.dropout = 0.0 or module.p = 0.0";
  return failure();
}

//===----------------------------------------------------------------------===//
// Conversions and identities
//===----------------------------------------------------------------------===//

/// A conversion stays even where it changes nothing: what the author wrote as
/// `.to(torch.float32)` says f32 under any mixed-precision policy.
static LogicalResult translateTo(NodeCall &call) {
  Value self = call.tensor("self");
  if (call.isNone("dtype")) {
    call.setResult(self);
    return success();
  }
  Type element = call.dtype("dtype");
  if (!element)
    return call.error("E0136") << "converts to a dtype that is not supported";
  return call.translate<aten::ToOp>(self, TypeAttr::get(element));
}

static LogicalResult translateIdentity(NodeCall &call) {
  call.setResult(call.tensor("self"));
  return success();
}

/// PyTorch returns a contiguous tensor itself and copies any other. Values have
/// no strides; the difference matters to in-place operators alone.
static LogicalResult translateContiguous(NodeCall &call) {
  call.setResult(call.tensor("self"));
  if (!call.isContiguous("self"))
    call.setResultsAreCopies();
  return success();
}

/// `self.copy_(src)`: the source in the shape and dtype of `self`.
static LogicalResult translateCopyInto(NodeCall &call) {
  RankedTensorType type = call.typeOf("self");
  Value source = call.convert(call.tensor("src"), type.getElementType());
  if (source.getType() != type) {
    FailureOr<aten::ExpandOp> expanded =
        call.create<aten::ExpandOp>(source, type.getShape());
    if (failed(expanded))
      return failure();
    source = expanded->getResult();
  }
  call.setResult(source);
  return success();
}

/// A check that PyTorch inserted; static types have made it.
static LogicalResult translateAssertion(NodeCall &) { return success(); }

void translation::addElementwiseOperators(OperatorTable &table) {
  table.add("add.Tensor(Tensor self, TensorOrScalar other, *, "
            "Scalar alpha=1) -> Tensor",
            translateSum<1>);
  table.add("add_.Tensor(Tensor(a!) self, TensorOrScalar other, *, "
            "Scalar alpha=1) -> Tensor(a!)",
            translateSum<1>);
  table.add("sub.Tensor(Tensor self, TensorOrScalar other, *, "
            "Scalar alpha=1) -> Tensor",
            translateSum<-1>);
  table.add("sub_.Tensor(Tensor(a!) self, TensorOrScalar other, *, "
            "Scalar alpha=1) -> Tensor(a!)",
            translateSum<-1>);
  table.add("mul.Tensor(Tensor self, TensorOrScalar other) -> Tensor",
            translateMul);
  table.add("mul_.Tensor(Tensor(a!) self, TensorOrScalar other) -> Tensor(a!)",
            translateMul);
  table.add("neg(Tensor self) -> Tensor", translateNeg);
  table.add("relu(Tensor self) -> Tensor", translateRelu);
  table.add("relu_(Tensor(a!) self) -> Tensor(a!)", translateRelu);
  table.add("gelu(Tensor self, *, str approximate='none') -> Tensor",
            translateGelu);
  // PyTorch's signature does not say that dropout may return its argument.
  table.add("dropout(Tensor(a) input, float p, bool train) -> Tensor(a)",
            translateDropout);
  table.add("dropout_(Tensor(a!) input, float p, bool train) -> Tensor(a!)",
            translateDropout);
  table.add("to.dtype(Tensor(a) self, ScalarType dtype, "
            "bool non_blocking=False, bool copy=False, "
            "MemoryFormat? memory_format=None) -> Tensor(a)",
            translateTo);
  table.add("to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, "
            "Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None, bool non_blocking=False, "
            "bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
            translateTo);
  table.add("_to_copy(Tensor self, *, ScalarType? dtype=None, "
            "Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None, bool non_blocking=False, "
            "MemoryFormat? memory_format=None) -> Tensor",
            translateTo);
  table.add("contiguous(Tensor(a) self, *, MemoryFormat "
            "memory_format=contiguous_format) -> Tensor(a)",
            translateContiguous);
  table.add("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
            translateIdentity);
  table.add("copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> "
            "Tensor(a!)",
            translateCopyInto);
  table.add("alias(Tensor(a) self) -> Tensor(a)", translateIdentity);
  table.add("_assert_tensor_metadata(Tensor a, SymInt[]? size=None, "
            "SymInt[]? stride=None, ScalarType? dtype=None, *, "
            "Device? device=None, Layout? layout=None) -> ()",
            translateAssertion);
}
