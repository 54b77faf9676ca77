//===- Passes.td - The differentiate phase ------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// From a sharded forward program to a training step: forward, backward with
// gradient reductions, and the optimizer on local shards.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_DIFFERENTIATE_PASSES
#define SHARDC_PASSES_DIFFERENTIATE_PASSES

include "mlir/Pass/PassBase.td"

def AddEvaluationPass : Pass<"shardc-add-evaluation", "::mlir::ModuleOp"> {
  let summary = "Adds @evaluate, the model in evaluation mode.";
  let description = [{
    `@evaluate` is `@step` as `model.eval()` has it: without dropout, with
    `batch_norm` on its running statistics where it keeps some, and without writes.
    It comes before differentiation, so it is a forward alone.

    A loss that depends on other random numbers, or may on what a buffer becomes, and
    a `batch_norm` that has running statistics and does not keep them are error
    E0224: an export of training does not show what an evaluation does. Where the
    export helper found that it has the means of Bernoulli numbers, as stochastic
    depth does (`shardc.means_in_evaluation`), these are constants.

    {{example: test/passes/Differentiate/add-evaluation.mlir @dropout_and_batch_norm}}
  }];
  let dependentDialects = ["::shardc::aten::AtenDialect", "::shardc::fsdp::FsdpDialect"];
}

def SynchronizeBatchNormPass : Pass<"shardc-synchronize-batch-norm", "::mlir::func::FuncOp"> {
  let summary = "Decomposes synchronized batch norm into operators and all-reduces.";
  let description = [{
    A `synchronized` batch norm becomes its mean, distances from it, their mean square and
    the normalization, in f32, with a `fsdp.sum_over_ranks` for each mean. The derivative is that
    of these operators. Running statistics are updated with the variance of the whole
    batch, unbiased by its count, and are the same on all ranks.

    Comes after the evaluation is added, which takes running statistics instead.

    {{example: test/passes/Differentiate/synchronize-batch-norm.mlir @sums_over_ranks}}
  }];
  let dependentDialects = ["::shardc::aten::AtenDialect", "::shardc::fsdp::FsdpDialect"];
}

def BroadcastStatisticsPass : Pass<"shardc-broadcast-statistics", "::mlir::ModuleOp"> {
  let summary = "Broadcasts rank 0's batch norm statistics to all ranks after each step.";
  let description = [{
    As DDP's `broadcast_buffers`, which does so before each forward: with the same
    result, because training reads no running statistics. They are what a batch norm
    makes, and buffers that are said to be `around` each other, whatever is written there.

    {{example: test/passes/Differentiate/broadcast-statistics.mlir @after_the_step}}
  }];
  let dependentDialects = ["::shardc::fsdp::FsdpDialect"];
}

def SynchronizeBuffersPass : Pass<"shardc-synchronize-buffers", "::mlir::ModuleOp"> {
  let summary = "Synchronizes across ranks the buffers that forward writes.";
  let description = [{
    Where a buffer says `sync`, what is written to it last becomes what the first rank
    writes (`broadcast`), the `mean` of what ranks write, or a `sum`: of what ranks write,
    or, if that is computed from the buffer itself, of what ranks add to it.
    Each micro-batch does so.

    Warning: buffers without `sync` that ranks write values of their own samples, or random
    ones, to. Those of batch norms are left to shardc-choose-batch-norm-statistics.

    {{example: test/passes/Differentiate/synchronize-buffers.mlir @mean_of_ranks}}
  }];
  let dependentDialects = ["::shardc::aten::AtenDialect", "::shardc::fsdp::FsdpDialect"];
}

