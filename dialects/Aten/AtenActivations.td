//===- AtenActivations.td - Activation functions ------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The nonlinearities of neural networks that PyTorch has as operators, their
// backward forms, and softmax. Those that are a clamp (`hardtanh`, `relu6`) or
// an `elu` with other factors (`selu`, `celu`) are imported as that.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENACTIVATIONS
#define SHARDC_DIALECTS_ATEN_ATENACTIVATIONS

include "dialects/Aten/AtenElementwise.td"

def Aten_ReluOp : Aten_UnaryOp<"relu", "max(self, 0)", Aten_Tensor, [Aten_Derivative]> {
  let extraClassDeclaration = "std::string describeUnsupportedForm();";
}

def Aten_ThresholdBackwardOp : Aten_InferredOp<"threshold_backward", [Aten_Pointwise]> {
  let summary = "the gradient where `result > threshold`, else zero";
  let description = "Backward of `relu` with threshold 0, expressed on relu's result.";
  let arguments = (ins Aten_FloatTensor:$grad_output, Aten_FloatTensor:$self,
                       F64Attr:$threshold);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$grad_output `,` $self attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = Aten_InferSelf;
}

def Aten_GeluApproximationAttr
    : EnumAttr<Aten_Dialect, Aten_GeluApproximation, "gelu_approximation"> {
  let assemblyFormat = "`<` $value `>`";
}

def Aten_GeluOp : Aten_DifferentiableOp<"gelu", [Aten_Pointwise]> {
  let summary = "x times the Gaussian distribution function of x";
  let arguments = (ins Aten_FloatTensor:$self,
      DefaultValuedAttr<Aten_GeluApproximationAttr,
                        "::shardc::aten::GeluApproximation::none">:$approximate);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$self attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = Aten_InferSelf;
}

def Aten_GeluBackwardOp : Aten_InferredOp<"gelu_backward", [Aten_Pointwise]> {
  let summary = "the gradient of gelu's operand";
  let arguments = (ins Aten_FloatTensor:$grad_output, Aten_FloatTensor:$self,
      DefaultValuedAttr<Aten_GeluApproximationAttr,
                        "::shardc::aten::GeluApproximation::none">:$approximate);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$grad_output `,` $self attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = Aten_InferSelf;
}

def Aten_SiluOp : Aten_FunctionOp<"silu", "self * sigmoid(self)">;
def Aten_HardswishOp : Aten_FunctionOp<"hardswish", "self * clamp(self + 3, 0, 6) / 6">;
def Aten_HardsigmoidOp : Aten_FunctionOp<"hardsigmoid", "clamp(self + 3, 0, 6) / 6">;
def Aten_MishOp : Aten_FunctionOp<"mish", "self * tanh(softplus(self))">;
def Aten_LogSigmoidOp : Aten_FunctionOp<"log_sigmoid", "log(sigmoid(self)), exact for large self">;

def Aten_LeakyReluOp : Aten_FunctionOp<"leaky_relu", "self where positive, else self * negative_slope"> {
  let arguments = (ins Aten_FloatTensor:$self, F64Attr:$negative_slope);
}

def Aten_EluOp : Aten_FunctionOp<"elu", "an exponential below zero, a line above"> {
  let description = [{
    `scale * self` where positive, else
    `scale * alpha * expm1(input_scale * self)`. `selu` and `celu` are this with
    other factors.
  }];
  let arguments = (ins Aten_FloatTensor:$self, F64Attr:$alpha, F64Attr:$scale,
                       F64Attr:$input_scale);
}

def Aten_SoftplusOp : Aten_FunctionOp<"softplus", "log(1 + exp(beta * self)) / beta"> {
  let description = "Where `beta * self > threshold` it is `self`.";
  let arguments = (ins Aten_FloatTensor:$self, F64Attr:$beta, F64Attr:$threshold);
}

def Aten_PreluOp : Aten_DifferentiableOp<"prelu", [Aten_Pointwise]> {
  let summary = "self where positive, else self times a learned slope";
  let description = "`weight` has one element, or one for each index of dimension 1.";
  let arguments = (ins Aten_FloatTensor:$self, Aten_FloatTensor:$weight);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$self `,` $weight attr-dict `:` functional-type(operands, results)";
}

class Aten_SoftmaxBase<string mnemonic, string what>
    : Aten_DifferentiableOp<mnemonic, [Aten_Cost]> {
  let summary = what;
  let description = [{
    The dtype that PyTorch's argument `dtype` asks for is an `aten.to` before it.
    Five operations an element: maximum, subtraction, exponential, sum, and
    division or subtraction.
  }];
  let arguments = (ins Aten_FloatTensor:$self, I64Attr:$dim);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$self `dim` $dim attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, std::optional<::mlir::Location> location,
        Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return inferAlong(location, adaptor.getSelf(), adaptor.getDim(), types);
    }
    int64_t $cppClass::getFlops() { return 5 * tensorType(getSelf()).getNumElements(); }
  }];
}

def Aten_SoftmaxOp : Aten_SoftmaxBase<"softmax", "exp(self), divided by its sum along `dim`">;
def Aten_LogSoftmaxOp : Aten_SoftmaxBase<"log_softmax", "the logarithm of softmax along `dim`">;

#endif // SHARDC_DIALECTS_ATEN_ATENACTIVATIONS
