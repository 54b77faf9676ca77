//===- LowerToCommands.cpp - From tensors to commands on memory -----------===//
// SPDX-License-Identifier: Apache-2.0
//
//   func.func @step(%idx: tensor<4x64xi64>) { … }
//   -> %0 = exec.state "h.0#0.parameter" parameter segment 0 : memref<…>
//      %1 = exec.input "idx" : memref<4x64xi64>
//      exec.program @step … { exec.run "gelu" … }
//
// and `@evaluate`, if there is one, to further sections of the program.
//===----------------------------------------------------------------------===//

#include "passes/Memory/Passes.h"

#include "dialects/Exec/Layout.h"
#include "dialects/Fsdp/Functions.h"
#include "passes/Memory/CommandBuilder.h"

#define DEBUG_TYPE "shardc-lower-to-commands"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_LOWERTOCOMMANDSPASS
#include "passes/Memory/Passes.h.inc"

namespace {
struct LowerToCommandsPass
    : impl::LowerToCommandsPassBase<LowerToCommandsPass> {
  using LowerToCommandsPassBase::LowerToCommandsPassBase;
  void runOnOperation() override;
};
} // namespace

/// The name under which data is given for an argument.
static StringAttr inputName(func::FuncOp step, unsigned index) {
  if (auto name = step.getArgAttrOfType<StringAttr>(index, "shardc.name"))
    return name;
  return StringAttr::get(step.getContext(), "input" + Twine(index));
}

/// Declares the memory of the step's arguments.
static SmallVector<Value> declareInputs(OpBuilder &builder, func::FuncOp step) {
  SmallVector<Value> inputs;
  for (BlockArgument argument : step.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto type = cast<RankedTensorType>(argument.getType());
    auto attribute = [&](StringRef name) {
      return step.getArgAttrOfType<IntegerAttr>(number, name);
    };
    inputs.push_back(exec::InputOp::create(
        builder, argument.getLoc(), exec::getRowMajor(type),
        inputName(step, number), attribute("shardc.upper_bound"),
        attribute("shardc.ignore_index"),
        step.getArgAttrOfType<UnitAttr>(number, "shardc.shifted")));
  }
  return inputs;
}

/// The program that takes the place of `step`.
static exec::ProgramOp createProgram(OpBuilder &builder, func::FuncOp step,
                                     bool hasReplicas,
                                     UnitAttr serialReductions) {
  SmallVector<StringRef> streams;
  for (unsigned i = 0; i <= fsdp::getMaxEnumValForStream(); ++i)
    if (auto stream = static_cast<fsdp::Stream>(i);
        stream != fsdp::Stream::replicate || hasReplicas)
      streams.push_back(fsdp::stringifyStream(stream));
  auto program = exec::ProgramOp::create(
      builder, step.getLoc(), step.getSymNameAttr(),
      builder.getStrArrayAttr(streams), serialReductions,
      /*arena=*/IntegerAttr(), builder.getI64IntegerAttr(0),
      builder.getI64IntegerAttr(0));
  program.getBody().emplaceBlock();
  return program;
}

void LowerToCommandsPass::runOnOperation() {
  ModuleOp module = getOperation();
  auto step = functions::find(module, functions::step);
  if (!step) {
    module.emitError("expected a function @step");
    return signalPassFailure();
  }
  OpBuilder builder(step);
  StateTable states(builder, module);
  SmallVector<Value> inputs = declareInputs(builder, step);
  exec::ProgramOp program =
      createProgram(builder, step, !getReplicaAxes(module).empty(),
                    copies ? builder.getUnitAttr() : UnitAttr());
  CommandBuilder commands(module, program, states, inputs, copies);
  if (failed(commands.buildStep(step)))
    return signalPassFailure();
  auto evaluation = functions::find(module, functions::evaluate);
  if (evaluation && failed(commands.buildEvaluation(evaluation)))
    return signalPassFailure();
  for (auto function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    function.erase();
}

} // namespace shardc
