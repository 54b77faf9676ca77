//===- AtenInterfaces.td - Per-operator behaviour -----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What a pass may ask of an operator without knowing which one it is: its
// derivative, its cost, and its loop nest.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ATEN_ATENINTERFACES
#define SHARDC_DIALECTS_ATEN_ATENINTERFACES

include "dialects/Aten/AtenDialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Aten_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::shardc::aten";
  let description = [{
    An operator with a reverse-mode derivative. The rule of each operator is the
    one in PyTorch's `tools/autograd/derivatives.yaml`.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the gradients of the operands at the builder's insertion point.

        `resultGradients` has one entry a result, null where no gradient flows.
        `needed` has one entry an operand. On return `operandGradients` has one
        entry an operand: null where `needed` is false or the derivative is
        zero, else a value of exactly the operand's type.
      }],
      "void", "buildBackward",
      (ins "::mlir::OpBuilder &":$builder,
           "::mlir::ArrayRef<::mlir::Value>":$resultGradients,
           "::mlir::ArrayRef<bool>":$needed,
           "::mlir::SmallVectorImpl<::mlir::Value> &":$operandGradients)>,
    InterfaceMethod<[{
        Says what about this operator neither its derivative nor its kernel can
        handle yet, as "transposed=true"; empty where it can be trained.
      }],
      "std::string", "describeUnsupportedForm", (ins), /*methodBody=*/[{}],
      /*defaultImplementation=*/[{ return ""; }]>,
    InterfaceMethod<[{
        Says whether the rule takes gradients of all results. Of most operators
        the further results are statistics for backward, without a derivative.
      }],
      "bool", "differentiatesAllResults", (ins), /*methodBody=*/[{}],
      /*defaultImplementation=*/[{ return false; }]>
  ];
}

def Aten_DecomposableOpInterface : OpInterface<"DecomposableOpInterface"> {
  let cppNamespace = "::shardc::aten";
  let description = [{
    An operator that trains as a composition of others, which have a derivative
    and a kernel each: `shardc-decompose-operators` replaces it before
    differentiation.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds operators that compute the same at the builder's insertion point
        and appends a value of the result's type for each result.
      }],
      "void", "decompose",
      (ins "::mlir::OpBuilder &":$builder,
           "::mlir::SmallVectorImpl<::mlir::Value> &":$results)>,
    InterfaceMethod<[{
        Says whether this form is a composition; the others train as they are.
      }],
      "bool", "isComposition", (ins), /*methodBody=*/[{}],
      /*defaultImplementation=*/[{ return true; }]>
  ];
}

def Aten_CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::shardc::aten";
  let description = [{
    What an operator costs, for planning. Every operator has it; an operator
    that is neither point-wise nor moves data alone says its own `getFlops`.
  }];
  let methods = [
    InterfaceMethod<[{
        Returns the floating-point operations of one execution, where a
        multiply-add counts as two. A point-wise operator counts one an element
        of its result, whatever the function: planners weigh these by bytes.
      }],
      "int64_t", "getFlops", (ins), /*methodBody=*/[{}],
      /*defaultImplementation=*/[{ return defaultFlops($_op); }]>,
    InterfaceMethod<[{
        Returns the bytes that one execution reads and writes when nothing is
        fused: those of every operand and result, and none for a view.
      }],
      "int64_t", "getBytes", (ins), /*methodBody=*/[{}],
      /*defaultImplementation=*/[{ return defaultBytes($_op); }]>
  ];
}

def Aten_KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::shardc::aten";
  let description = [{
    An operator that shardc compiles itself. The implementations are external
    models in `passes/Kernel/Models/`, one operator family a file.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the operator as `linalg` and `tensor` operations on `operands`
        (the tensors of the kernel's region) and appends one tensor a result.
        Sums are made as `accumulation` says.
      }],
      "void", "buildKernel",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands,
           "const ::shardc::aten::Accumulation &":$accumulation,
           "::mlir::SmallVectorImpl<::mlir::Value> &":$results)>
  ];
}

/// Result elements depend on the operands' elements at the same (broadcast)
/// index alone.
def Aten_Pointwise : NativeOpTrait<"Pointwise"> {
  let cppNamespace = "::shardc::aten";
}

/// The result is another way to look at the operand's bytes.
def Aten_IsView : NativeOpTrait<"IsView"> {
  let cppNamespace = "::shardc::aten";
}

/// For operators that train as a composition of others, in every form or in
/// those that `isComposition` says.
defvar Aten_Composition = DeclareOpInterfaceMethods<Aten_DecomposableOpInterface>;
defvar Aten_PartialComposition
    = DeclareOpInterfaceMethods<Aten_DecomposableOpInterface, ["isComposition"]>;

/// For operators that say their own floating-point operations.
defvar Aten_Cost = DeclareOpInterfaceMethods<Aten_CostOpInterface, ["getFlops"]>;

/// The base of every operator: no side effects, a cost, and types inferred by
/// PyTorch's promotion rules from operands and attributes.
class Aten_Op<string mnemonic, list<Trait> traits = []>
    : Op<Aten_Dialect, mnemonic, !listconcat([Pure],
        !if(!empty(!filter(t, traits, !eq(t, Aten_Cost))),
            [Aten_CostOpInterface]<Trait>, []<Trait>), traits)>;

class Aten_InferredOp<string mnemonic, list<Trait> traits = []>
    : Aten_Op<mnemonic, !listconcat([InferTypeOpAdaptor], traits)>;

class Aten_DifferentiableOp<string mnemonic, list<Trait> traits = []>
    : Aten_InferredOp<mnemonic,
        !listconcat([DeclareOpInterfaceMethods<Aten_DifferentiableOpInterface>], traits)>;

#endif // SHARDC_DIALECTS_ATEN_ATENINTERFACES
