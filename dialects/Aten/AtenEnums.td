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

def Aten_RoundingMode : I32EnumAttr<"RoundingMode",
    "how a quotient is rounded: not at all, towards zero, or downwards",
    [I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"trunc", 1>, I32EnumAttrCase<"floor", 2>]> {
  let cppNamespace = "::shardc::aten";
  let genSpecializedAttr = 0;
}

def Aten_ScatterReduction : I32EnumAttr<"ScatterReduction",
    "how elements that are scattered to one place are combined",
    [I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"prod", 1>, I32EnumAttrCase<"mean", 2>,
     I32EnumAttrCase<"amax", 3>, I32EnumAttrCase<"amin", 4>]> {
  let cppNamespace = "::shardc::aten";
  let genSpecializedAttr = 0;
}

def Aten_PadMode : I32EnumAttr<"PadMode", "what the new elements of a pad are",
    [I32EnumAttrCase<"constant", 0>, I32EnumAttrCase<"reflect", 1>,
     I32EnumAttrCase<"replicate", 2>, I32EnumAttrCase<"circular", 3>]> {
  let cppNamespace = "::shardc::aten";
  let genSpecializedAttr = 0;
}

def Aten_UpsampleMode : I32EnumAttr<"UpsampleMode",
    "how an image is read between its elements",
    [I32EnumAttrCase<"nearest", 0>, I32EnumAttrCase<"nearest_exact", 1>,
     I32EnumAttrCase<"linear", 2>, I32EnumAttrCase<"cubic", 3>]> {
  let cppNamespace = "::shardc::aten";
  let genSpecializedAttr = 0;
}

def Aten_GridSamplerInterpolation : I32EnumAttr<"GridSamplerInterpolation",
    "how grid_sampler reads between elements",
    [I32EnumAttrCase<"bilinear", 0>, I32EnumAttrCase<"nearest", 1>,
     I32EnumAttrCase<"bicubic", 2>]> {
  let cppNamespace = "::shardc::aten";
  let genSpecializedAttr = 0;
}

def Aten_GridSamplerPadding : I32EnumAttr<"GridSamplerPadding",
    "what grid_sampler reads outside of the image",
    [I32EnumAttrCase<"zeros", 0>, I32EnumAttrCase<"border", 1>,
     I32EnumAttrCase<"reflection", 2>]> {
  let cppNamespace = "::shardc::aten";
  let genSpecializedAttr = 0;
}

#endif // SHARDC_DIALECTS_ATEN_ATENENUMS
