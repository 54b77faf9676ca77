//===- Passes.td - The schedule phase -----------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// From a training step to an ordered one with asynchronous collectives: which
// gathers are repeated in backward, where each starts, where each value dies.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_SCHEDULE_PASSES
#define SHARDC_PASSES_SCHEDULE_PASSES

include "mlir/Pass/PassBase.td"

def RematerializeGathersPass : Pass<"shardc-rematerialize-gathers", "::mlir::ModuleOp"> {
  let summary = "All-gathers a group again in backward if its policy reshards it after forward.";
  let description = [{
    Before this pass backward reuses the value that forward gathered, which is
    the policy `never`. To reshard after forward is to clone the gather (and the
    views of it, and views of those) before the group's first use in backward:
    the same act as activation recompute, on another operator. `default` is FSDP2's rule: every
    group except the one whose last use in forward comes last, because backward
    would gather that one again at once.

    Remark: `passed` with the bytes freed between forward and backward and the
    bytes gathered again; `missed` for a group that is kept.

    {{example: test/passes/Schedule/rematerialize-gathers.mlir @always_gathers_again}}
  }];
  let dependentDialects = ["::shardc::fsdp::FsdpDialect"];
}

def RematerializeActivationsPass : Pass<"shardc-rematerialize-activations", "::mlir::ModuleOp"> {
  let summary = "Recomputes the activations of selected modules in backward.";
  let description = [{
    Activation checkpointing, by the act that reshards groups, on other operators. Of a
    module that `shardc.recompute` names, nothing stays but what it takes from outside and
    what others take from it: what backward needs of the rest is computed again, once and in
    forward's order, before the first operation of backward that needs any of it. The
    form `selective` keeps the results of products, convolutions and attention too, and
    `alternate` those but every second product with one matrix and without bias (`aten.mm`). An
    operation's form is that of the innermost named module around it. Dropout draws the same
    numbers, because they belong to the element.

    Comes before gathers are rematerialized: what is computed again needs parameters.

    Warning: nothing is computed again. Decision: `passes/Schedule/Recompute.h`. Remark: `passed`
    for each module with its operators that run again, their floating-point operations and the bytes of results that
    backward would have kept.

    {{example: test/passes/Schedule/rematerialize-activations.mlir @full}}
  }];
  let dependentDialects = ["::shardc::fsdp::FsdpDialect"];
}

def SplitCollectivesPass : Pass<"shardc-split-collectives", "::mlir::func::FuncOp"> {
  let summary = "Splits each collective into a start and a wait.";
  let description = [{
    A gather's wait stays where the gather was; a reduction's wait moves to the
    begin of the update part, its first use. Nothing is moved earlier yet:
    `hoist-all-gathers` does that.

    {{example: test/passes/Schedule/split-collectives.mlir @start_and_wait}}
  }];
  let dependentDialects = ["::shardc::fsdp::FsdpDialect"];
}

def HoistAllGathersPass : Pass<"shardc-hoist-all-gathers", "::mlir::func::FuncOp"> {
  let summary = "Hoists the start of each all-gather to overlap it with compute.";
  let description = [{
    Moves the start of the k-th gather to just after the wait of gather
    k - `distance`: with 1, while a group computes, the next one is gathered.
    The wait stays at the first use. A start never moves before forward or
    backward, whichever it is in.

    Decision: `passes/Schedule/GatherPrefetch.h`. Remark: `passed` for each start
    that moved.

    {{example: test/passes/Schedule/hoist-all-gathers.mlir @starts_one_gather_ahead}}
  }];
  let options = [Option<"distance", "distance", "unsigned", "1",
      "Number of all-gathers to prefetch; 0: none.">];
}

def InsertReshardsPass : Pass<"shardc-insert-reshards", "::mlir::func::FuncOp"> {
  let summary = "Reshards each unsharded group after its last use.";
  let description = [{
    A group that a gather made whole lives from its wait to the last use of any
    view of it, or of a view of that; its bytes are free for other values
    afterwards. What forward
    gathered and what backward gathers again die on their own.

    {{example: test/passes/Schedule/insert-reshards.mlir @after_the_last_use}}
  }];
  let dependentDialects = ["::shardc::fsdp::FsdpDialect"];
}

def VerifyScheduledPass : Pass<"shardc-verify-scheduled", "::mlir::ModuleOp"> {
  let summary = "Verifies the invariants of the schedule phase.";
  let description = [{
    - C1: every collective is asynchronous, and every start is followed by one wait,
      or by a sum over replicas that has one.
    - C2: every unsharded group is resharded once, after its last use.
    - C3: backward uses no value of a group that was resharded after forward; a
      group that is resharded to fewer ranks is all-gathered from what these kept.
    - C4: a wait for an all-gather yields `unsharded`, and for a reduction `shard`,
      of its group.

    {{example: test/passes/Schedule/verify-scheduled.mlir @accepted}}
  }];
}

#endif // SHARDC_PASSES_SCHEDULE_PASSES
