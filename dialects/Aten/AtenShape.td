//===- AtenShape.td - Views, joins and splits ---------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Operators that move no arithmetic: a result element is some operand element.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENSHAPE
#define SHARDC_DIALECTS_ATEN_ATENSHAPE

include "dialects/Aten/AtenInterfaces.td"

def Aten_ViewOp : Aten_DifferentiableOp<"view", [Aten_IsView]> {
  let summary = "the same elements in row-major order under another shape";
  let description = [{
    Stands for `view`, `reshape`, `flatten` and `unflatten`. `size` has no -1:
    the importer resolves it. As values are functional there is no question of
    aliasing; whether bytes move is decided by the kernel phase.
  }];
  let arguments = (ins Aten_Tensor:$self, DenseI64ArrayAttr:$size);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self $size attr-dict `:` functional-type(operands, results)";
}

def Aten_PermuteOp : Aten_DifferentiableOp<"permute", [Aten_IsView]> {
  let summary = "reorders the dimensions; `dims[i]` is the source of result dimension i";
  let description = "Stands for `transpose`, `t` and `permute`.";
  let arguments = (ins Aten_Tensor:$self, DenseI64ArrayAttr:$dims);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self $dims attr-dict `:` functional-type(operands, results)";
}

def Aten_ExpandOp : Aten_DifferentiableOp<"expand", [Aten_IsView]> {
  let summary = "broadcasts to `size`";
  let arguments = (ins Aten_Tensor:$self, DenseI64ArrayAttr:$size);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self $size attr-dict `:` functional-type(operands, results)";
}

def Aten_SliceOp : Aten_DifferentiableOp<"slice", [Aten_IsView]> {
  let summary = "every `step`-th element of [start, end) of dimension `dim`";
  let description = [{
    `start` and `end` are resolved: 0 <= start <= end <= size. One `split` is
    imported as one `slice` a piece.
  }];
  let arguments = (ins Aten_Tensor:$self, I64Attr:$dim, I64Attr:$start,
                       I64Attr:$end, DefaultValuedOptionalAttr<I64Attr, "1">:$step);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = [{
    $self `dim` $dim ` ` `[` $start `:` $end (`:` $step^)? `]` attr-dict
    `:` functional-type(operands, results)
  }];
}

def Aten_CatOp : Aten_DifferentiableOp<"cat"> {
  let summary = "concatenates along `dim`";
  let arguments = (ins Variadic<Aten_Tensor>:$tensors, I64Attr:$dim);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$tensors `dim` $dim attr-dict `:` functional-type(operands, results)";
}

def Aten_SliceBackwardOp : Aten_InferredOp<"slice_backward"> {
  let summary = "zeros of shape `input_sizes` with the gradient in a slice of `dim`";
  let arguments = (ins Aten_InexactTensor:$grad_output, DenseI64ArrayAttr:$input_sizes,
                       I64Attr:$dim, I64Attr:$start, I64Attr:$end,
                       DefaultValuedOptionalAttr<I64Attr, "1">:$step);
  let results = (outs Aten_InexactTensor:$result);
  let assemblyFormat = [{
    $grad_output `into` $input_sizes `dim` $dim ` ` `[` $start `:` $end
    (`:` $step^)? `]` attr-dict `:` functional-type(operands, results)
  }];
}

def Aten_SliceScatterOp : Aten_DifferentiableOp<"slice_scatter"> {
  let summary = "`self` with `src` in a slice of dimension `dim`";
  let description = "What `self[..., start:end:step, ...] = src` leaves behind; the slice is resolved as in `slice`.";
  let arguments = (ins Aten_Tensor:$self, Aten_Tensor:$src, I64Attr:$dim,
                       I64Attr:$start, I64Attr:$end,
                       DefaultValuedOptionalAttr<I64Attr, "1">:$step);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = [{
    $self `,` $src `dim` $dim ` ` `[` $start `:` $end (`:` $step^)? `]` attr-dict
    `:` functional-type(operands, results)
  }];
}

def Aten_PadModeAttr : EnumAttr<Aten_Dialect, Aten_PadMode, "pad_mode"> {
  let assemblyFormat = "`<` $value `>`";
}

def Aten_PadOp : Aten_InferredOp<"pad", [Aten_Composition]> {
  let summary = "widens or, where `pad` is negative, narrows the last dimensions";
  let description = [{
    `pad` has two numbers a dimension, before and after it, the last dimension
    first, as `torch.nn.functional.pad`. The new elements are `value`, or those
    of `self` that `mode` says.
  }];
  let arguments = (ins Aten_Tensor:$self, DenseI64ArrayAttr:$pad,
      DefaultValuedAttr<Aten_PadModeAttr, "::shardc::aten::PadMode::constant">:$mode,
      DefaultValuedAttr<F64Attr, "0.0">:$value);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self $pad attr-dict `:` functional-type(operands, results)";
}

def Aten_AsStridedOp : Aten_InferredOp<"as_strided", [Aten_Composition]> {
  let summary = "elements of `self`, taken as a row-major vector, at regular distances";
  let description = [{
    Element (i, j, ...) is the vector's element storage_offset + i * stride[0] +
    j * stride[1] + ... Stands for `as_strided`, `unfold` and `diagonal`.
  }];
  let arguments = (ins Aten_Tensor:$self, DenseI64ArrayAttr:$size,
                       DenseI64ArrayAttr:$stride, I64Attr:$storage_offset);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = [{
    $self $size `stride` $stride `offset` $storage_offset attr-dict
    `:` functional-type(operands, results)
  }];
}

def Aten_AsStridedScatterOp : Aten_InferredOp<"as_strided_scatter", [Aten_Composition]> {
  let summary = "`self` with `src` where `as_strided` would read";
  let description = "Where two elements of `src` fall into one place, the later one in row-major order stays.";
  let arguments = (ins Aten_Tensor:$self, Aten_Tensor:$src, DenseI64ArrayAttr:$size,
                       DenseI64ArrayAttr:$stride, I64Attr:$storage_offset);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = [{
    $self `,` $src $size `stride` $stride `offset` $storage_offset attr-dict
    `:` functional-type(operands, results)
  }];
}

def Aten_Col2imOp : Aten_InferredOp<"col2im", [Aten_Cost, Aten_Composition]> {
  let summary = "adds up the windows of an image where they overlap";
  let description = [{
    self [N, C * kH * kW, positions] -> [N, C, H, W] with [H, W] =
    `output_size`: the transpose of `im2col`, which is imported as `pad` and
    `as_strided`.
  }];
  let arguments = (ins Aten_Tensor:$self, DenseI64ArrayAttr:$output_size,
      DenseI64ArrayAttr:$kernel_size, DenseI64ArrayAttr:$dilation,
      DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$stride);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self attr-dict `:` functional-type(operands, results)";
}

#endif // SHARDC_DIALECTS_ATEN_ATENSHAPE
