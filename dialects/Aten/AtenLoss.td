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

def Aten_CrossEntropyLossOp
    : Aten_DifferentiableOp<"cross_entropy_loss", [Aten_Cost, Aten_PartialComposition]> {
  let summary = "negative log-likelihood of log_softmax(self) at the target class";
  let description = [{
    self [N, C], target [N] of class indices -> loss, log_sum_exp [N] and
    total_weight (0-d: the sum of the weights of the rows whose target is not
    `ignore_index`). The loss is 0-d under `reduction` mean, which divides by
    total_weight, and sum; it is [N] under none. `weight` [C] weighs each class,
    ones by default. `label_smoothing` moves that part of the target's
    probability to all classes alike.

    The results are f32 for bf16 and f16 operands, as under autocast: a loss
    with 8 bits of precision cannot be logged or compared.
  }];
  let arguments = (ins Aten_FloatTensor:$self, Aten_IndexTensor:$target,
      Optional<Aten_FloatTensor>:$weight, Aten_ReductionAttr:$reduction,
      I64Attr:$ignore_index, DefaultValuedAttr<F64Attr, "0.0">:$label_smoothing);
  let results = (outs Aten_FloatTensor:$loss, Aten_FloatTensor:$log_sum_exp,
                      Aten_FloatTensor:$total_weight);
  let assemblyFormat = [{
    $self `,` $target (`weight` `(` $weight^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def Aten_NllLossOp : Aten_InferredOp<"nll_loss", [Aten_Cost, Aten_Composition]> {
  let summary = "minus the log-probability `self` of the target class";
  let description = [{
    self [N, C], target [N] of class indices -> loss and total_weight, with
    `weight`, `reduction` and `ignore_index` as in `cross_entropy_loss`, in the
    element type of `self`.
  }];
  let arguments = (ins Aten_FloatTensor:$self, Aten_IndexTensor:$target,
      Optional<Aten_FloatTensor>:$weight, Aten_ReductionAttr:$reduction,
      I64Attr:$ignore_index);
  let results = (outs Aten_FloatTensor:$loss, Aten_FloatTensor:$total_weight);
  let assemblyFormat = [{
    $self `,` $target (`weight` `(` $weight^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def Aten_CrossEntropyLossBackwardOp : Aten_InferredOp<"cross_entropy_loss_backward", [Aten_Cost]> {
  let summary = "the gradient of cross_entropy_loss's logits";
  let arguments = (ins Aten_FloatTensor:$grad_output, Aten_FloatTensor:$self,
      Aten_IndexTensor:$target, Aten_FloatTensor:$log_sum_exp,
      Aten_FloatTensor:$total_weight, Aten_ReductionAttr:$reduction, I64Attr:$ignore_index);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif // SHARDC_DIALECTS_ATEN_ATENLOSS
