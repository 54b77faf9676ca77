//===- AtenAutograd.td - Where gradients stop ---------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What a model's author said about gradients: `Tensor.detach` and what leaves a
// torch.no_grad region.
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

#endif // SHARDC_DIALECTS_ATEN_ATENAUTOGRAD
