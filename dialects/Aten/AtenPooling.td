//===- AtenPooling.td - Pooling -----------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Pooling over the last two dimensions of [N, C, H, W].
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENPOOLING
#define SHARDC_DIALECTS_ATEN_ATENPOOLING

include "dialects/Aten/AtenInterfaces.td"

def Aten_MaxPool2dOp : Aten_DifferentiableOp<"max_pool2d_with_indices"> {
  let summary = "the maximum of each window and where it was found";
  let description = "`indices` holds h * W + w of the first maximum, as ATen's.";
  let arguments = (ins Aten_FloatTensor:$self, DenseI64ArrayAttr:$kernel_size,
      DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilation);
  let results = (outs Aten_FloatTensor:$result, Aten_IndexTensor:$indices);
  let assemblyFormat = "$self attr-dict `:` functional-type(operands, results)";
}

def Aten_MaxPool2dBackwardOp : Aten_Op<"max_pool2d_with_indices_backward"> {
  let summary = "the gradient of max_pool2d's input";
  let description = "The result type is the forward input's type.";
  let arguments = (ins Aten_FloatTensor:$grad_output, Aten_IndexTensor:$indices,
      DenseI64ArrayAttr:$kernel_size, DenseI64ArrayAttr:$stride,
      DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilation);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$grad_output `,` $indices attr-dict `:` functional-type(operands, results)";
}

def Aten_AdaptiveAvgPool2dOp : Aten_DifferentiableOp<"adaptive_avg_pool2d"> {
  let summary = "means over windows that tile [H, W] into `output_size`";
  let description = "`output_size` divides [H, W]; the importer refuses other sizes.";
  let arguments = (ins Aten_FloatTensor:$self, DenseI64ArrayAttr:$output_size);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$self $output_size attr-dict `:` functional-type(operands, results)";
}

def Aten_AdaptiveAvgPool2dBackwardOp : Aten_Op<"adaptive_avg_pool2d_backward"> {
  let summary = "the gradient of adaptive_avg_pool2d's input";
  let description = "The result type is the forward input's type.";
  let arguments = (ins Aten_FloatTensor:$grad_output);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$grad_output attr-dict `:` functional-type(operands, results)";
}

#endif // SHARDC_DIALECTS_ATEN_ATENPOOLING
