//===- AtenComplex.td - Complex numbers ---------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The ways between complex numbers and pairs of real ones. `complex`, `polar`,
// `real`, `imag` and `conj` are imported as these and real arithmetic. The
// gradient of a complex number a + ib is that of a plus i times that of b, as in
// PyTorch.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENCOMPLEX
#define SHARDC_DIALECTS_ATEN_ATENCOMPLEX

include "dialects/Aten/AtenInterfaces.td"

def Aten_ViewAsComplexOp : Aten_DifferentiableOp<"view_as_complex", [Aten_IsView]> {
  let summary = "pairs of real numbers as complex numbers";
  let description = "self [*, 2] of f32 or f64 -> [*].";
  let arguments = (ins Aten_FloatTensor:$self);
  let results = (outs Aten_ComplexTensor:$result);
  let assemblyFormat = "$self attr-dict `:` functional-type(operands, results)";
}

def Aten_ViewAsRealOp : Aten_DifferentiableOp<"view_as_real", [Aten_IsView]> {
  let summary = "complex numbers as pairs of real numbers";
  let description = "self [*] -> [*, 2].";
  let arguments = (ins Aten_ComplexTensor:$self);
  let results = (outs Aten_FloatTensor:$result);
  let assemblyFormat = "$self attr-dict `:` functional-type(operands, results)";
}

#endif // SHARDC_DIALECTS_ATEN_ATENCOMPLEX
