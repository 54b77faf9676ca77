//===- AtenAutograd.td - What is said about gradients -------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Where gradients stop, which a model's author said by `Tensor.detach` or a
// torch.no_grad region; and derivatives that a translation says.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENAUTOGRAD
#define SHARDC_DIALECTS_ATEN_ATENAUTOGRAD

include "dialects/Aten/AtenInterfaces.td"

def Aten_DetachOp : Aten_DifferentiableOp<"detach", [Aten_IsView]> {
  let summary = "the same tensor, through which no gradient flows";
  let description = [{
    Stands for `Tensor.detach` and for every result of a `torch.no_grad` region.
    The differentiate phase removes it once gradients are built.
  }];
  let arguments = (ins Aten_Tensor:$self);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self attr-dict `:` functional-type(operands, results)";
}

def Aten_WithSlopeOp : Aten_DifferentiableOp<"with_slope", [Aten_IsView]> {
  let summary = "`self`, which has the derivative `slope` by `argument`, too";
  let description = [{
    How a translation says the derivative of what it composes, where that of the
    parts is another one, inexact or NaN: `self` is detached before. `argument`
    broadcasts to the shape of `self` and `slope`, and its gradient is the sum of
    the result's times `slope`. The slope by a complex argument is that by its
    real part plus i times that by its imaginary part. The differentiate phase
    removes it once gradients are built.
  }];
  let arguments = (ins Aten_FloatTensor:$self, Aten_InexactTensor:$argument,
                       Aten_InexactTensor:$slope);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$self `by` $argument `,` $slope attr-dict `:` functional-type(operands, results)";
}

#endif // SHARDC_DIALECTS_ATEN_ATENAUTOGRAD
