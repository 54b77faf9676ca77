//===- AtenReduction.td - Sums over dimensions --------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Reductions over a list of dimensions.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENREDUCTION
#define SHARDC_DIALECTS_ATEN_ATENREDUCTION

include "dialects/Aten/AtenInterfaces.td"

class Aten_DimensionReductionOp<string mnemonic, string what>
    : Aten_DifferentiableOp<mnemonic> {
  let summary = "the " # what # " over the dimensions `dim`";
  let description = [{
    `dim` lists distinct, non-negative dimensions in increasing order; they stay
    with size 1 under `keepdim`. Element type: the operand's.
  }];
  let arguments = (ins Aten_FloatTensor:$self, DenseI64ArrayAttr:$dim,
                       DefaultValuedAttr<BoolAttr, "false">:$keepdim);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$self $dim attr-dict `:` functional-type(operands, results)";
}

def Aten_SumOp : Aten_DimensionReductionOp<"sum", "sum">;
def Aten_MeanOp : Aten_DimensionReductionOp<"mean", "mean">;

#endif // SHARDC_DIALECTS_ATEN_ATENREDUCTION
