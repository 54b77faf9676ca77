//===- AtenConvolution.td - Convolutions --------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and their backward forms, which compute one gradient each, so
// that each can be scheduled and placed by itself.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENCONVOLUTION
#define SHARDC_DIALECTS_ATEN_ATENCONVOLUTION

include "dialects/Aten/AtenInterfaces.td"

def Aten_ConvolutionOp : Aten_DifferentiableOp<"convolution", [Aten_Cost, Aten_PartialComposition]> {
  let summary = "convolution over 1 to 3 dimensions";
  let description = [{
    input [N, C, H, W], weight [O, C/groups, kH, kW], bias [O] -> [N, O, H', W'],
    and likewise for [N, C, W] and [N, C, D, H, W].

    With `transposed` it is the gradient of such a convolution with respect to
    its input: weight [C, O/groups, kH, kW], and H' = (H - 1) * stride -
    2 * padding + dilation * (kH - 1) + 1 + output_padding.
  }];
  let arguments = (ins Aten_FloatTensor:$input, Aten_FloatTensor:$weight,
      Optional<Aten_FloatTensor>:$bias, DenseI64ArrayAttr:$stride,
      DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilation, I64Attr:$groups,
      UnitAttr:$transposed, OptionalAttr<DenseI64ArrayAttr>:$output_padding);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$input `,` $weight (`,` $bias^)? attr-dict `:` functional-type(operands, results)";
}

class Aten_ConvolutionBackwardOp<string mnemonic> : Aten_Op<mnemonic, [Aten_Cost]> {
  let results = (outs Aten_FloatTensor:$result);
}

def Aten_ConvolutionBackwardInputOp : Aten_ConvolutionBackwardOp<"convolution_backward_input"> {
  let summary = "the gradient of a convolution's input";
  let description = "The result type is the forward input's type.";
  let arguments = (ins Aten_FloatTensor:$grad_output, Aten_FloatTensor:$weight,
      DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding,
      DenseI64ArrayAttr:$dilation, I64Attr:$groups);
  let assemblyFormat = "$grad_output `,` $weight attr-dict `:` functional-type(operands, results)";
}

def Aten_ConvolutionBackwardWeightOp : Aten_ConvolutionBackwardOp<"convolution_backward_weight"> {
  let summary = "the gradient of a convolution's weight";
  let description = "The result has the weight's shape and its element type or a wider one.";
  let arguments = (ins Aten_FloatTensor:$grad_output, Aten_FloatTensor:$input,
      DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding,
      DenseI64ArrayAttr:$dilation, I64Attr:$groups);
  let assemblyFormat = "$grad_output `,` $input attr-dict `:` functional-type(operands, results)";
}

#endif // SHARDC_DIALECTS_ATEN_ATENCONVOLUTION
