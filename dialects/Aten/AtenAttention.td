//===- AtenAttention.td - Scaled dot-product attention ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Attention stays one operator, so that each target can use its best kernel.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENATTENTION
#define SHARDC_DIALECTS_ATEN_ATENATTENTION

include "dialects/Aten/AtenInterfaces.td"
include "dialects/Aten/AtenRandom.td"

def Aten_ScaledDotProductAttentionOp
    : Aten_DifferentiableOp<"scaled_dot_product_attention",
        [AttrSizedOperandSegments, Aten_Cost]> {
  let summary = "dropout(softmax(query @ key^T * scale + attn_mask)) @ value";
  let description = [{
    query [B, H, T, D], key [B, K, S, D] and value [B, K, S, V] -> result
    [B, H, T, V] and log_sum_exp [B, H, T] of the scaled scores (f32, or f64 for
    f64 operands), which backward recomputes the probabilities from. K divides
    H: query head h reads key and value head h * K / H, which is grouped-query
    attention where K < H.

    `attn_mask` broadcasts to [B, H, T, S]: a float is added to the scores, a
    boolean keeps those where it is true. Under `is_causal` row t sees columns
    s <= t. A row that sees nothing gives zeros. `scale` is resolved: 1/sqrt(D)
    unless the model says otherwise.

    `run` is nothing, or seed, step and slice of the run: then the probabilities
    [B, H, T, S] are dropped as `aten.dropout` drops them, with `dropout_p` and
    `stream`. log_sum_exp knows nothing of it.
  }];
  let arguments = (ins Aten_FloatTensor:$query, Aten_FloatTensor:$key,
                       Aten_FloatTensor:$value, Optional<Aten_Tensor>:$attn_mask,
                       Variadic<Aten_RunNumber>:$run,
                       BoolAttr:$is_causal, F64Attr:$scale,
                       DefaultValuedAttr<F64Attr, "0.0">:$dropout_p,
                       DefaultValuedAttr<I64Attr, "0">:$stream);
  let results = (outs Aten_FloatTensor:$result, Aten_FloatTensor:$log_sum_exp);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` `(` $attn_mask^ `)`)?
    (`dropout` `(` $run^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// The attention that an export has, without dropout.
    void stopDropout() {
      getRunMutable().clear();
      setDropoutP(llvm::APFloat(0.0));
    }
  }];
  let hasVerifier = 1;
}

def Aten_ScaledDotProductAttentionBackwardOp
    : Aten_InferredOp<"scaled_dot_product_attention_backward",
        [AttrSizedOperandSegments, Aten_Cost]> {
  let summary = "the gradients of query, key, value and a learned attn_mask";
  let description = [{
    With `mask_gradient` the last result is the gradient of `attn_mask`, a float
    then: that of the scaled scores, summed where the mask broadcasts. Where
    log_sum_exp has too few digits to say the probabilities of a row, as under a
    mask of large negative numbers, they are those that add up to 1.
  }];
  let arguments = (ins Aten_FloatTensor:$grad_output, Aten_FloatTensor:$query,
      Aten_FloatTensor:$key, Aten_FloatTensor:$value, Aten_FloatTensor:$output,
      Aten_FloatTensor:$log_sum_exp, Optional<Aten_Tensor>:$attn_mask,
      Variadic<Aten_RunNumber>:$run, BoolAttr:$is_causal, F64Attr:$scale,
      DefaultValuedAttr<F64Attr, "0.0">:$dropout_p,
      DefaultValuedAttr<I64Attr, "0">:$stream, UnitAttr:$mask_gradient);
  let results = (outs Aten_FloatTensor:$grad_query, Aten_FloatTensor:$grad_key,
      Aten_FloatTensor:$grad_value, Optional<Aten_FloatTensor>:$grad_mask);
  let assemblyFormat = [{
    $grad_output `,` $query `,` $key `,` $value `,` $output `,` $log_sum_exp
    (`mask` `(` $attn_mask^ `)`)? (`dropout` `(` $run^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // SHARDC_DIALECTS_ATEN_ATENATTENTION
