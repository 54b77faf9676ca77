//===- AtenElementwise.td - Point-wise operators ------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Operators whose result element depends on the operands' elements at the same
// (broadcast) index alone, and dtype conversion. A unary function is one line:
// its class knows its type. Activations and comparisons have files of their own.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENELEMENTWISE
#define SHARDC_DIALECTS_ATEN_ATENELEMENTWISE

include "dialects/Aten/AtenInterfaces.td"

/// For operators with a derivative whose class does not say so.
defvar Aten_Derivative = DeclareOpInterfaceMethods<Aten_DifferentiableOpInterface>;

/// Type inference of the classes below: the type of `self`, and the broadcast
/// and promoted type of all operands, in their element type or in booleans.
defvar Aten_InferSelf = [{
  ::llvm::LogicalResult $cppClass::inferReturnTypes(
      ::mlir::MLIRContext *, std::optional<::mlir::Location>, Adaptor adaptor,
      ::llvm::SmallVectorImpl<::mlir::Type> &types) {
    types.push_back(adaptor.getSelf().getType());
    return ::mlir::success();
  }
}];
defvar Aten_InferBroadcast = [{
  ::llvm::LogicalResult $cppClass::inferReturnTypes(
      ::mlir::MLIRContext *, std::optional<::mlir::Location> location,
      Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
    return inferBroadcast(location, adaptor.getOperands(), types);
  }
}];
defvar Aten_InferBoolean = [{
  ::llvm::LogicalResult $cppClass::inferReturnTypes(
      ::mlir::MLIRContext *, std::optional<::mlir::Location> location,
      Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
    return inferBooleanBroadcast(location, adaptor.getOperands(), types);
  }
}];

/// A function of one tensor, element by element, of the tensor's type.
class Aten_UnaryOp<string mnemonic, string what, Type operand = Aten_FloatTensor,
                   list<Trait> traits = []>
    : Aten_InferredOp<mnemonic, !listconcat([Aten_Pointwise], traits)> {
  let summary = what;
  let arguments = (ins operand:$self);
  let results = (outs operand:$result);
  let assemblyFormat = "$self attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = Aten_InferSelf;
}

/// Declares `buildGradient`, which builds the gradient of the only operand from
/// that of the result, both in the type that gradients are computed in.
defvar Aten_DeclareGradient = [{
  ::mlir::Value buildGradient(Formula &formula, ::mlir::Value gradient);
}];
defvar Aten_BuildBackward = [{
  void $cppClass::buildBackward(
      ::mlir::OpBuilder &builder, ::mlir::ArrayRef<::mlir::Value> resultGradients,
      ::mlir::ArrayRef<bool> needed,
      ::mlir::SmallVectorImpl<::mlir::Value> &operandGradients) {
    operandGradients.push_back(
        needed[0] ? Formula::build(*this, builder, resultGradients[0])
                  : ::mlir::Value());
  }
}];

/// A function of one tensor that has a slope.
class Aten_FunctionOp<string mnemonic, string what>
    : Aten_UnaryOp<mnemonic, what, Aten_FloatTensor, [Aten_Derivative]> {
  let extraClassDeclaration = Aten_DeclareGradient;
  let extraClassDefinition = !strconcat(Aten_InferSelf, Aten_BuildBackward);
}

/// A function of one tensor that is flat but for jumps: the gradient is zero.
class Aten_StepOp<string mnemonic, string what, Type operand = Aten_FloatTensor>
    : Aten_UnaryOp<mnemonic, what, operand, [Aten_Derivative]> {
  let extraClassDefinition = Aten_InferSelf # [{
    void $cppClass::buildBackward(
        ::mlir::OpBuilder &, ::mlir::ArrayRef<::mlir::Value>,
        ::mlir::ArrayRef<bool>,
        ::mlir::SmallVectorImpl<::mlir::Value> &operandGradients) {
      operandGradients.push_back(::mlir::Value());
    }
  }];
}

/// A function of two tensors that broadcast and promote.
class Aten_BinaryOp<string mnemonic, string what, Type operand = Aten_Tensor,
                    list<Trait> traits = []>
    : Aten_InferredOp<mnemonic, !listconcat([Aten_Pointwise], traits)> {
  let summary = what # ", with broadcasting and type promotion";
  let description = [{
    The shapes broadcast as in NumPy and the element type is
    `torch.promote_types` of the operands' (a 0-d operand of the same category
    does not widen the other).
  }];
  let arguments = (ins operand:$self, operand:$other);
  let results = (outs operand:$result);
  let assemblyFormat = "$self `,` $other attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = Aten_InferBroadcast;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// The derivative is one of real numbers.
class Aten_RealBinaryOp<string mnemonic, string what>
    : Aten_BinaryOp<mnemonic, what, Aten_Tensor, [Aten_Derivative]> {
  let extraClassDeclaration = "std::string describeUnsupportedForm();";
}

