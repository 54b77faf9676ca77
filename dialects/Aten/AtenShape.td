//===- AtenShape.td - Views, joins and splits ---------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Operators that move no arithmetic: a result element is some operand element.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENSHAPE
#define SHARDC_DIALECTS_ATEN_ATENSHAPE

include "dialects/Aten/AtenInterfaces.td"

def Aten_ViewOp : Aten_DifferentiableOp<"view"> {
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

def Aten_PermuteOp : Aten_DifferentiableOp<"permute"> {
  let summary = "reorders the dimensions; `dims[i]` is the source of result dimension i";
  let description = "Stands for `transpose`, `t` and `permute`.";
  let arguments = (ins Aten_Tensor:$self, DenseI64ArrayAttr:$dims);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self $dims attr-dict `:` functional-type(operands, results)";
}

def Aten_ExpandOp : Aten_DifferentiableOp<"expand"> {
  let summary = "broadcasts to `size`";
  let arguments = (ins Aten_Tensor:$self, DenseI64ArrayAttr:$size);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self $size attr-dict `:` functional-type(operands, results)";
}

def Aten_SliceOp : Aten_DifferentiableOp<"slice"> {
  let summary = "elements [start, end) of dimension `dim`";
  let description = [{
    `start` and `end` are resolved: 0 <= start <= end <= size. One `split` is
    imported as one `slice` a piece.
  }];
  let arguments = (ins Aten_Tensor:$self, I64Attr:$dim, I64Attr:$start, I64Attr:$end);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self `dim` $dim `[` $start `:` $end `]` attr-dict `:` functional-type(operands, results)";
}

def Aten_CatOp : Aten_DifferentiableOp<"cat"> {
  let summary = "concatenates along `dim`";
  let arguments = (ins Variadic<Aten_Tensor>:$tensors, I64Attr:$dim);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$tensors `dim` $dim attr-dict `:` functional-type(operands, results)";
}

def Aten_SliceBackwardOp : Aten_InferredOp<"slice_backward"> {
  let summary = "zeros of shape `input_sizes` with the gradient in [start, end) of `dim`";
  let arguments = (ins Aten_FloatTensor:$grad_output, DenseI64ArrayAttr:$input_sizes,
                       I64Attr:$dim, I64Attr:$start, I64Attr:$end);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$grad_output `into` $input_sizes `dim` $dim `[` $start `:` $end `]` attr-dict `:` functional-type(operands, results)";
}

#endif // SHARDC_DIALECTS_ATEN_ATENSHAPE
