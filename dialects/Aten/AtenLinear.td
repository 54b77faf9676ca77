//===- AtenLinear.td - Linear layers and convolutions -------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The matrix operators. Their backward forms compute one gradient each, so that
// each can be scheduled and placed by itself; a weight gradient may be wider
// than its operands (the reduce dtype), because the accumulator is.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENLINEAR
#define SHARDC_DIALECTS_ATEN_ATENLINEAR

include "dialects/Aten/AtenInterfaces.td"

def Aten_LinearOp : Aten_DifferentiableOp<"linear", [Aten_Cost]> {
  let summary = "input @ weight^T + bias";
  let description = "input [*, in], weight [out, in], bias [out] -> [*, out]; all of one element type.";
  let arguments = (ins Aten_FloatTensor:$input, Aten_FloatTensor:$weight,
                       Optional<Aten_FloatTensor>:$bias);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$input `,` $weight (`,` $bias^)? attr-dict `:` functional-type(operands, results)";
}

def Aten_LinearBackwardInputOp : Aten_InferredOp<"linear_backward_input", [Aten_Cost]> {
  let summary = "grad_output @ weight";
  let arguments = (ins Aten_FloatTensor:$grad_output, Aten_FloatTensor:$weight);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$grad_output `,` $weight attr-dict `:` functional-type(operands, results)";
}

def Aten_LinearBackwardWeightOp : Aten_Op<"linear_backward_weight", [Aten_Cost]> {
  let summary = "grad_output^T @ input over all leading dimensions";
  let description = "The result's element type is the operands' or wider.";
  let arguments = (ins Aten_FloatTensor:$grad_output, Aten_FloatTensor:$input);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$grad_output `,` $input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Aten_ConvolutionOp : Aten_DifferentiableOp<"convolution", [Aten_Cost]> {
  let summary = "2-d convolution";
  let description = "input [N, C, H, W], weight [O, C/groups, kH, kW], bias [O] -> [N, O, H', W'].";
  let arguments = (ins Aten_FloatTensor:$input, Aten_FloatTensor:$weight,
      Optional<Aten_FloatTensor>:$bias, DenseI64ArrayAttr:$stride,
      DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilation, I64Attr:$groups);
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

#endif // SHARDC_DIALECTS_ATEN_ATENLINEAR