def Aten_AddOp : Aten_BinaryOp<"add", "self + other", Aten_Tensor, [Aten_Derivative]>;
def Aten_SubOp : Aten_BinaryOp<"sub", "self - other", Aten_Tensor, [Aten_Derivative]>;
def Aten_MulOp : Aten_BinaryOp<"mul", "self * other", Aten_Tensor, [Aten_Derivative]>;

def Aten_RoundingModeAttr : EnumAttr<Aten_Dialect, Aten_RoundingMode, "rounding_mode"> {
  let assemblyFormat = "`<` $value `>`";
}

def Aten_DivOp : Aten_BinaryOp<"div", "self / other", Aten_Tensor, [Aten_Derivative]> {
  let description = [{
    `rounding_mode` rounds the quotient: `none` is true division, which integers
    have not (the importer converts them to f32 first, as PyTorch does), `trunc`
    rounds towards zero as C does, `floor` downwards as Python's `//` does.
  }];
  let arguments = (ins Aten_Tensor:$self, Aten_Tensor:$other,
      DefaultValuedAttr<Aten_RoundingModeAttr, "::shardc::aten::RoundingMode::none">:$rounding_mode);
  let hasVerifier = 1;
}

def Aten_RemainderOp : Aten_RealBinaryOp<"remainder", "self - floor(self / other) * other: the sign of `other`">;
def Aten_FmodOp : Aten_RealBinaryOp<"fmod", "self - trunc(self / other) * other: the sign of `self`">;
def Aten_PowOp : Aten_RealBinaryOp<"pow", "self to the power of other">;
def Aten_MaximumOp : Aten_RealBinaryOp<"maximum", "the larger element, or NaN where one is">;
def Aten_MinimumOp : Aten_RealBinaryOp<"minimum", "the smaller element, or NaN where one is">;
def Aten_Atan2Op : Aten_BinaryOp<"atan2", "the angle of the point (other, self)", Aten_FloatTensor, [Aten_Derivative]>;

class Aten_ScalarOp<string mnemonic, string what, list<Trait> traits = []>
    : Aten_InferredOp<mnemonic, !listconcat([Aten_Pointwise], traits)> {
  let summary = what # " for a Python scalar";
  let description = [{
    The overload `.Scalar` of the operator: the scalar takes the tensor's
    element type. `other` is an integer attribute for an integer tensor and a
    floating-point attribute otherwise.
  }];
  let arguments = (ins Aten_Tensor:$self, TypedAttrInterface:$other);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self `,` $other attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = Aten_InferSelf;
}

def Aten_AddScalarOp : Aten_ScalarOp<"add.Scalar", "self + other", [Aten_Derivative]>;
def Aten_MulScalarOp : Aten_ScalarOp<"mul.Scalar", "self * other", [Aten_Derivative]>;

def Aten_DivScalarOp : Aten_ScalarOp<"div.Scalar", "self / other", [Aten_Derivative]> {
  let arguments = (ins Aten_Tensor:$self, TypedAttrInterface:$other,
      DefaultValuedAttr<Aten_RoundingModeAttr, "::shardc::aten::RoundingMode::none">:$rounding_mode);
  let hasVerifier = 1;
}

def Aten_PowScalarOp : Aten_ScalarOp<"pow.Tensor_Scalar", "self to the power of exponent", [Aten_Derivative]> {
  let arguments = (ins Aten_Tensor:$self, TypedAttrInterface:$exponent);
  let assemblyFormat = "$self `,` $exponent attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = "std::string describeUnsupportedForm();";
}

