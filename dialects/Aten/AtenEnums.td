//===- AtenEnums.td - Enumerations -------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The enumerations of the aten dialect, apart because their generator does not
// filter by dialect.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENENUMS
#define SHARDC_DIALECTS_ATEN_ATENENUMS

include "mlir/IR/EnumAttr.td"

def Aten_GeluApproximation : I32EnumAttr<"GeluApproximation",
    "how gelu computes the Gaussian distribution function",
    [I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"tanh", 1>]> {
  let cppNamespace = "::shardc::aten";
  let genSpecializedAttr = 0;
}

def Aten_Reduction : I32EnumAttr<"Reduction", "how a loss is reduced over the batch",
    [I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"mean", 1>, I32EnumAttrCase<"sum", 2>]> {
  let cppNamespace = "::shardc::aten";
  let genSpecializedAttr = 0;
}


#endif // SHARDC_DIALECTS_ATEN_ATENENUMS
