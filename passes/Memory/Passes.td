//===- Passes.td - The memory phase -------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// From kernels and library calls on tensors to commands on one arena.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_PASSES
#define SHARDC_PASSES_MEMORY_PASSES

include "mlir/Pass/PassBase.td"

def PlanMemoryPass : Pass<"shardc-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Gives every value bytes and turns the step into an exec.program.";
  let description = [{
    Builds the command list of `@step`, packs the buffers of all values into one
    arena by their lifetimes, orders streams by events, and writes the
    `exec.program` with the states, inputs and scalars that it refers to. The
    kernels become functions of the nested module `@kernels`.

    A gathered segment's members are views of the gather's output, and gradients
    are written where the reduce-scatter reads them: neither is copied. A state
    that the optimizer updates is written over itself.

    Decisions: `passes/Memory/ArenaPacking.h`, `passes/Memory/StreamEvents.h`.
    Remark: `analysis` with the arena's bytes and the lower bound.

    With `keep-kernels` an `exec.compute` before the launches of each kernel says
    what they compute, for the reference interpreter.

    {{example: test/passes/Memory/plan-memory.mlir @gradient_in_place}}
  }];
  let options = [
    Option<"keepKernels", "keep-kernels", "bool", "false",
           "Keep each kernel's region beside its launches.">];
  let dependentDialects = [
    "::shardc::exec::ExecDialect", "::mlir::tensor::TensorDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::bufferization::BufferizationDialect"];
}

def VerifyProgramPass : Pass<"shardc-verify-program", "::mlir::ModuleOp"> {
  let summary = "Checks what the memory phase promises.";
  let description = [{
    - M1: every reference lies, on every rank, inside the arena, or names a
      declared state, input or scalar and lies inside it.
    - M2: a launch names a function of `@kernels`.
    - M3: an event is recorded by one command, before every wait for it.
    - M4: what a command writes overlaps no other of its operands.
    - M5: a reduction's output is a gradient state, and its buffer one shard of
      that size for each rank.
    - M6: sections come in the order begin, micro_batch, update.

    {{example: test/passes/Memory/verify-program.mlir @accepted}}
  }];
}

#endif // SHARDC_PASSES_MEMORY_PASSES
