//===- AtenIndexing.td - Look-ups by index, triangles, constants --*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Operators that take elements from where index tensors say, or put them there,
// those that move elements by a fixed pattern, and the tensors that a program is
// born with.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENINDEXING
#define SHARDC_DIALECTS_ATEN_ATENINDEXING

include "dialects/Aten/AtenInterfaces.td"

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

def Aten_EmbeddingOp : Aten_DifferentiableOp<"embedding"> {
  let summary = "rows of `weight` at `indices`";
  let description = "weight [V, D], indices [*] -> [*, D]. The row `padding_idx` (-1: none) receives no gradient.";
  let arguments = (ins Aten_FloatTensor:$weight, Aten_IndexTensor:$indices,
                       DefaultValuedAttr<I64Attr, "-1">:$padding_idx);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$weight `,` $indices attr-dict `:` functional-type(operands, results)";
}

def Aten_EmbeddingBackwardOp : Aten_Op<"embedding_dense_backward", [Aten_Cost]> {
  let summary = "sums the gradient's rows into the rows of the table";
  let description = "The result has the table's shape and its element type or a wider one.";
  let arguments = (ins Aten_FloatTensor:$grad_output, Aten_IndexTensor:$indices,
                       DefaultValuedAttr<I64Attr, "-1">:$padding_idx);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$grad_output `,` $indices attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Indices along one dimension
//===----------------------------------------------------------------------===//

def Aten_GatherOp : Aten_DifferentiableOp<"gather"> {
  let summary = "the elements at `index` along `dim`, at equal places in the other dimensions";
  let description = [{
    `index` has the rank of `self` and is nowhere larger outside of `dim`. The
    result has its shape: result[i, j] = self[index[i, j], j] for `dim` 0.
  }];
  let arguments = (ins Aten_Tensor:$self, I64Attr:$dim, Aten_IndexTensor:$index);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self `dim` $dim `at` $index attr-dict `:` functional-type(operands, results)";
}

def Aten_ScatterOp : Aten_DifferentiableOp<"scatter"> {
  let summary = "self with the elements of `src` put at `index` along `dim`";
  let description = [{
    The inverse of `gather`: result[index[i, j], j] = src[i, j] for `dim` 0. Of
    elements for one place the last stays; PyTorch leaves that open.
  }];
  let arguments = (ins Aten_Tensor:$self, I64Attr:$dim, Aten_IndexTensor:$index,
                       Aten_Tensor:$src);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self `dim` $dim `at` $index `from` $src attr-dict `:` functional-type(operands, results)";
}

def Aten_ScatterReductionAttr
    : EnumAttr<Aten_Dialect, Aten_ScatterReduction, "scatter_reduction"> {
  let assemblyFormat = "`<` $value `>`";
}

def Aten_ScatterReduceOp
    : Aten_DifferentiableOp<"scatter_reduce", [Aten_Cost, Aten_PartialComposition]> {
  let summary = "self combined with the elements of `src` at `index` along `dim`";
  let description = [{
    As `scatter`, but elements for one place are combined, with the element of
    `self` that was there unless `include_self` is false. Places that no element
    is for stay. Stands for `scatter_add` too.
  }];
  let arguments = (ins Aten_Tensor:$self, I64Attr:$dim, Aten_IndexTensor:$index,
                       Aten_Tensor:$src, Aten_ScatterReductionAttr:$reduce,
                       DefaultValuedAttr<BoolAttr, "true">:$include_self);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self `dim` $dim `at` $index `from` $src attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Index tensors of several dimensions
//===----------------------------------------------------------------------===//

def Aten_IndexOp : Aten_DifferentiableOp<"index"> {
  let summary = "`self[:, i, j, :]` with index tensors";
  let description = [{
    `dims` says, in increasing order, which dimension each index tensor is for;
    the others are whole. The index tensors broadcast to one shape. It replaces
    their dimensions where these are neighbours, and comes first otherwise, as
    NumPy has it. A negative index counts from the end. Stands for
    `index_select` too.
  }];
  let arguments = (ins Aten_Tensor:$self, Variadic<Aten_IndexTensor>:$indices,
                       DenseI64ArrayAttr:$dims);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self `at` $indices `of` $dims attr-dict `:` functional-type(operands, results)";
}

def Aten_IndexPutOp : Aten_DifferentiableOp<"index_put", [Aten_Cost]> {
  let summary = "self with `values` at `self[:, i, j, :]`";
  let description = [{
    The places are those of `aten.index`; `values` broadcasts to their shape. With
    `accumulate` the values are added to what was there, each of several for one
    place; without, the last of them stays. Stands for `index_add`, `index_copy`
    and `index_fill` too.
  }];
  let arguments = (ins Aten_Tensor:$self, Variadic<Aten_IndexTensor>:$indices,
                       Aten_Tensor:$values, DenseI64ArrayAttr:$dims,
                       DefaultValuedAttr<BoolAttr, "false">:$accumulate);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self `at` $indices `of` $dims `from` $values attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    /// The shape of the places, to which the values broadcast.
    ::llvm::FailureOr<::llvm::SmallVector<int64_t>> getIndexedShape();
  }];
}

def Aten_MaskedScatterOp : Aten_InferredOp<"masked_scatter", [Aten_Composition]> {
  let summary = "self with the first elements of `source` where the mask holds";
  let description = [{
    The mask broadcasts with `self`. The n-th true element of the mask, in
    row-major order, takes the n-th element of `source`, which has to have
    enough.
  }];
  let arguments = (ins Aten_Tensor:$self, Aten_BoolTensor:$mask, Aten_Tensor:$source);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self `,` $mask `,` $source attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Fixed patterns
//===----------------------------------------------------------------------===//

def Aten_RollOp : Aten_InferredOp<"roll", [Aten_Composition]> {
  let summary = "moves the elements by `shifts` along `dims`, around the end";
  let arguments = (ins Aten_Tensor:$self, DenseI64ArrayAttr:$shifts, DenseI64ArrayAttr:$dims);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self `by` $shifts `along` $dims attr-dict `:` functional-type(operands, results)";
}

def Aten_FlipOp : Aten_InferredOp<"flip", [Aten_Composition]> {
  let summary = "reverses the order along `dims`";
  let arguments = (ins Aten_Tensor:$self, DenseI64ArrayAttr:$dims);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self $dims attr-dict `:` functional-type(operands, results)";
}

class Aten_TriangleOp<string mnemonic, string what>
    : Aten_InferredOp<mnemonic, [Aten_Composition]> {
  let summary = what # " of each matrix, zero elsewhere";
  let arguments = (ins Aten_Tensor:$self, DefaultValuedAttr<I64Attr, "0">:$diagonal);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self attr-dict `:` functional-type(operands, results)";
}

def Aten_TrilOp : Aten_TriangleOp<"tril", "the elements on and below the diagonal">;
def Aten_TriuOp : Aten_TriangleOp<"triu", "the elements on and above the diagonal">;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

def Aten_ConstantOp : Aten_Op<"constant", [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "a tensor known at compile time";
  let description = [{
    Small tensors, or large ones of equal elements: position indices, masks and
    other results of folding. Weights never enter the IR as attributes.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
}

#endif // SHARDC_DIALECTS_ATEN_ATENINDEXING
