//===- AtenPooling.td - Pooling -----------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Pooling over the last two dimensions of [N, C, H, W], or the last three of
// [N, C, D, H, W]; one dimension is imported as two.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENPOOLING
#define SHARDC_DIALECTS_ATEN_ATENPOOLING

include "dialects/Aten/AtenInterfaces.td"

class Aten_MaxPoolOp<string mnemonic, string place, list<Trait> traits = []>
    : Aten_InferredOp<mnemonic, !listconcat([Aten_Cost], traits)> {
  let summary = "the maximum of each window and where it was found";
  let description = "`indices` holds " # place # [{ of the first maximum, as ATen's.
    With `ceil_mode` a last window may reach over the padded end.
  }];
  let arguments = (ins Aten_FloatTensor:$self, DenseI64ArrayAttr:$kernel_size,
      DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding,
      DenseI64ArrayAttr:$dilation, DefaultValuedAttr<BoolAttr, "false">:$ceil_mode);
  let results = (outs Aten_FloatTensor:$result, Aten_IndexTensor:$indices);
  let assemblyFormat = "$self attr-dict `:` functional-type(operands, results)";
}

def Aten_MaxPool2dOp
    : Aten_MaxPoolOp<"max_pool2d_with_indices", "h * W + w",
        [DeclareOpInterfaceMethods<Aten_DifferentiableOpInterface>]>;
def Aten_MaxPool3dOp
    : Aten_MaxPoolOp<"max_pool3d_with_indices", "(d * H + h) * W + w",
        [Aten_Composition]>;

def Aten_MaxPool2dBackwardOp
    : Aten_Op<"max_pool2d_with_indices_backward", [Aten_Cost]> {
  let summary = "the gradient of max_pool2d's input";
  let description = "The result type is the forward input's type.";
  let arguments = (ins Aten_FloatTensor:$grad_output, Aten_IndexTensor:$indices,
      DenseI64ArrayAttr:$kernel_size, DenseI64ArrayAttr:$stride,
      DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilation);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$grad_output `,` $indices attr-dict `:` functional-type(operands, results)";
}

class Aten_AvgPoolOp<string mnemonic>
    : Aten_InferredOp<mnemonic, [Aten_Cost, Aten_Composition]> {
  let summary = "the mean of each window";
  let description = [{
    A window's sum is divided by `divisor_override`, or else by the number of its
    elements: with `count_include_pad` those in the padding count. With
    `ceil_mode` a last window may reach over the padded end; what is beyond the
    padding never counts.
  }];
  let arguments = (ins Aten_FloatTensor:$self, DenseI64ArrayAttr:$kernel_size,
      DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding,
      DefaultValuedAttr<BoolAttr, "false">:$ceil_mode,
      DefaultValuedAttr<BoolAttr, "true">:$count_include_pad,
      OptionalAttr<I64Attr>:$divisor_override);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$self attr-dict `:` functional-type(operands, results)";
}

def Aten_AvgPool2dOp : Aten_AvgPoolOp<"avg_pool2d">;
def Aten_AvgPool3dOp : Aten_AvgPoolOp<"avg_pool3d">;

defvar Aten_AdaptiveWindows = [{
  Window i of a dimension is [floor(i * size / output), ceil((i + 1) * size /
  output)): windows of one size that tile the dimension where `output_size`
  divides it, and overlapping ones elsewhere.
}];

def Aten_AdaptiveAvgPool2dOp
    : Aten_DifferentiableOp<"adaptive_avg_pool2d", [Aten_Cost, Aten_PartialComposition]> {
  let summary = "means over windows that cover [H, W] in `output_size` positions";
  let description = Aten_AdaptiveWindows;
  let arguments = (ins Aten_FloatTensor:$self, DenseI64ArrayAttr:$output_size);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$self $output_size attr-dict `:` functional-type(operands, results)";
}

def Aten_AdaptiveAvgPool3dOp
    : Aten_InferredOp<"adaptive_avg_pool3d", [Aten_Cost, Aten_Composition]> {
  let summary = "means over windows that cover [D, H, W] in `output_size` positions";
  let description = Aten_AdaptiveWindows;
  let arguments = (ins Aten_FloatTensor:$self, DenseI64ArrayAttr:$output_size);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$self $output_size attr-dict `:` functional-type(operands, results)";
}

def Aten_AdaptiveAvgPool2dBackwardOp
    : Aten_Op<"adaptive_avg_pool2d_backward", [Aten_Cost]> {
  let summary = "the gradient of adaptive_avg_pool2d's input";
  let description = "The result type is the forward input's type.";
  let arguments = (ins Aten_FloatTensor:$grad_output);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$grad_output attr-dict `:` functional-type(operands, results)";
}

class Aten_AdaptiveMaxPoolOp<string mnemonic>
    : Aten_InferredOp<mnemonic, [Aten_Cost, Aten_Composition]> {
  let summary = "maxima over windows that cover the image, and where they were found";
  let description = Aten_AdaptiveWindows;
  let arguments = (ins Aten_FloatTensor:$self, DenseI64ArrayAttr:$output_size);
  let results = (outs Aten_FloatTensor:$result, Aten_IndexTensor:$indices);
  let assemblyFormat = "$self $output_size attr-dict `:` functional-type(operands, results)";
}

def Aten_AdaptiveMaxPool2dOp : Aten_AdaptiveMaxPoolOp<"adaptive_max_pool2d">;
def Aten_AdaptiveMaxPool3dOp : Aten_AdaptiveMaxPoolOp<"adaptive_max_pool3d">;

#endif // SHARDC_DIALECTS_ATEN_ATENPOOLING
