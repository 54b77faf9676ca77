//===- Passes.td - The group phase --------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Who is gathered together, on which ranks, and under which mixed-precision
// policy.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_GROUP_PASSES
#define SHARDC_PASSES_GROUP_PASSES

include "mlir/Pass/PassBase.td"

def NarrowMastersPass : Pass<"shardc-narrow-masters", "::mlir::ModuleOp"> {
  let summary = "Keeps parameters in bf16 between steps.";
  let description = [{
    With `master-dtype=bf16` trainable parameters of f32 become bf16, as those of a
    model that was made in bf16 are; `batch_norm`'s affine ones stay. What is smaller
    than half a unit in the last place of such a parameter is lost when an update is
    rounded to nearest, about which there is one warning, as there is about
    `rounding=stochastic` without such a parameter. Error E0136: a trainable
    parameter of f16, or a complex one.

    {{example: test/passes/Group/narrow-masters.mlir @kept_in_bf16}}
  }];
  let options = [
    Option<"masterDtype", "master-dtype", "std::string", /*default=*/"\"\"",
           "Dtype of master parameters: bf16, or empty for the exported dtype.">,
    Option<"rounding", "rounding", "std::string", /*default=*/"\"nearest\"",
           "Rounding of updates: nearest or stochastic.">];
  let dependentDialects = ["::shardc::fsdp::FsdpDialect"];
}

def AssignGroupsPass : Pass<"shardc-assign-groups", "::mlir::ModuleOp"> {
  let summary = "Assigns every parameter to one group, by FSDP2's rule.";
  let description = [{
    A parameter belongs to the innermost wrapped module that encloses all uses
    of it, else to `@root`. Tied parameters of two wrapped modules therefore go
    to the nearest wrapped ancestor of both, where FSDP2 raises an error;
    parameters that forward does not use go to `@root`. Groups are in the order
    of their first use in forward, members in the order of declaration. A
    wrapped module without parameters is a group where its policy casts.

    `wrap` lists what is wrapped, separated by commas: `blocks`, which are
    repeated sibling modules of one class (`layers.0`, `layers.1`), `blocks:N`,
    N neighbours of them to a group, regular expressions of whole module paths,
    `>=N` for modules of that many elements, and `norm&head` for several modules
    in one group, as `fully_shard([norm, head])`; an empty list wraps nothing. `param-dtype`, `reduce-dtype` and
    `reshard` hold for all groups of which `rules` says nothing else:
    `head:param_dtype=f32,output_dtype=bf16; :reshard_after_forward=never`. The
    root's path is empty.

    Decisions: `passes/Group/Wrapping.h`, `passes/Group/Rules.h`. Remark:
    `analysis` with parameters and elements of each group. Errors: E0201 no
    ranks, E0202 a pattern that matches no module, E0203 an invalid entry, E0204
    an unknown dtype or reshard policy, E0205 a malformed rule, E0206 a rule that
    matches nothing, E0207 a module wrapped twice, E0208 a rule for a module
    inside of a group, E0209 rules that contradict each other.

    {{example: test/passes/Group/assign-groups.mlir @repeated_blocks}}
  }];
  let options = [
    Option<"worldSize", "world-size", "int64_t", /*default=*/"1",
           "Number of ranks.">,
    Option<"replicate", "replicate", "int64_t", /*default=*/"1",
           "Number of model replicas, each of world-size / replicate ranks.">,
    Option<"wrap", "wrap", "std::string", /*default=*/"\"blocks\"",
           "Modules to wrap: 'blocks' or regular expressions.">,
    Option<"paramDtype", "param-dtype", "std::string", /*default=*/"\"\"",
           "Dtype of parameter all-gathers: f32, bf16, or empty for the "
           "parameters' own.">,
    Option<"reduceDtype", "reduce-dtype", "std::string", /*default=*/"\"\"",
           "Dtype of gradient reductions; empty for the parameters' own.">,
    Option<"reshard", "reshard", "std::string", /*default=*/"\"default\"",
           "Reshard parameters after forward: always, never, default, or N ranks.">,
    Option<"rules", "rules", "std::string", /*default=*/"\"\"",
           "PATTERN:KEY=VALUE[,KEY=VALUE], separated by semicolons.">,
    Option<"pipelineStage", "pipeline-stage", "bool", /*default=*/"false",
           "Treat the model as one pipeline stage: `default` reshards no group.">,
    Option<"recompute", "recompute", "std::string", /*default=*/"\"none\"",
           "Modules whose activations are recomputed in backward: none, full, "
           "selective or alternate for the wrapped ones, or path patterns.">,
    Option<"explain", "explain", "bool", /*default=*/"false",
           "Record the origin of each group's values.">];
  let dependentDialects = ["::shardc::fsdp::FsdpDialect"];
}

def KeepChangedParametersPass : Pass<"shardc-keep-changed-parameters", "::mlir::ModuleOp"> {
  let summary = "Uses the master dtype to all-gather parameters that forward modifies.";
  let description = [{
    A model that clips or normalizes its weights changes what the optimizer
    trains. The change is computed from the master, as it is without a policy, and
    what the module then computes with is converted to the policy's dtype.

    {{example: test/passes/Group/keep-changed-parameters.mlir @clipped}}

    Error: E0137 for a parameter that a rule freezes.
  }];
  let dependentDialects = ["::shardc::fsdp::FsdpDialect"];
}

