//===- PlanMemory.cpp - From tensors to commands on one arena -------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   func.func @step(%idx: tensor<4x64xi64>) { … }
//   -> exec.state "h.0#0.parameter" parameter segment 0 : tensor<…>
//      exec.input "idx" : tensor<4x64xi64>
//      exec.program @step arena 14848 … { exec.launch @gelu … }
//      module @kernels { func.func @gelu(…) { … } }
//
// Orchestrates StateTable, ProgramBuilder and ProgramEmitter.
//===----------------------------------------------------------------------===//

#include "passes/Memory/Passes.h"

#include "passes/Memory/ProgramBuilder.h"
#include "passes/Memory/ProgramEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "shardc-plan-memory"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "passes/Memory/Passes.h.inc"

namespace {
struct PlanMemoryPass : impl::PlanMemoryPassBase<PlanMemoryPass> {
  using impl::PlanMemoryPassBase<PlanMemoryPass>::PlanMemoryPassBase;
  void runOnOperation() override;
};
} // namespace

static Attribute optimizerOf(func::FuncOp step) {
  auto updates = step.getBody().front().getOps<fsdp::UpdateOp>();
  return updates.empty() ? Attribute() : (*updates.begin()).getOptimizer();
}

static int64_t ranksOf(ModuleOp module) {
  auto meshes = module.getOps<fsdp::MeshOp>();
  return meshes.empty() ? 1 : (*meshes.begin()).getShard();
}

/// The name under which data is given for an argument.
static StringAttr inputName(func::FuncOp step, unsigned index) {
  if (auto name = step.getArgAttrOfType<StringAttr>(index, "shardc.name"))
    return name;
  return StringAttr::get(step.getContext(), "input" + Twine(index));
}

static void emitDeclarations(OpBuilder &builder, func::FuncOp step,
                             const StateTable &states,
                             ArrayRef<RuntimeScalar> scalars) {
  Location location = step.getLoc();
  for (const State &state : states.getStates())
    exec::StateOp::create(
        builder, location, builder.getStringAttr(state.name),
        exec::RoleAttr::get(builder.getContext(), state.role),
        TypeAttr::get(state.type),
        state.segment ? builder.getI64IntegerAttr(*state.segment) : nullptr);
  for (BlockArgument argument : step.getArguments()) {
    auto input = exec::InputOp::create(
        builder, argument.getLoc(), inputName(step, argument.getArgNumber()),
        TypeAttr::get(argument.getType()), IntegerAttr(), IntegerAttr());
    unsigned number = argument.getArgNumber();
    if (auto bound =
            step.getArgAttrOfType<IntegerAttr>(number, "shardc.upper_bound"))
      input.setUpperBoundAttr(bound);
    if (auto ignored =
            step.getArgAttrOfType<IntegerAttr>(number, "shardc.ignore_index"))
      input.setIgnoreIndexAttr(ignored);
  }
  for (const RuntimeScalar &scalar : scalars)
    exec::ScalarOp::create(
        builder, location, builder.getStringAttr(scalar.kind),
        scalar.beta ? builder.getF64FloatAttr(*scalar.beta) : nullptr,
        TypeAttr::get(scalar.type));
}

static void reportArena(func::FuncOp step, const Packing &packing) {
  remark::analysis(step.getLoc(), remark::RemarkOpts::name("arena")
                                      .category(DEBUG_TYPE)
                                      .function(step.getSymName()))
      << remark::metric("arena_bytes", packing.size)
      << remark::metric("lower_bound_bytes", packing.lowerBound);
}

void PlanMemoryPass::runOnOperation() {
  ModuleOp module = getOperation();
  auto step = module.lookupSymbol<func::FuncOp>("step");
  if (!step) {
    module.emitError("expected a function @step");
    return signalPassFailure();
  }
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto kernels = ModuleOp::create(builder, module.getLoc(), "kernels");
  StateTable states(module, optimizerOf(step));
  int64_t ranks = ranksOf(module);
  ProgramBuilder program(step, kernels, states, ranks, keepKernels);
  if (failed(program.build()))
    return signalPassFailure();
  ProgramEmitter emitter(program.getList(), ranks);
  reportArena(step, emitter.packBuffers());
  builder.setInsertionPoint(step);
  emitDeclarations(builder, step, states, program.getScalars());
  emitter.emit(builder, step.getLoc());
  step.erase();
}

} // namespace shardc
