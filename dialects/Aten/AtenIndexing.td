//===- AtenIndexing.td - Table look-ups and constants -------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Embedding look-ups and the tensors that a program is born with.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENINDEXING
#define SHARDC_DIALECTS_ATEN_ATENINDEXING

include "dialects/Aten/AtenInterfaces.td"

def Aten_EmbeddingOp : Aten_DifferentiableOp<"embedding"> {
  let summary = "rows of `weight` at `indices`";
  let description = "weight [V, D], indices [*] -> [*, D]. The row `padding_idx` (-1: none) receives no gradient.";
  let arguments = (ins Aten_FloatTensor:$weight, Aten_IndexTensor:$indices,
                       DefaultValuedAttr<I64Attr, "-1">:$padding_idx);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$weight `,` $indices attr-dict `:` functional-type(operands, results)";
}

def Aten_EmbeddingBackwardOp : Aten_Op<"embedding_dense_backward"> {
  let summary = "sums the gradient's rows into the rows of the table";
  let description = "The result has the table's shape and its element type or a wider one.";
  let arguments = (ins Aten_FloatTensor:$grad_output, Aten_IndexTensor:$indices,
                       DefaultValuedAttr<I64Attr, "-1">:$padding_idx);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$grad_output `,` $indices attr-dict `:` functional-type(operands, results)";
}

def Aten_ConstantOp : Aten_Op<"constant", [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "a tensor known at compile time";
  let description = [{
    Small tensors only: position indices, masks and other results of folding.
    Weights never enter the IR as attributes.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
}

#endif // SHARDC_DIALECTS_ATEN_ATENINDEXING