def KeepBatchNormF32Pass : Pass<"shardc-keep-batch-norm-f32", "::mlir::ModuleOp"> {
  let summary = "Keeps batch_norm's affine parameters in f32 under a narrower policy.";
  let description = [{
    Statistics have to be f32: close to its target, a bf16 running mean moves by
    less than half a unit in the last place and stalls. Beside f32 statistics,
    PyTorch's batch_norm takes f32 affine parameters with a bf16 input and
    rejects bf16 ones (CPU, PyTorch 2.15), so that FSDP2 with a bf16 policy fails
    with a dtype error. Here the affine parameters get `keep f32`; statistics
    are buffers, which no policy changes.

    Remark: `passed` for each module, with the bytes it gathers and the bytes
    that the policy alone would gather. Statistics that the model itself keeps in
    16 bits are a warning.

    {{example: test/passes/Group/keep-batch-norm-f32.mlir @affine_stays_f32}}
  }];
  let dependentDialects = ["::shardc::fsdp::FsdpDialect"];
}

def ChooseBatchNormStatisticsPass : Pass<"shardc-choose-batch-norm-statistics", "::mlir::ModuleOp"> {
  let summary = "Selects per-rank or synchronized statistics for each batch norm.";
  let description = [{
    As the model says unless `stats` does: modules of `SyncBatchNorm` are of the batch of
    all ranks, others of each rank's own, as in FSDP2. `sync` makes all of them the former
    and `local` the latter. With `broadcast` they are as the model says, and the first rank's
    running statistics are all ranks' after each step, as in DDP.

    Writes down, at the buffer of each running variance, which one has the mean that it
    is around.

    Warning: ranks keep running statistics of their own. Errors: E0204 another word; E0136 a
    batch norm that trains on one value a channel.

    {{example: test/passes/Group/choose-batch-norm-statistics.mlir @as_the_model_says}}
  }];
  let options = [
    Option<"stats", "stats", "std::string", /*default=*/"\"\"",
           "local, sync, broadcast, or empty: as in the model.">];
  let dependentDialects = ["::shardc::fsdp::FsdpDialect"];
}

def ApplyBufferRulesPass : Pass<"shardc-apply-buffer-rules", "::mlir::ModuleOp"> {
  let summary = "Sets how buffers that every rank writes are synchronized.";
  let description = [{
    Rules by names: `.*\.codebook:sync=mean; seen:sync=sum`. A buffer gets what the last rule
    that matches it says, of a tied one by any of its names; a rule that is a whole name
    wins over patterns.

    Errors: E0205 and E0209 a rule that is none, or two that contradict each other; E0206 one
    that matches no buffer; E0212 one for a buffer that forward does not write, or the
    mean of integers.

    {{example: test/passes/Group/apply-buffer-rules.mlir @last_rule}}
  }];
  let options = [
    Option<"rules", "rules", "std::string", /*default=*/"\"\"",
           "PATTERN:sync=VALUE, separated by semicolons.">];
  let dependentDialects = ["::shardc::fsdp::FsdpDialect"];
}

def ApplyParameterRulesPass : Pass<"shardc-apply-parameter-rules", "::mlir::ModuleOp"> {
  let summary = "Sets hyperparameters of individual parameters, or freezes them.";
  let description = [{
    Rules are the `param_groups` of torch.optim, by names:
    `.*bias:weight_decay=0; embed\..*:weight_decay=0,lr_scale=0.1; h\.0\..*:frozen=true`.
    Each key has the value of the last rule that says it; a rule that is a whole
    name wins over patterns. `lr_scale` is what the run's learning rate is multiplied
    by, `optimizer` what shardc-choose-optimizers is to choose; what is `frozen` is gathered and neither reduced nor updated; what is `ignored` has
    to be frozen, and is gathered in its own dtype. Members with
    other hyperparameters are in other segments, because an update is one for a
    segment.

    Decision: `passes/Group/Rules.h`. Remark: `passed` for each rule. Errors: E0205
    a malformed rule, E0206 a rule that matches nothing, E0209 rules that contradict
    each other, E0211 a parameter that is ignored and trained.

    {{example: test/passes/Group/apply-parameter-rules.mlir @last_rule_holds}}
  }];
  let options = [
    Option<"rules", "rules", "std::string", /*default=*/"\"\"",
           "PATTERN:KEY=VALUE[,KEY=VALUE], separated by semicolons.">];
  let dependentDialects = ["::shardc::fsdp::FsdpDialect"];
}

def ChooseOptimizersPass : Pass<"shardc-choose-optimizers", "::mlir::ModuleOp"> {
  let summary = "Selects the parameters that use a different optimizer from the model's.";
  let description = [{
    Beside `muon`, whose steps are made of matrices, everything else has `adamw`: what
    is no matrix, and tables that `aten.embedding` reads, as its authors advise. A rule of
    shardc-apply-parameter-rules wins (`head\.weight:optimizer=adamw`). Under another
    optimizer all parameters have that one.

    Remark: `analysis` with the number of parameters of each. Error E0226: muon for
    what is no matrix, or a rule for an optimizer that the model's does not come with.

    {{example: test/passes/Group/choose-optimizers.mlir @matrices_and_others}}
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", /*default=*/"\"sgd\"",
           "The model's optimizer.">];
  let dependentDialects = ["::shardc::fsdp::FsdpDialect"];
}

def VerifyGroupedPass : Pass<"shardc-verify-grouped", "::mlir::ModuleOp"> {
  let summary = "Verifies the invariants of the group phase.";
  let description = [{
    - G1: every parameter is a member of exactly one group.
    - G2: every member names a declared parameter, and `keep` is a
      floating-point type.
    - G3: every group is on a declared mesh, whose first axis may be `replicate`,
      and whose last axes have as many ranks as the group is resharded to.
    - G4: a group that a module names is declared.
    - G5: a member of a module's group is read only inside that module.
    - G6: exactly one group, the root, is not named by any module.

    {{example: test/passes/Group/verify-grouped.mlir @accepted}}
  }];
}

#endif // SHARDC_PASSES_GROUP_PASSES
