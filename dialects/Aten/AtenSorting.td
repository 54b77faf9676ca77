//===- AtenSorting.td - Order and counts --------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Sorting along a dimension, the largest k, look-up in a sorted sequence, and
// histograms. NaN is larger than every number. Costs: n log2(n) comparisons an
// n elements sorted; none for what only moves.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENSORTING
#define SHARDC_DIALECTS_ATEN_ATENSORTING

include "dialects/Aten/AtenInterfaces.td"

def Aten_SortOp : Aten_DifferentiableOp<"sort", [Aten_Cost]> {
  let summary = "the elements along `dim` in order, and where they were";
  let description = "Equal elements stay in order (PyTorch promises that for `stable` alone).";
  let arguments = (ins Aten_Tensor:$self, I64Attr:$dim,
                       DefaultValuedAttr<BoolAttr, "false">:$descending);
  let results = (outs Aten_Tensor:$values, Aten_IndexTensor:$indices);
  let assemblyFormat = "$self `dim` $dim attr-dict `:` functional-type(operands, results)";
}

def Aten_TopkOp : Aten_DifferentiableOp<"topk", [Aten_Cost]> {
  let summary = "the `k` largest elements along `dim` in order, and where they were";
  let description = [{
    The smallest unless `largest`. Of equal elements the first; PyTorch leaves
    their choice, and the order unless `sorted`, open.
  }];
  let arguments = (ins Aten_Tensor:$self, I64Attr:$k, I64Attr:$dim,
                       DefaultValuedAttr<BoolAttr, "true">:$largest);
  let results = (outs Aten_Tensor:$values, Aten_IndexTensor:$indices);
  let assemblyFormat = "$self `dim` $dim attr-dict `:` functional-type(operands, results)";
}

def Aten_SearchsortedOp : Aten_InferredOp<"searchsorted", [Aten_Cost, Aten_Composition]> {
  let summary = "where each element would be inserted into a sorted sequence";
  let description = [{
    `sorted_sequence` is [N], or has the leading dimensions of `self` and is
    sorted along the last. The index of the first element that is not smaller,
    or with `right` that is larger. Stands for `bucketize` too. Element type:
    i64, or i32 under `out_int32`.
  }];
  let arguments = (ins Aten_Tensor:$sorted_sequence, Aten_Tensor:$self,
                       DefaultValuedAttr<BoolAttr, "false">:$out_int32,
                       DefaultValuedAttr<BoolAttr, "false">:$right);
  let results = (outs Aten_IndexTensor:$result);
  let assemblyFormat = "$sorted_sequence `,` $self attr-dict `:` functional-type(operands, results)";
}

def Aten_HistcOp : Aten_InferredOp<"histc", [Aten_Cost, Aten_Composition]> {
  let summary = "how many elements fall into each of `bins` equal parts of [min, max]";
  let description = [{
    The last part includes `max`; elements outside count nowhere. `min` equal to
    `max` means the range of the elements.
  }];
  let arguments = (ins Aten_Tensor:$self, I64Attr:$bins, F64Attr:$min, F64Attr:$max);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self attr-dict `:` functional-type(operands, results)";
}

#endif // SHARDC_DIALECTS_ATEN_ATENSORTING
