//===- AtenLoss.td - Loss functions -------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Losses end a training graph: their first result is what is differentiated.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENLOSS
#define SHARDC_DIALECTS_ATEN_ATENLOSS

include "dialects/Aten/AtenInterfaces.td"

def Aten_ReductionAttr : EnumAttr<Aten_Dialect, Aten_Reduction, "reduction"> {
  let assemblyFormat = "`<` $value `>`";
}

def Aten_CrossEntropyLossOp : Aten_DifferentiableOp<"cross_entropy_loss"> {
  let summary = "negative log-likelihood of log_softmax(self) at the target class";
  let description = [{
    self [N, C], target [N] of class indices -> loss (0-d), log_sum_exp [N] and
    total_weight (0-d: the number of rows whose target is not `ignore_index`).
    `reduction` is mean or sum. The results are f32 for bf16 and f16 operands,
    as under autocast: a loss with 8 bits of precision cannot be logged or
    compared.
  }];
  let arguments = (ins Aten_FloatTensor:$self, Aten_IndexTensor:$target,
                       Aten_ReductionAttr:$reduction, I64Attr:$ignore_index);
  let results = (outs Aten_FloatTensor:$loss, Aten_FloatTensor:$log_sum_exp,
                      Aten_FloatTensor:$total_weight);
  let assemblyFormat = "$self `,` $target attr-dict `:` functional-type(operands, results)";
}

def Aten_CrossEntropyLossBackwardOp : Aten_InferredOp<"cross_entropy_loss_backward"> {
  let summary = "the gradient of cross_entropy_loss's logits";
  let arguments = (ins Aten_FloatTensor:$grad_output, Aten_FloatTensor:$self,
      Aten_IndexTensor:$target, Aten_FloatTensor:$log_sum_exp,
      Aten_FloatTensor:$total_weight, Aten_ReductionAttr:$reduction, I64Attr:$ignore_index);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif // SHARDC_DIALECTS_ATEN_ATENLOSS