def DecomposeOperatorsPass : Pass<"shardc-decompose-operators", "::mlir::func::FuncOp"> {
  let summary = "Decomposes operators that have no derivative of their own.";
  let description = [{
    Operators with `DecomposableOpInterface` become what they are composed of:
    pooling, padding and resampling a chain of `aten.resample`, convolutions over
    one and three dimensions one over two, and so on. Their derivative is that of
    the composition. An operator that is hot, or whose derivative needs less
    memory as a whole, has a derivative and a kernel instead. With `as-pytorch` the
    cross-entropy of f32 logits and dropout are some of them, because PyTorch stores
    log_softmax and masks: plans for its runtime are made of such programs. With
    `grouped-mm` so is the product of groups of rows, for targets without a library
    call of it.

    {{example: test/passes/Differentiate/decompose-operators.mlir @flip}}
  }];
  let dependentDialects = ["::shardc::aten::AtenDialect"];
  let options = [Option<"asPyTorch", "as-pytorch", "bool", "false",
      "Also decompose dropout and the cross-entropy of f32 logits.">,
    Option<"groupedMm", "grouped-mm", "bool", "false",
      "Also decompose aten.grouped_mm.">];
}

def DifferentiatePass : Pass<"shardc-differentiate", "::mlir::ModuleOp"> {
  let summary = "Appends the backward program of the recorded loss.";
  let description = [{
    Reverse-mode differentiation of `@step` through the operators'
    `DifferentiableOpInterface`. The dual of an unshard is a reduce-scatter, so
    walking the forward program backwards past a group's unshard emits the
    reduction of its gradients: they are all complete there. Gradients of a
    parameter are converted to its segment's reduce dtype before they are added.

    An operator on the path from a trainable parameter to the loss that has no
    derivative is error E0221.

    With `reduce-once` gradients are reduced in the last micro-batch of a step, as by
    FSDP2's `set_requires_gradient_sync(False)` before it: fewer bytes move, and whole
    gradients are kept between micro-batches. A group's `gradient_divide_factor` is in its
    gradients before they are reduced, in f32.

    Backward begins with `loss-scale`: 1, another number, or `dynamic`, a state of
    the optimizer's (`passes/Differentiate/LossScale.h`). Gradients of f16 need one: else
    error E0225.

    {{example: test/passes/Differentiate/differentiate.mlir @linear_layer}}
  }];
  let options = [
    Option<"lossScale", "loss-scale", "std::string", /*default=*/"\"1\"",
           "Loss scale: a number, or dynamic.">,
    Option<"reduceOnce", "reduce-once", "bool", /*default=*/"false",
           "Reduce gradients only in the last micro-batch of a step.">];
  let dependentDialects = ["::shardc::aten::AtenDialect", "::shardc::fsdp::FsdpDialect"];
}

def WidenWeightGradientsPass : Pass<"shardc-widen-weight-gradients", "::mlir::func::FuncOp"> {
  let summary = "Writes weight gradients directly in the reduce dtype.";
  let description = [{
    A weight gradient of 16 bits is a sum that is accumulated in f32 anyway. Where
    its only use converts it to f32, the operator writes f32 itself: one rounding
    and one pass over memory less.

    With `narrow` nothing is widened, and what is converted is the sum of a parameter's
    gradients, as in PyTorch.

    {{example: test/passes/Differentiate/widen-weight-gradients.mlir @linear_weight}}
  }];
  let options = [Option<"narrow", "narrow", "bool", "false",
      "Sum a parameter's gradients in 16 bits, as PyTorch does.">];
  let dependentDialects = ["::shardc::aten::AtenDialect"];
}

