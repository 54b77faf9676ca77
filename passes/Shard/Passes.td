//===- Passes.td - The shard phase --------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// From modules with dtypes to one program for every rank: groups get flat
// segments, modules are inlined, and each group is unsharded at its first use.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_SHARD_PASSES
#define SHARDC_PASSES_SHARD_PASSES

include "mlir/Pass/PassBase.td"

def LayoutGroupsPass : Pass<"shardc-layout-groups", "::mlir::ModuleOp"> {
  let summary = "Lays out the members of each group in flat segments.";
  let description = [{
    Members of one gathered, one reduce and one master dtype form a segment (the
    frozen ones a segment of their own): a flat buffer in which each parameter
    starts at a multiple of 64 bytes and whose length divides evenly over the
    ranks. Rank r owns one contiguous part of it. The all-gather's output is then
    the parameters themselves, without a copy. Sums of gradients are kept in f32, or f64 for
    parameters of f64, or with `gradient-dtype=reduce` in the reduce dtype.

    Decision: `passes/Shard/FlatLayout.h`. Remark: `analysis` with elements,
    padding and bytes of each segment.

    {{example: test/passes/Shard/layout-groups.mlir @one_segment_a_dtype}}
  }];
  let options = [
    Option<"gradientDtype", "gradient-dtype", "std::string", /*default=*/"\"f32\"",
           "Dtype of accumulated gradients: f32, or reduce for the reduce dtype.">];
  let dependentDialects = ["::shardc::fsdp::FsdpDialect"];
}

def InlineModulesPass : Pass<"shardc-inline-modules", "::mlir::func::FuncOp"> {
  let summary = "Inlines every module and keeps its path as the location.";
  let description = [{
    Replaces each `fsdp.module` by its body. An operation whose location has no
    module path gets the module's.

    {{example: test/passes/Shard/inline-modules.mlir @nested_modules}}
  }];
}

def InsertUnshardsPass : Pass<"shardc-insert-unshards", "::mlir::ModuleOp"> {
  let summary = "Unshards each group at its first use and reads parameters as views.";
  let description = [{
    Turns `@forward` into `@step`, the program that every rank runs: reads of
    parameters become `fsdp.view`s of one `fsdp.unshard` a group, placed before
    the group's first use, and the loss is recorded instead of returned.

    {{example: test/passes/Shard/insert-unshards.mlir @one_unshard_a_group}}
  }];
  let dependentDialects = ["::shardc::fsdp::FsdpDialect"];
}

def VerifyShardedPass : Pass<"shardc-verify-sharded", "::mlir::ModuleOp"> {
  let summary = "Verifies the invariants of the shard phase.";
  let description = [{
    - S1: every group has its members in segments, each with an offset.
    - S2: a segment's elements are its shard's elements times the number of ranks.
    - S3: the members of a segment are inside it and do not overlap.
    - S4: no module is left, and parameters are read only through views.
    - S5: a view has the parameter's shape and its segment's dtype.
    - S6: each group is unsharded at most once, before every view of it.

    {{example: test/passes/Shard/verify-sharded.mlir @accepted}}
  }];
}

#endif // SHARDC_PASSES_SHARD_PASSES
