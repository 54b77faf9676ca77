//===- AtenReduction.td - Reductions and scans --------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Reductions over a list of dimensions or along one, and running sums. `std`,
// norms and `count_nonzero` are imported as several of these.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENREDUCTION
#define SHARDC_DIALECTS_ATEN_ATENREDUCTION

include "dialects/Aten/AtenInterfaces.td"

/// A reduction costs one operation an element that it reads.
defvar Aten_FlopsOfSelf = [{
  int64_t $cppClass::getFlops() { return tensorType(getSelf()).getNumElements(); }
}];

/// Type inference of a reduction, with the element type that `element` (a
/// function of TypePromotion.h) makes of the operand's.
class Aten_InferReduction<string element> {
  string definition = Aten_FlopsOfSelf # [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, std::optional<::mlir::Location> location,
        Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return inferReduction(location, adaptor.getSelf(), adaptor.getDim(),
                            adaptor.getKeepdim(), }] # element # [{, types);
    }
  }];
}

class Aten_DimensionReductionOp<string mnemonic, string what, Type operand,
                                string element = "sameElement", list<Trait> traits = []>
    : Aten_InferredOp<mnemonic, !listconcat([Aten_Cost], traits)> {
  let summary = what # " over the dimensions `dim`";
  let description = [{
    `dim` lists distinct, non-negative dimensions in increasing order; they stay
    with size 1 under `keepdim`. Element type: the operand's, except that sums
    and products of integers and booleans are i64, and `any` and `all` are
    boolean (ui8 of ui8).
  }];
  let arguments = (ins operand:$self, DenseI64ArrayAttr:$dim,
                       DefaultValuedAttr<BoolAttr, "false">:$keepdim);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self $dim attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = Aten_InferReduction<element>.definition;
}

defvar Aten_DerivativeOfReduction = DeclareOpInterfaceMethods<Aten_DifferentiableOpInterface>;

def Aten_SumOp : Aten_DimensionReductionOp<"sum", "the sum", Aten_Tensor, "sumElement",
                                           [Aten_DerivativeOfReduction]>;
def Aten_MeanOp : Aten_DimensionReductionOp<"mean", "the mean", Aten_Tensor, "sameElement",
                                            [Aten_DerivativeOfReduction]> {
  let hasVerifier = 1;
}
def Aten_ProdOp : Aten_DimensionReductionOp<"prod", "the product", Aten_Tensor, "sumElement",
                                            [Aten_DerivativeOfReduction]>;
def Aten_AmaxOp : Aten_DimensionReductionOp<"amax", "the maximum, or NaN where there is one,", Aten_Tensor,
                                            "sameElement", [Aten_DerivativeOfReduction]> {
  let description = "Equal extremes share the gradient alike.";
  let hasVerifier = 1;
}
def Aten_AminOp : Aten_DimensionReductionOp<"amin", "the minimum, or NaN where there is one,", Aten_Tensor,
                                            "sameElement", [Aten_DerivativeOfReduction]> {
  let description = "Equal extremes share the gradient alike.";
  let hasVerifier = 1;
}
def Aten_AnyOp : Aten_DimensionReductionOp<"any", "whether one element is not zero", Aten_Tensor, "truthElement">;
def Aten_AllOp : Aten_DimensionReductionOp<"all", "whether no element is zero", Aten_Tensor, "truthElement">;
def Aten_LogsumexpOp : Aten_DimensionReductionOp<"logsumexp", "log(sum(exp(self))) without overflow",
                                                 Aten_FloatTensor, "sameElement", [Aten_DerivativeOfReduction]>;

def Aten_VarOp : Aten_DimensionReductionOp<"var", "the variance", Aten_FloatTensor,
                                           "sameElement", [Aten_DerivativeOfReduction]> {
  let description = [{
    The sum of squared distances from the mean, divided by the number of
    elements minus `correction` (1: the sample variance), or by 0 where that is
    negative.
  }];
  let arguments = (ins Aten_FloatTensor:$self, DenseI64ArrayAttr:$dim, F64Attr:$correction,
                       DefaultValuedAttr<BoolAttr, "false">:$keepdim);
}

/// Reductions along one dimension that say where the element was found.
class Aten_ArgReductionOp<string mnemonic, string what, list<Trait> traits = []>
    : Aten_InferredOp<mnemonic, !listconcat([Aten_Cost], traits)> {
  let summary = what # " along `dim`";
  let description = "The first of equal elements; NaN counts as the extreme.";
  let arguments = (ins Aten_Tensor:$self, I64Attr:$dim,
                       DefaultValuedAttr<BoolAttr, "false">:$keepdim);
  let assemblyFormat = "$self `dim` $dim attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = Aten_FlopsOfSelf # [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, std::optional<::mlir::Location> location,
        Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return inferArgReduction(location, adaptor.getSelf(), adaptor.getDim(),
                               adaptor.getKeepdim(), getNumberOfResults(), types);
    }
  }];
}

def Aten_ArgmaxOp : Aten_ArgReductionOp<"argmax", "the index of the maximum"> {
  let results = (outs Aten_IndexTensor:$result);
  let extraClassDeclaration = "static unsigned getNumberOfResults() { return 1; }";
}
def Aten_ArgminOp : Aten_ArgReductionOp<"argmin", "the index of the minimum"> {
  let results = (outs Aten_IndexTensor:$result);
  let extraClassDeclaration = "static unsigned getNumberOfResults() { return 1; }";
}
def Aten_MaxDimOp : Aten_ArgReductionOp<"max.dim", "the maximum and its index", [Aten_DerivativeOfReduction]> {
  let results = (outs Aten_Tensor:$values, Aten_IndexTensor:$indices);
  let extraClassDeclaration = "static unsigned getNumberOfResults() { return 2; }";
}
def Aten_MinDimOp : Aten_ArgReductionOp<"min.dim", "the minimum and its index", [Aten_DerivativeOfReduction]> {
  let results = (outs Aten_Tensor:$values, Aten_IndexTensor:$indices);
  let extraClassDeclaration = "static unsigned getNumberOfResults() { return 2; }";
}

class Aten_ScanOp<string mnemonic, string what>
    : Aten_InferredOp<mnemonic, [Aten_Cost, Aten_DerivativeOfReduction]> {
  let summary = what # " up to each element along `dim`";
  let description = "Integers and booleans give i64.";
  let arguments = (ins Aten_Tensor:$self, I64Attr:$dim);
  let results = (outs Aten_Tensor:$result);
  let assemblyFormat = "$self `dim` $dim attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = Aten_FlopsOfSelf # [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, std::optional<::mlir::Location> location,
        Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return inferScan(location, adaptor.getSelf(), adaptor.getDim(), types);
    }
  }];
}

def Aten_CumsumOp : Aten_ScanOp<"cumsum", "the sum">;
def Aten_CumprodOp : Aten_ScanOp<"cumprod", "the product">;

#endif // SHARDC_DIALECTS_ATEN_ATENREDUCTION