def InsertOptimizerPass : Pass<"shardc-insert-optimizer", "::mlir::ModuleOp"> {
  let summary = "Appends the optimizer step on each segment's local shard.";
  let description = [{
    After the last reduction: the squared gradient norm over all ranks, the
    numbers of the step, among them what gradients are clipped by, then one
    `fsdp.update` a segment that is trained. Its region has the optimizer's formulas
    as operators; `fsdp.state` declares what they keep.
    `passes/Differentiate/Optimizers.cpp` has one class an optimizer. Parameters of
    bf16 are rounded to nearest, or by chance (`aten.stochastic_round`).

    An optimizer whose steps are made of whole matrices (muon) has two updates a
    segment: the first one's directions are gathered in bf16 (`fsdp.gather_shard`),
    every rank computes the steps of all matrices, and the second one takes this
    rank's part of them (`fsdp.take_shard`). A segment with another `optimizer` says so.

    Error E0223: an optimizer that does not exist, or an option that it does not
    have.

    With `skip-non-finite` or a dynamic loss scale the norm comes in a part of its
    own, `check`, and the update runs where it is finite.

    {{example: test/passes/Differentiate/insert-optimizer.mlir @sgd_on_one_group}}
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", /*default=*/"\"sgd\"",
           "Optimizer: sgd, adam, adamw, lion or muon.">,
    Option<"momentum", "momentum", "double", "-1.0", "Momentum of sgd and muon; below 0: the optimizer's default.">,
    Option<"dampening", "dampening", "double", "0.0", "Dampening of SGD momentum.">,
    Option<"nesterov", "nesterov", "bool", "false", "Use Nesterov momentum in sgd.">,
    Option<"beta1", "beta1", "double", "0.9", "Decay of the first moment.">,
    Option<"beta2", "beta2", "double", "-1.0", "Decay of the second moment; below 0: the optimizer's default.">,
    Option<"epsilon", "epsilon", "double", "1e-8", "Term added to the denominator of adam, adamw and muon's adamw.">,
    Option<"amsgrad", "amsgrad", "bool", "false", "Use the maximum of second moments in adam, adamw and muon's adamw.">,
    Option<"adjustLearningRate", "adjust-lr-fn", "std::string", "\"original\"",
           "Learning-rate adjustment of muon: original, match_rms_adamw or spectral_unclamped.">,
    Option<"maximize", "maximize", "bool", "false", "Maximize the loss.">,
    Option<"stateDtype", "state-dtype", "std::string", "\"\"",
           "Dtype of optimizer states: bf16, or empty for the parameter's.">,
    Option<"rounding", "rounding", "std::string", "\"nearest\"",
           "Rounding of bf16 parameters: nearest or stochastic.">,
    Option<"weightDecay", "weight-decay", "double", "0.0", "Weight decay.">,
    Option<"clipGradNorm", "clip-grad-norm", "double", "0.0",
           "Maximum norm of all gradients; 0: no limit.">,
    Option<"clipGradValue", "clip-grad-value", "double", "0.0",
           "Maximum magnitude of a gradient element; 0: no limit.">,
    Option<"lossScale", "loss-scale", "std::string", "\"1\"",
           "Loss scale, as in shardc-differentiate.">,
    Option<"skipNonFinite", "skip-non-finite", "bool", "false",
           "Skip the update unless all gradients are finite.">];
  let dependentDialects = ["::shardc::aten::AtenDialect", "::shardc::fsdp::FsdpDialect"];
}

def VerifyTrainingStepPass : Pass<"shardc-verify-training-step", "::mlir::ModuleOp"> {
  let summary = "Verifies the invariants of the differentiate phase.";
  let description = [{
    - D1: the step begins forward, backward, check (if there is anything to check)
      and update, once each, in this order.
    - D2: a group is reduced at most once, in backward, and not at all if the loss
      does not depend on it. If the mesh has replicas, only the sum over them uses
      what was reduced.
    - D3: a reduced gradient has its parameter's shape and reduce dtype.
    - D4: in the update part, each segment of a reduced group that is not frozen is
      written once, after its gradient is read.
    - D5: the loss is recorded once, in forward.
    - D6: a tensor is used only in its own part, where forward and backward are one
      part, `check` and `update` two others: memory does not outlive a section. The
      norm is a metric, and may be used later.
    - D7: an evaluation is a forward that writes nothing and records the loss once.
    - D8: `gather_shard` and `take_shard` are in the update part, have the shapes of
      a segment's shard and of its members, and one dtype.

    {{example: test/passes/Differentiate/verify-training-step.mlir @accepted}}
  }];
}

#endif // SHARDC_PASSES_DIFFERENTIATE_PASSES
