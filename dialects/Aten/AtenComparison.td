//===- AtenComparison.td - Comparisons and choices ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Operators whose result is a boolean an element, and the choice by one.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENCOMPARISON
#define SHARDC_DIALECTS_ATEN_ATENCOMPARISON

include "dialects/Aten/AtenElementwise.td"

class Aten_ComparisonOp<string mnemonic, string what>
    : Aten_InferredOp<mnemonic, [Aten_Pointwise]> {
  let summary = what # ", with broadcasting";
  let description = "The operands are compared in their promoted type.";
  let arguments = (ins Aten_Tensor:$self, Aten_Tensor:$other);
  let results = (outs Aten_BoolTensor:$result);
  let assemblyFormat = "$self `,` $other attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = Aten_InferBoolean;
}

def Aten_EqOp : Aten_ComparisonOp<"eq", "self == other">;
def Aten_NeOp : Aten_ComparisonOp<"ne", "self != other">;
def Aten_LtOp : Aten_ComparisonOp<"lt", "self < other">;
def Aten_LeOp : Aten_ComparisonOp<"le", "self <= other">;
def Aten_GtOp : Aten_ComparisonOp<"gt", "self > other">;
def Aten_GeOp : Aten_ComparisonOp<"ge", "self >= other">;
def Aten_LogicalAndOp : Aten_ComparisonOp<"logical_and", "whether both are not zero">;
def Aten_LogicalOrOp : Aten_ComparisonOp<"logical_or", "whether one is not zero">;
def Aten_LogicalXorOp : Aten_ComparisonOp<"logical_xor", "whether exactly one is not zero">;

class Aten_ScalarComparisonOp<string mnemonic, string what>
    : Aten_InferredOp<mnemonic, [Aten_Pointwise]> {
  let summary = what # " for a Python scalar";
  let description = [{
    The scalar is rounded to the tensor's element type before the comparison.
    `other` is an integer attribute for an integer tensor and a floating-point
    attribute otherwise.
  }];
  let arguments = (ins Aten_Tensor:$self, TypedAttrInterface:$other);
  let results = (outs Aten_BoolTensor:$result);
  let assemblyFormat = "$self `,` $other attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = Aten_InferBoolean;
}

def Aten_EqScalarOp : Aten_ScalarComparisonOp<"eq.Scalar", "self == other">;
def Aten_NeScalarOp : Aten_ScalarComparisonOp<"ne.Scalar", "self != other">;
def Aten_LtScalarOp : Aten_ScalarComparisonOp<"lt.Scalar", "self < other">;
def Aten_LeScalarOp : Aten_ScalarComparisonOp<"le.Scalar", "self <= other">;
def Aten_GtScalarOp : Aten_ScalarComparisonOp<"gt.Scalar", "self > other">;
def Aten_GeScalarOp : Aten_ScalarComparisonOp<"ge.Scalar", "self >= other">;

class Aten_PredicateOp<string mnemonic, string what, Type operand = Aten_FloatTensor>
    : Aten_InferredOp<mnemonic, [Aten_Pointwise]> {
  let summary = what;
  let arguments = (ins operand:$self);
  let results = (outs Aten_BoolTensor:$result);
  let assemblyFormat = "$self attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = Aten_InferBoolean;
}

def Aten_LogicalNotOp : Aten_PredicateOp<"logical_not", "whether self is zero", Aten_Tensor>;
def Aten_IsNanOp : Aten_PredicateOp<"isnan", "whether self is not a number">;
def Aten_IsInfOp : Aten_PredicateOp<"isinf", "whether self is infinite">;
def Aten_IsFiniteOp : Aten_PredicateOp<"isfinite", "whether self is a finite number">;

def Aten_WhereOp : Aten_DifferentiableOp<"where", [Aten_Pointwise]> {
  let summary = "self where the condition holds, else other";
  let description = [{
    All three broadcast; the element type is that of `self` and `other`
    promoted. Stands for `masked_fill` too, with the attribute `shardc.fills`
    until the precision phase where it fills with a number.
  }];
  let arguments = (ins Aten_BoolTensor:$condition, Aten_Tensor:$self, Aten_Tensor:$other);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$condition `,` $self `,` $other attr-dict `:` functional-type(operands, results)";
}

#endif // SHARDC_DIALECTS_ATEN_ATENCOMPARISON
