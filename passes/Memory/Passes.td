//===- Passes.td - The memory phase -------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// From kernels and library calls on tensors to commands on one arena.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_PASSES
#define SHARDC_PASSES_MEMORY_PASSES

include "mlir/Pass/PassBase.td"

def LowerToCommandsPass : Pass<"shardc-lower-to-commands", "::mlir::ModuleOp"> {
  let summary = "Lowers the step to an exec.program with unplaced buffers.";
  let description = [{
    Every value of `@step` gets memory: a state, an input, a buffer, or a part of
    one. A gathered segment's members are parts of the gather's output, and
    gradients are written where the reduce-scatter reads them: neither is copied.
    A state that the optimizer updates is written over itself. Micro-batches become four
    sections where the last one does more: sums over replicas, and reductions `once` a
    step, whose whole gradients are a state. Declares the states,
    inputs and scalars that the program uses.

    With `copies` both are copied, as FSDP2 does: parameters out of the gather's output
    and gradients into the reduce-scatter's input. Plans for PyTorch's runtime are made of
    such programs.

    {{example: test/passes/Memory/lower-to-commands.mlir @gradient_in_place}}
  }];
  let options = [Option<"copies", "copies", "bool", "false",
      "Copy parameters out of all-gathers and gradients into reductions.">];
  let dependentDialects = [
    "::shardc::exec::ExecDialect", "::mlir::tensor::TensorDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect"];
}

def AddWorkspacesPass : Pass<"shardc-add-workspaces", "::mlir::ModuleOp"> {
  let summary = "Adds workspace buffers to GPU library calls.";
  let description = [{
    Where the target has workspaces, each call that may need one gets a buffer of
    its own, which lives as long as the command and shares bytes with what does not
    live then: so the plan has all memory of a step. Its bytes follow from the call
    alone (`runtime/format/CallWorkspace.h`): what the runtime's own kernels need,
    and what NVIDIA's libraries may ask for.

    Remark: `analysis` with the number of workspaces and the bytes of the largest.

    {{example: test/passes/Memory/add-workspaces.mlir @product}}
  }];
}

def PlaceBuffersPass : Pass<"shardc-place-buffers", "::mlir::ModuleOp"> {
  let summary = "Packs the buffers of a program into its arena.";
  let description = [{
    A buffer lives from the first command that uses it to the last; buffers that do
    not live at the same time may share bytes. Where only that would order commands
    of two streams, it costs a wait: among arenas of the least size, or of `slack`
    times as much more, the one with the fewest such pairs is taken.

    Decision: `passes/Memory/ArenaPacking.h`.
    Remark: `analysis` with the arena's bytes, the lower bound, whether no smaller
    arena exists for certain, and the pairs.

    {{example: test/passes/Memory/place-buffers.mlir @gathers_apart}}
  }];
  let options = [
    Option<"slack", "slack", "double", "0",
           "Fraction by which the arena may grow to save waits.">];
}

def InsertEventsPass : Pass<"shardc-insert-events", "::mlir::ModuleOp"> {
  let summary = "Inserts events to order commands on different streams that access the same bytes.";
  let description = [{
    Runs after `shardc-place-buffers`: buffers that share bytes are ordered too, and
    the program says how many waits only serve that (`reuse_waits`).

    Decision: `passes/Memory/StreamEvents.h`.
    Remark: `analysis` with the numbers of events and of such waits.

    {{example: test/passes/Memory/insert-events.mlir @gathers_reuse_bytes}}
  }];
}

def VerifyProgramPass : Pass<"shardc-verify-program", "::mlir::ModuleOp"> {
  let summary = "Verifies the invariants of the memory phase.";
  let description = [{
    - M1: every buffer has an offset, and on every rank every operand is inside the
      arena, or inside the state, input or scalar that it is part of.
    - M2: a launch names a function of `@kernels`, and every kernel is in one.
    - M3: an event is recorded by one command, before every wait for it, in the same
      section.
    - M4: what a command writes does not overlap its other operands.
    - M5: a reduction's output is a gradient state or a buffer, and its input is one
      shard of that size per rank.
    - M6: a section has commands, on existing streams; each micro-batch of a step is
      in one section.
    - M7: two commands that access the same bytes, at least one of them writing, are
      ordered: by one stream, or by events. (A race detector with vector clocks,
      `passes/Memory/ByteHistory.h`.)
    - M8: a call's workspace is a whole buffer of bytes that no other command uses.

    {{example: test/passes/Memory/verify-program.mlir @accepted}}
  }];
}

#endif // SHARDC_PASSES_MEMORY_PASSES
