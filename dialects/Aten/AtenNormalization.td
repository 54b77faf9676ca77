//===- AtenNormalization.td - Normalizations ----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Normalizations with the statistics as results. Statistics are never narrower
// than f32: a bf16 running mean stalls, because a momentum of 0.1 moves it by
// less than half a unit in the last place.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENNORMALIZATION
#define SHARDC_DIALECTS_ATEN_ATENNORMALIZATION

include "dialects/Aten/AtenInterfaces.td"

def Aten_LayerNormOp
    : Aten_DifferentiableOp<"layer_norm", [AttrSizedOperandSegments, Aten_Cost]> {
  let summary = "normalizes over the trailing dimensions `normalized_shape`";
  let description = [{
    mean and rstd have the leading dimensions' shape with the normalized ones
    kept as 1, in f32 (f64 for f64 operands), as ATen's `native_layer_norm`.
  }];
  let arguments = (ins Aten_FloatTensor:$input, Optional<Aten_FloatTensor>:$weight,
      Optional<Aten_FloatTensor>:$bias, DenseI64ArrayAttr:$normalized_shape, F64Attr:$eps);
  let results = (outs Aten_FloatTensor:$result, Aten_FloatTensor:$mean, Aten_FloatTensor:$rstd);
  let assemblyFormat = [{
    $input (`weight` `(` $weight^ `)`)? (`bias` `(` $bias^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def Aten_LayerNormBackwardOp
    : Aten_Op<"native_layer_norm_backward", [Aten_Cost]> {
  let summary = "the gradients of layer_norm's input, weight and bias";
  let description = "A gradient of weight or bias may be wider than the operand (the reduce dtype).";
  let arguments = (ins Aten_FloatTensor:$grad_output, Aten_FloatTensor:$input,
      Aten_FloatTensor:$mean, Aten_FloatTensor:$rstd, Optional<Aten_FloatTensor>:$weight,
      DenseI64ArrayAttr:$normalized_shape);
  let results = (outs Aten_FloatTensor:$grad_input, Aten_FloatTensor:$grad_weight,
                      Aten_FloatTensor:$grad_bias);
  let assemblyFormat = [{
    $grad_output `,` $input `,` $mean `,` $rstd (`weight` `(` $weight^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def Aten_RmsNormOp : Aten_DifferentiableOp<"rms_norm", [Aten_Cost]> {
  let summary = "divides by the root of the mean square over `normalized_shape`";
  let description = [{
    `eps` is resolved: the machine epsilon of the type of rstd unless
    the model says otherwise. rstd is as in `layer_norm`.
  }];
  let arguments = (ins Aten_FloatTensor:$input, Optional<Aten_FloatTensor>:$weight,
                       DenseI64ArrayAttr:$normalized_shape, F64Attr:$eps);
  let results = (outs Aten_FloatTensor:$result, Aten_FloatTensor:$rstd);
  let assemblyFormat = [{
    $input (`weight` `(` $weight^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Aten_GroupNormOp
    : Aten_InferredOp<"group_norm",
        [AttrSizedOperandSegments, Aten_Cost, Aten_Composition]> {
  let summary = "normalizes each of `num_groups` groups of channels of each sample";
  let description = [{
    input [N, C, ...], weight and bias [C]. mean and rstd [N, num_groups] are f32
    (f64 for f64 operands). With one channel a group it is `instance_norm`.
  }];
  let arguments = (ins Aten_FloatTensor:$input, Optional<Aten_FloatTensor>:$weight,
      Optional<Aten_FloatTensor>:$bias, I64Attr:$num_groups, F64Attr:$eps);
  let results = (outs Aten_FloatTensor:$result, Aten_FloatTensor:$mean, Aten_FloatTensor:$rstd);
  let assemblyFormat = [{
    $input (`weight` `(` $weight^ `)`)? (`bias` `(` $bias^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def Aten_BatchNormOp
    : Aten_DifferentiableOp<"batch_norm", [AttrSizedOperandSegments, Aten_Cost]> {
  let summary = "normalizes each channel (dimension 1) over the batch";
  let description = [{
    In training, normalizes with the batch's mean and biased variance and
    returns the updated running statistics (unbiased variance, `momentum`);
    otherwise normalizes with the running statistics and returns them unchanged.
    `save_mean` and `save_invstd` are what normalization used. All statistics
    are f32 (f64 for f64 operands), whatever the input's element type. When
    `synchronized`, the batch is that of all ranks, as in SyncBatchNorm.
  }];
  let arguments = (ins Aten_FloatTensor:$input, Aten_FloatTensor:$running_mean,
      Aten_FloatTensor:$running_var, Optional<Aten_FloatTensor>:$weight,
      Optional<Aten_FloatTensor>:$bias, BoolAttr:$training, F64Attr:$momentum, F64Attr:$eps,
      UnitAttr:$synchronized);
  let results = (outs Aten_FloatTensor:$result, Aten_FloatTensor:$new_running_mean,
      Aten_FloatTensor:$new_running_var, Aten_FloatTensor:$save_mean,
      Aten_FloatTensor:$save_invstd);
  let assemblyFormat = [{
    $input `running` `(` $running_mean `,` $running_var `)`
    (`weight` `(` $weight^ `)`)? (`bias` `(` $bias^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def Aten_BatchNormBackwardOp : Aten_Op<"native_batch_norm_backward", [Aten_Cost]> {
  let summary = "the gradients of batch_norm's input, weight and bias";
  let description = "A gradient of weight or bias may be wider than the operand (the reduce dtype).";
  let arguments = (ins Aten_FloatTensor:$grad_output, Aten_FloatTensor:$input,
      Aten_FloatTensor:$save_mean, Aten_FloatTensor:$save_invstd,
      Optional<Aten_FloatTensor>:$weight, BoolAttr:$training);
  let results = (outs Aten_FloatTensor:$grad_input, Aten_FloatTensor:$grad_weight,
                      Aten_FloatTensor:$grad_bias);
  let assemblyFormat = [{
    $grad_output `,` $input `,` $save_mean `,` $save_invstd
    (`weight` `(` $weight^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

#endif // SHARDC_DIALECTS_ATEN_ATENNORMALIZATION
