//===- CommandBuilder.cpp - From a scheduled step to commands -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The walk over the step, and the commands of library calls, views and metrics.
//===----------------------------------------------------------------------===//

#include "passes/Memory/CommandBuilder.h"

#include "dialects/Exec/Layout.h"
#include "passes/Memory/StateKernels.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shardc {

CommandBuilder::CommandBuilder(ModuleOp module, exec::ProgramOp program,
                               const StateTable &states, ValueRange inputs,
                               bool copies)
    : context(module, program, states, copies), inputs(inputs) {}

LogicalResult CommandBuilder::buildStep(func::FuncOp step) {
  context.function = step;
  context.beginSection("begin", exec::RunKind::training);
  reductions.addInitialFills();
  exec::SectionOp section = context.beginSection(
      "micro_batch", exec::RunKind::training, exec::Repeat::micro_batches);
  reductions.placeGradients();
  stateCommands.placeUpdates();
  if (failed(visitBody(step)))
    return failure();
  reductions.separateMicroBatches(section);
  return success();
}

LogicalResult CommandBuilder::buildEvaluation(func::FuncOp evaluation) {
  context.function = evaluation;
  context.beginSection("evaluate_begin", exec::RunKind::evaluation);
  context.addFill(context.states.getLoss(), evaluation.getLoc());
  context.beginSection("evaluate", exec::RunKind::evaluation,
                       exec::Repeat::micro_batches);
  if (failed(visitBody(evaluation)))
    return failure();
  if (context.ranks == 1)
    return success();
  context.beginSection("evaluate_end", exec::RunKind::evaluation);
  addLossSum(evaluation.getLoc());
  return success();
}

LogicalResult CommandBuilder::visitBody(func::FuncOp body) {
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), inputs))
    context.memory[argument] = input;
  for (Operation &op :
       llvm::make_early_inc_range(body.getBody().front().without_terminator()))
    if (failed(visit(&op)))
      return failure();
  reductions.addHeldReductions();
  stateCommands.addStateWrites();
  return success();
}

LogicalResult CommandBuilder::visit(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](exec::KernelOp kernel) {
        return reductions.isReducedCast(kernel) ? success()
                                                : context.visitKernel(kernel);
      })
      .Case([&](exec::LibraryOp library) { return visitLibrary(library); })
      .Case([&](exec::ViewOp view) { return visitView(view); })
      .Case([&](fsdp::BeginOp begin) { return visitBegin(begin), success(); })
      .Case([&](fsdp::ReadOp read) {
        return stateCommands.visitRead(read), success();
      })
      .Case(
          [&](fsdp::ScalarOp scalar) { return visitScalar(scalar), success(); })
      .Case<fsdp::ReadShardOp, fsdp::GradientOp>([&](auto access) {
        context.memory[access.getResult()] = stateCommands.findState(access);
        return success();
      })
      .Case<fsdp::WriteOp, fsdp::WriteShardOp>(
          [&](auto write) { return stateCommands.visitWrite(write); })
      .Case([&](fsdp::ViewOp view) {
        return gathers.visitParameterView(view), success();
      })
      .Case([&](fsdp::UnshardStartOp start) {
        return gathers.visitUnshardStart(start), success();
      })
      .Case(
          [&](fsdp::WaitOp wait) { return gathers.visitWait(wait), success(); })
      .Case([&](fsdp::ReshardOp) { return success(); })
      .Case([&](fsdp::RetainOp retain) {
        return gathers.visitRetain(retain), success();
      })
      .Case([&](fsdp::ReduceScatterStartOp reduction) {
        return reductions.visitReduceScatter(reduction);
      })
      .Case([&](fsdp::SumOverRanksOp sum) { return visitSum(sum); })
      .Case([&](fsdp::BroadcastOp broadcast) {
        return visitBroadcast(broadcast);
      })
      .Case([&](fsdp::GatherShardOp gather) {
        return updates.visitGather(gather);
      })
      .Case([&](fsdp::TakeShardOp take) { return updates.visitTake(take); })
      .Case([&](fsdp::AllReduceStartOp sum) {
        return reductions.visitAllReduce(sum), success();
      })
      .Case([&](fsdp::RecordLossOp loss) { return visitLoss(loss); })
      .Case([&](fsdp::GradientNormOp norm) {
        return visitGradientNorm(norm), success();
      })
      .Default([](Operation *other) {
        return other->emitError("expected an operation that has a command, "
                                "got '")
               << other->getName() << "'";
      });
}