def Aten_ClampOp : Aten_UnaryOp<"clamp", "min(max(self, min), max) with either bound optional", Aten_Tensor, [Aten_Derivative]> {
  let description = [{
    The bounds are integer attributes for an integer tensor and floating-point
    attributes otherwise; NaN stays NaN. Stands for `hardtanh`, `relu6`,
    `clamp_min` and `clamp_max` too.
  }];
  let arguments = (ins Aten_Tensor:$self, OptionalAttr<TypedAttrInterface>:$min,
                       OptionalAttr<TypedAttrInterface>:$max);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

def Aten_AbsOp : Aten_DifferentiableOp<"abs", [Aten_Pointwise]> {
  let summary = "the absolute value; of a complex number its magnitude";
  let arguments = (ins Aten_Tensor:$self);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self attr-dict `:` functional-type(operands, results)";
}

def Aten_SignOp : Aten_StepOp<"sign", "-1, 0 or 1", Aten_Tensor> {
  let extraClassDeclaration = "std::string describeUnsupportedForm();";
}
def Aten_ExpOp : Aten_FunctionOp<"exp", "e to the power of self">;
def Aten_Exp2Op : Aten_FunctionOp<"exp2", "2 to the power of self">;
def Aten_Expm1Op : Aten_FunctionOp<"expm1", "e to the power of self, minus 1, exact near 0">;
def Aten_LogOp : Aten_FunctionOp<"log", "the natural logarithm">;
def Aten_Log1pOp : Aten_FunctionOp<"log1p", "the natural logarithm of 1 + self, exact near 0">;
def Aten_Log2Op : Aten_FunctionOp<"log2", "the logarithm to base 2">;
def Aten_Log10Op : Aten_FunctionOp<"log10", "the logarithm to base 10">;
def Aten_SqrtOp : Aten_FunctionOp<"sqrt", "the square root">;
def Aten_RsqrtOp : Aten_FunctionOp<"rsqrt", "1 / sqrt(self)">;
def Aten_ReciprocalOp : Aten_FunctionOp<"reciprocal", "1 / self">;
def Aten_SinOp : Aten_FunctionOp<"sin", "the sine">;
def Aten_CosOp : Aten_FunctionOp<"cos", "the cosine">;
def Aten_TanOp : Aten_FunctionOp<"tan", "the tangent">;
def Aten_AsinOp : Aten_FunctionOp<"asin", "the angle of a sine">;
def Aten_AcosOp : Aten_FunctionOp<"acos", "the angle of a cosine">;
def Aten_AtanOp : Aten_FunctionOp<"atan", "the angle of a tangent">;
def Aten_SinhOp : Aten_FunctionOp<"sinh", "the hyperbolic sine">;
def Aten_CoshOp : Aten_FunctionOp<"cosh", "the hyperbolic cosine">;
def Aten_TanhOp : Aten_FunctionOp<"tanh", "the hyperbolic tangent">;
def Aten_AsinhOp : Aten_FunctionOp<"asinh", "the inverse of sinh">;
def Aten_AcoshOp : Aten_FunctionOp<"acosh", "the inverse of cosh">;
def Aten_AtanhOp : Aten_FunctionOp<"atanh", "the inverse of tanh">;
def Aten_SigmoidOp : Aten_FunctionOp<"sigmoid", "1 / (1 + exp(-self))">;
def Aten_ErfOp : Aten_FunctionOp<"erf", "the error function">;
def Aten_ErfcOp : Aten_FunctionOp<"erfc", "1 minus the error function">;
def Aten_ErfinvOp : Aten_FunctionOp<"erfinv", "the inverse of the error function">;
def Aten_FloorOp : Aten_StepOp<"floor", "the next lower integer">;
def Aten_CeilOp : Aten_StepOp<"ceil", "the next higher integer">;
def Aten_TruncOp : Aten_StepOp<"trunc", "the next integer towards zero">;
def Aten_RoundOp : Aten_StepOp<"round", "the nearest integer, halves to even">;

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

def Aten_BitwiseAndOp : Aten_BinaryOp<"bitwise_and", "the bits that both have; `and` of booleans", Aten_IntegerTensor>;
def Aten_BitwiseOrOp : Aten_BinaryOp<"bitwise_or", "the bits that either has; `or` of booleans", Aten_IntegerTensor>;
def Aten_BitwiseXorOp : Aten_BinaryOp<"bitwise_xor", "the bits that one has; `xor` of booleans", Aten_IntegerTensor>;
def Aten_BitwiseNotOp : Aten_UnaryOp<"bitwise_not", "the other bits; `not` of booleans", Aten_IntegerTensor>;
def Aten_LeftShiftOp : Aten_BinaryOp<"bitwise_left_shift", "self * 2^other in the element type's bits", Aten_IntegerTensor>;
def Aten_RightShiftOp : Aten_BinaryOp<"bitwise_right_shift", "floor(self / 2^other)", Aten_IntegerTensor>;

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

def Aten_ToOp : Aten_DifferentiableOp<"to", [Aten_Pointwise]> {
  let summary = "converts the element type, as `Tensor.to(dtype)`";
  let description = [{
    An explicit conversion that the model's author wrote (or that
    differentiation needs). The precision phase never changes it.
  }];
  let arguments = (ins Aten_Tensor:$self, TypeAttr:$dtype);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self $dtype attr-dict `:` functional-type(operands, results)";
}

def Aten_ToOtherOp : Aten_InferredOp<"to.other"> {
  let summary = "converts to the element type of another tensor, as `Tensor.to(other)`";
  let description = [{
    A conversion that follows `other`, of which nothing but the element type
    matters. The precision phase turns it into an `aten.to`, or into nothing,
    once it knows every dtype; later phases never see it.
  }];
  let arguments = (ins Aten_Tensor:$self, Aten_Tensor:$other);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self `as` $other attr-dict `:` functional-type(operands, results)";
}

#endif // SHARDC_DIALECTS_ATEN_ATENELEMENTWISE
