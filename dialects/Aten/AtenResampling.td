//===- AtenResampling.td - Images under another grid --------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Operators that read an image between its elements.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENRESAMPLING
#define SHARDC_DIALECTS_ATEN_ATENRESAMPLING

include "dialects/Aten/AtenInterfaces.td"

def Aten_UpsampleModeAttr
    : EnumAttr<Aten_Dialect, Aten_UpsampleMode, "upsample_mode"> {
  let assemblyFormat = "`<` $value `>`";
}

def Aten_ResampleOp : Aten_DifferentiableOp<"resample", [Aten_Cost]> {
  let summary = "weighted sums of a few elements along `dim`";
  let description = [{
    Element i along `dim` of the result is the sum over k < `taps` of
    weights[i * taps + k] * self[indices[i * taps + k]]; an index of -1 adds
    nothing. Without `weights`, which only floats may have, they are 1, and
    `taps` of 1 moves elements of any type. What upsampling, average pooling,
    padding, `roll` and `flip` are, one dimension after the other; its
    derivative is one too.
  }];
  let arguments = (ins Aten_Tensor:$self, I64Attr:$dim, I64Attr:$taps,
      DenseI64ArrayAttr:$indices, OptionalAttr<DenseF64ArrayAttr>:$weights);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self `dim` $dim `at` $indices attr-dict `:` functional-type(operands, results)";
}

def Aten_UpsampleOp : Aten_InferredOp<"upsample", [Aten_Cost, Aten_Composition]> {
  let summary = "the image at `output_size` positions a dimension";
  let description = [{
    self [N, C, ...] with 1 to 3 dimensions more, one of `output_size` each.
    Stands for `upsample_nearest1d` to `3d`, `_upsample_nearest_exact1d` to `3d`,
    `upsample_linear1d`, `upsample_bilinear2d`, `upsample_trilinear3d` and
    `upsample_bicubic2d`.

    `scales` are the factors that the model gave, by which positions are
    computed; without them, and under `align_corners`, the sizes' quotient is.
    With `antialias` the filter is as wide as the image shrinks.
  }];
  let arguments = (ins Aten_Tensor:$self, DenseI64ArrayAttr:$output_size,
      Aten_UpsampleModeAttr:$mode, DefaultValuedAttr<BoolAttr, "false">:$align_corners,
      DefaultValuedAttr<BoolAttr, "false">:$antialias,
      OptionalAttr<DenseF64ArrayAttr>:$scales);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self $output_size attr-dict `:` functional-type(operands, results)";
}

def Aten_GridSamplerInterpolationAttr
    : EnumAttr<Aten_Dialect, Aten_GridSamplerInterpolation, "grid_interpolation"> {
  let assemblyFormat = "`<` $value `>`";
}
def Aten_GridSamplerPaddingAttr
    : EnumAttr<Aten_Dialect, Aten_GridSamplerPadding, "grid_padding"> {
  let assemblyFormat = "`<` $value `>`";
}

def Aten_GridSamplerOp : Aten_InferredOp<"grid_sampler", [Aten_Cost, Aten_Composition]> {
  let summary = "the image at the positions in `grid`";
  let description = [{
    input [N, C, H, W], grid [N, H', W', 2] of (x, y) in [-1, 1] -> [N, C, H', W'],
    and likewise with a third dimension. With `align_corners` -1 and 1 are the
    middles of the outermost elements, else their outer edges.
  }];
  let arguments = (ins Aten_FloatTensor:$input, Aten_FloatTensor:$grid,
      Aten_GridSamplerInterpolationAttr:$interpolation_mode,
      Aten_GridSamplerPaddingAttr:$padding_mode, BoolAttr:$align_corners);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$input `,` $grid attr-dict `:` functional-type(operands, results)";
}

#endif // SHARDC_DIALECTS_ATEN_ATENRESAMPLING