void CommandBuilder::visitBegin(fsdp::BeginOp begin) {
  if (begin.getPhase() <= fsdp::Phase::backward)
    return;
  reductions.addHeldReductions();
  stateCommands.addStateWrites();
  Value condition;
  if (auto state = begin.getCondition())
    condition = context.states.lookup(*state);
  context.beginSection(fsdp::stringifyPhase(begin.getPhase()),
                       exec::RunKind::training, exec::Repeat::once, condition);
  updates.placeShards(begin);
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

LogicalResult CommandBuilder::visitLibrary(exec::LibraryOp library) {
  FailureOr<SmallVector<Value>> inputs =
      context.getMemory(library.getInputs(), library);
  if (failed(inputs))
    return failure();
  SmallVector<Value> outputs;
  for (OpResult result : library.getResults())
    outputs.push_back(context.createMemory(result, exec::getOrder(result)));
  context.add<exec::CallOp>(library.getLoc(), /*stream=*/0, library.getCall(),
                            library.getSettings(), *inputs, outputs,
                            /*workspace=*/Value());
  return success();
}

LogicalResult CommandBuilder::visitView(exec::ViewOp view) {
  FailureOr<Value> source = context.getMemory(view.getSource(), view);
  if (failed(source))
    return failure();
  auto type = cast<RankedTensorType>(view.getType());
  context.memory[view.getResult()] = context.createPart(
      *source, static_cast<int64_t>(view.getOffset()),
      exec::getStrided(type.getShape(), type.getElementType(),
                       view.getStrides()),
      view.getLoc());
  return success();
}

void CommandBuilder::visitScalar(fsdp::ScalarOp scalar) {
  context.memory[scalar.getResult()] = context.declareScalar(
      fsdp::stringifyScalar(scalar.getName()),
      exec::getRowMajor(cast<RankedTensorType>(scalar.getType())),
      scalar.getLoc());
}

//===----------------------------------------------------------------------===//
// Metrics
//===----------------------------------------------------------------------===//

LogicalResult CommandBuilder::visitLoss(fsdp::RecordLossOp loss) {
  FailureOr<Value> value = context.getMemory(loss.getLoss(), loss);
  if (failed(value))
    return failure();
  runLoss(context.builder, loss.getLoc(), context.states.getLoss(), *value);
  return success();
}

/// Sums squares over this rank's gradients, then over shards, and losses over
/// ranks.
void CommandBuilder::visitGradientNorm(fsdp::GradientNormOp norm) {
  Location location = norm.getLoc();
  SmallVector<Value> gradients;
  for (exec::StateOp state : context.states.getStates())
    if (state.getRole() == exec::Role::gradient)
      gradients.push_back(state.getMemory());
  Value total = context.memory[norm.getSquares()] =
      context.states.getGradientNorm();
  context.add<exec::CallOp>(location, /*stream=*/0, "sum_of_squares",
                            context.builder.getDictionaryAttr({}), gradients,
                            total,
                            /*workspace=*/Value());
  if (context.shards > 1)
    context.add<exec::AllReduceOp>(location, /*stream=*/0, total,
                                   /*double_double=*/true, context.shardAxes);
  if (context.ranks > 1)
    addLossSum(location);
}

/// Over ranks.
void CommandBuilder::addLossSum(Location location) {
  context.add<exec::AllReduceOp>(location, /*stream=*/0,
                                 context.states.getLoss(),
                                 /*double_double=*/false, context.allAxes);
}

//===----------------------------------------------------------------------===//
// All ranks
//===----------------------------------------------------------------------===//

LogicalResult CommandBuilder::visitSum(fsdp::SumOverRanksOp sum) {
  FailureOr<Value> term = context.getMemory(sum.getValue(), sum);
  if (failed(term))
    return failure();
  Value total = context.createMemory(sum.getResult(), /*order=*/{});
  context.addCopy(*term, total, sum.getLoc());
  if (context.ranks > 1)
    context.add<exec::AllReduceOp>(sum.getLoc(), /*stream=*/0, total,
                                   /*double_double=*/false, context.allAxes);
  return success();
}

/// Ranks gather what all of them have, and take the first one's.
LogicalResult CommandBuilder::visitBroadcast(fsdp::BroadcastOp broadcast) {
  FailureOr<Value> own = context.getMemory(broadcast.getValue(), broadcast);
  if (failed(own))
    return failure();
  Location location = broadcast.getLoc();
  MemRefType type = cast<MemRefType>(own->getType());
  MemRefType flat = MemRefType::get({context.ranks * type.getNumElements()},
                                    type.getElementType());
  Value all = context.createBuffer(flat, location);
  Value slot = context.createSlot(all, context.allAxes, location);
  context.addCopy(
      context.createPart(*own, 0, cast<MemRefType>(slot.getType()), location),
      slot, location);
  if (context.ranks > 1)
    context.add<exec::AllGatherOp>(location, /*stream=*/0, "statistics", all,
                                   exec::getSpanBytes(type), context.allAxes);
  context.memory[broadcast.getResult()] =
      context.createPart(all, 0, type, location);
  return success();
}

} // namespace shardc
