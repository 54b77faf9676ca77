//===- Passes.td - The precision phase ----------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Mixed precision as FSDP2 has it: dtypes change at the boundaries of modules,
// and what happens inside follows by PyTorch's rules.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_PRECISION_PASSES
#define SHARDC_PASSES_PRECISION_PASSES

include "mlir/Pass/PassBase.td"

def ApplyPrecisionPass : Pass<"shardc-apply-precision", "::mlir::ModuleOp"> {
  let summary = "Applies each group's mixed-precision policy and re-infers all dtypes.";
  let description = [{
    A parameter is read in the dtype that it is gathered in: `keep` of its
    member, else `param` of its group's policy, else its own. Under
    `cast_inputs`, floating-point arguments of forward (the root's policy) and of
    a module that is a group are cast to `param`; outputs are cast to `output`.
    A value that a module reaches in another way (`fsdp.capture`) is not cast.
    Then every operator's result types are inferred in program order, so that
    explicit `aten.to`s, f32 constants and f32 statistics promote as they do in
    PyTorch. Buffers keep their dtype: a value that is written to one is
    converted to it, as `copy_` does. One that is a parameter, not trained but
    changed by forward, is read in `param` by the module that has it, if another
    one changes it. A policy without dtypes changes nothing.

    An operator that cannot take its operands' dtypes is error E0210; PyTorch
    checks this only at run time. Before that, the operator's wide operands are
    followed back: where they are wide because of conversions alone that change
    nothing (f32 to f32, which an export has of an `x.to(y.dtype)`), the model
    could not run in PyTorch if these stayed f32, so they take the operator's
    narrow dtype. A remark names each, and each one whose f32 is taken at its
    word.

    {{example: test/passes/Precision/apply-precision.mlir @casts_at_input}}
  }];
  let dependentDialects = ["::shardc::aten::AtenDialect", "::shardc::fsdp::FsdpDialect"];
}

def SaturateExtremesPass : Pass<"shardc-saturate-extremes", "::mlir::ModuleOp"> {
  let summary = "Replaces finfo extremes of a wide dtype by those of the narrower dtype in use.";
  let description = [{
    `torch.finfo(x.dtype).min`, with which models mask, is a number of f32 in an
    export in f32. Where x is narrower under the policy, the number is that of
    x's dtype: -65504 in f16. Only the greatest and least numbers of f64, f32
    and bf16 are changed, and only where a dtype is followed: by
    `aten.to.other`, or as a number or constant among narrower operands. An
    author's own `.to()` rounds to an infinity, as in PyTorch.

    Another number that a dtype does not have is error E0227 in `masked_fill`,
    as PyTorch refuses it.

    {{example: test/passes/Precision/saturate-extremes.mlir @mask_in_f16}}
  }];
  let dependentDialects = ["::shardc::aten::AtenDialect"];
}

def ResolveConversionsPass : Pass<"shardc-resolve-conversions", "::mlir::ModuleOp"> {
  let summary = "Resolves conversions to another tensor's dtype to conversions to a known dtype.";
  let description = [{
    All dtypes are known, so an `aten.to.other` is an `aten.to`, or nothing where
    it changes nothing. What was there for its dtype alone goes away: a parameter
    that no operator reads would be gathered for nothing.

    {{example: test/passes/Precision/resolve-conversions.mlir @becomes_to}}
  }];
  let dependentDialects = ["::shardc::aten::AtenDialect"];
}

def VerifyPrecisionPass : Pass<"shardc-verify-precision", "::mlir::ModuleOp"> {
  let summary = "Verifies the invariants of the precision phase.";
  let description = [{
    - P1: a floating-point dtype changes only at `fsdp.cast`, at `aten.to`, or by an
      operator's type inference (which the operator's own verifier checks).
    - P2: a parameter is read in its gathered dtype.
    - P3: a buffer is read, captured and written in its own dtype under any policy;
      a parameter that forward changes, in its gathered dtype.
    - P4: under `cast_inputs`, a floating-point argument of forward or of a group's
      module has the policy's `param` dtype. Captures are not arguments.
    - P5: batch_norm's statistics and affine parameters are f32 or f64.
    - P6: no `aten.to.other` is left.

    {{example: test/passes/Precision/verify-precision.mlir @accepted}}
  }];
}

#endif // SHARDC_PASSES_PRECISION_PASSES
