//===- AtenElementwise.td - Point-wise operators ------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Operators whose result element depends on the operands' elements at the same
// (broadcast) index alone, their backward forms, and dtype conversion.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENELEMENTWISE
#define SHARDC_DIALECTS_ATEN_ATENELEMENTWISE

include "dialects/Aten/AtenInterfaces.td"

class Aten_BinaryOp<string mnemonic, string verb>
    : Aten_DifferentiableOp<mnemonic> {
  let summary = verb # " two tensors with broadcasting and type promotion";
  let description = [{
    The shapes broadcast as in NumPy and the element type is
    `torch.promote_types` of the operands' (a 0-d operand of the same category
    does not widen the other).
  }];
  let arguments = (ins Aten_Tensor:$self, Aten_Tensor:$other);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self `,` $other attr-dict `:` functional-type(operands, results)";
}

def Aten_AddOp : Aten_BinaryOp<"add", "adds">;
def Aten_SubOp : Aten_BinaryOp<"sub", "subtracts">;
def Aten_MulOp : Aten_BinaryOp<"mul", "multiplies">;

class Aten_ScalarOp<string mnemonic, string verb>
    : Aten_DifferentiableOp<mnemonic> {
  let summary = verb # " a Python scalar to every element";
  let description = [{
    The overload `.Scalar` of the operator: the scalar takes the tensor's
    element type. `other` is an integer attribute for an integer tensor and a
    floating-point attribute otherwise.
  }];
  let arguments = (ins Aten_Tensor:$self, TypedAttrInterface:$other);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self `,` $other attr-dict `:` functional-type(operands, results)";
}

def Aten_AddScalarOp : Aten_ScalarOp<"add.Scalar", "adds">;
def Aten_MulScalarOp : Aten_ScalarOp<"mul.Scalar", "multiplies">;

def Aten_ReluOp : Aten_DifferentiableOp<"relu"> {
  let summary = "max(self, 0)";
  let arguments = (ins Aten_FloatTensor:$self);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$self attr-dict `:` functional-type(operands, results)";
}

def Aten_ThresholdBackwardOp : Aten_InferredOp<"threshold_backward"> {
  let summary = "the gradient where `result > threshold`, else zero";
  let description = "Backward of `relu` with threshold 0, expressed on relu's result.";
  let arguments = (ins Aten_FloatTensor:$grad_output, Aten_FloatTensor:$self,
                       F64Attr:$threshold);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$grad_output `,` $self attr-dict `:` functional-type(operands, results)";
}

def Aten_GeluApproximationAttr
    : EnumAttr<Aten_Dialect, Aten_GeluApproximation, "gelu_approximation"> {
  let assemblyFormat = "`<` $value `>`";
}

def Aten_GeluOp : Aten_DifferentiableOp<"gelu"> {
  let summary = "x times the Gaussian distribution function of x";
  let arguments = (ins Aten_FloatTensor:$self,
      DefaultValuedAttr<Aten_GeluApproximationAttr,
                        "::shardc::aten::GeluApproximation::none">:$approximate);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$self attr-dict `:` functional-type(operands, results)";
}

def Aten_GeluBackwardOp : Aten_InferredOp<"gelu_backward"> {
  let summary = "the gradient of gelu's operand";
  let arguments = (ins Aten_FloatTensor:$grad_output, Aten_FloatTensor:$self,
      DefaultValuedAttr<Aten_GeluApproximationAttr,
                        "::shardc::aten::GeluApproximation::none">:$approximate);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$grad_output `,` $self attr-dict `:` functional-type(operands, results)";
}

def Aten_ToOp : Aten_DifferentiableOp<"to"> {
  let summary = "converts the element type, as `Tensor.to(dtype)`";
  let description = [{
    An explicit conversion that the model's author wrote (or that
    differentiation needs). The precision phase never changes it.
  }];
  let arguments = (ins Aten_Tensor:$self, TypeAttr:$dtype);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self $dtype attr-dict `:` functional-type(operands, results)";
}

#endif // SHARDC_DIALECTS_ATEN_ATENELEMENTWISE
