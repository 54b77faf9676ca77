//===- AtenLinear.td - Linear layers and matrix products ----------*- tablegen -*-===//
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

def Aten_MatmulOp : Aten_DifferentiableOp<"matmul", [Aten_Cost]> {
  let summary = "self @ other, a matrix product for each batch index";
  let description = [{
    self [*, n, k], other [*, k, m] -> [*, n, m]; the leading dimensions
    broadcast and the element types are equal. Stands for `mm`, `bmm` and
    `matmul`; vectors are matrices with one row or column.
  }];
  let arguments = (ins Aten_Tensor:$self, Aten_Tensor:$other);
  let results = (outs Aten_Tensor:$result);
  let extraClassDeclaration = "std::string describeUnsupportedForm();";
  let assemblyFormat = "$self `,` $other attr-dict `:` functional-type(operands, results)";
}

def Aten_GroupedMmOp : Aten_DifferentiableOp<"grouped_mm", [Aten_Cost, Aten_PartialComposition]> {
  let summary = "multiplies groups of rows by a matrix each";
  let description = [{
    self [n, k], mat2 [groups, k, m], offs [groups] -> [n, m]: rows
    [offs[g - 1], offs[g]) of `self` are multiplied by `mat2[g]`, as the experts
    of a mixture do. Rows from the last offset on are zero.
  }];
  let arguments = (ins Aten_FloatTensor:$self, Aten_FloatTensor:$mat2,
                       Aten_IndexTensor:$offs);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$self `,` $mat2 `,` $offs attr-dict `:` functional-type(operands, results)";
}

def Aten_GroupedMmBackwardMat2Op : Aten_Op<"grouped_mm_backward_mat2", [Aten_Cost]> {
  let summary = "self^T @ grad_output of each group of rows";
  let description = [{
    grad_output [n, m], self [n, k], offs [groups] -> [groups, k, m]. The matrix of
    a group without rows is zero. The result's element type is the operands' or
    wider.
  }];
  let arguments = (ins Aten_FloatTensor:$grad_output, Aten_FloatTensor:$self,
                       Aten_IndexTensor:$offs);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$grad_output `,` $self `,` $offs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // SHARDC_DIALECTS_ATEN_ATENLINEAR
