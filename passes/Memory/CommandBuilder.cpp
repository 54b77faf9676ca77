//===- CommandBuilder.cpp - From a scheduled step to commands -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The walk over the step, where values live, and the commands of kernels,
// library calls and views. ShardingCommands.cpp has those of fsdp operations.
//===----------------------------------------------------------------------===//

#include "passes/Memory/CommandBuilder.h"

#include "dialects/Exec/Layout.h"
#include "dialects/Fsdp/ModulePath.h"
#include "passes/Kernel/ElementwiseFusion.h"
#include "passes/Memory/StateKernels.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shardc {

CommandBuilder::CommandBuilder(ModuleOp module, exec::ProgramOp program,
                               const StateTable &states, ValueRange inputs,
                               bool copies)
    : copies(copies), program(program),
      builder(OpBuilder::atBlockEnd(&program.getBody().front())),
      symbols(module), groups(module), states(states), inputs(inputs),
      mesh(exec::getMesh(module)), shards(getShards(module)),
      ranks(getRanks(module)) {
  shardAxes = builder.getStrArrayAttr(getShardAxes(module));
  SmallVector<StringRef> axes;
  for (const format::MeshAxis &axis : mesh.axes)
    axes.push_back(axis.name);
  allAxes = builder.getStrArrayAttr(axes);
}

LogicalResult CommandBuilder::buildStep(func::FuncOp step) {
  function = step;
  beginSection("begin", exec::RunKind::training);
  addInitialFills();
  exec::SectionOp section = beginSection("micro_batch", exec::RunKind::training,
                                         exec::Repeat::micro_batches);
  placeGradients();
  placeUpdates();
  if (failed(visitBody(step)))
    return failure();
  separateMicroBatches(section);
  return success();
}

LogicalResult CommandBuilder::buildEvaluation(func::FuncOp evaluation) {
  function = evaluation;
  beginSection("evaluate_begin", exec::RunKind::evaluation);
  addFill(states.getLoss(), evaluation.getLoc());
  beginSection("evaluate", exec::RunKind::evaluation,
               exec::Repeat::micro_batches);
  if (failed(visitBody(evaluation)))
    return failure();
  if (ranks == 1)
    return success();
  beginSection("evaluate_end", exec::RunKind::evaluation);
  addLossSum(evaluation.getLoc());
  return success();
}

LogicalResult CommandBuilder::visitBody(func::FuncOp body) {
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), inputs))
    memory[argument] = input;
  for (Operation &op :
       llvm::make_early_inc_range(body.getBody().front().without_terminator()))
    if (failed(visit(&op)))
      return failure();
  addHeldReductions();
  addStateWrites();
  return success();
}

exec::SectionOp CommandBuilder::beginSection(StringRef name, exec::RunKind run,
                                             exec::Repeat repeat,
                                             Value condition) {
  builder.setInsertionPointToEnd(&program.getBody().front());
  auto section = exec::SectionOp::create(builder, function.getLoc(), name, run,
                                         repeat, condition);
  builder.setInsertionPointToEnd(&section.getBody().emplaceBlock());
  return section;
}

LogicalResult CommandBuilder::visit(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](exec::KernelOp kernel) {
        return reducedCasts.contains(kernel) ? success() : visitKernel(kernel);
      })
      .Case([&](exec::LibraryOp library) { return visitLibrary(library); })
      .Case([&](exec::ViewOp view) { return visitView(view); })
      .Case([&](fsdp::BeginOp begin) { return visitBegin(begin), success(); })
      .Case([&](fsdp::ReadOp read) { return visitRead(read), success(); })
      .Case(
          [&](fsdp::ScalarOp scalar) { return visitScalar(scalar), success(); })
      .Case<fsdp::ReadShardOp, fsdp::GradientOp>([&](auto access) {
        memory[access.getResult()] = findState(access);
        return success();
      })
      .Case<fsdp::WriteOp, fsdp::WriteShardOp>(
          [&](auto write) { return visitWrite(write); })
      .Case([&](fsdp::ViewOp view) {
        return visitParameterView(view), success();
      })
      .Case([&](fsdp::UnshardStartOp start) {
        return visitUnshardStart(start), success();
      })
      .Case([&](fsdp::WaitOp wait) { return visitWait(wait), success(); })
      .Case([&](fsdp::ReshardOp) { return success(); })
      .Case(
          [&](fsdp::RetainOp retain) { return visitRetain(retain), success(); })
      .Case([&](fsdp::ReduceScatterStartOp reduction) {
        return visitReduceScatter(reduction);
      })
      .Case([&](fsdp::SumOverRanksOp sum) { return visitSum(sum); })
      .Case([&](fsdp::BroadcastOp broadcast) {
        return visitBroadcast(broadcast);
      })
      .Case([&](fsdp::GatherShardOp gather) { return visitGather(gather); })
      .Case([&](fsdp::TakeShardOp take) { return visitTake(take); })
      .Case([&](fsdp::AllReduceStartOp sum) {
        return visitAllReduce(sum), success();
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

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

FailureOr<Value> CommandBuilder::getMemory(Value value, Operation *user) {
  auto found = memory.find(value);
  if (found != memory.end())
    return found->second;
  return user->emitError("expected an operand that lives in a buffer");
}

FailureOr<SmallVector<Value>> CommandBuilder::getMemory(ValueRange values,
                                                        Operation *user) {
  SmallVector<Value> found;
  for (Value value : values) {
    FailureOr<Value> one = getMemory(value, user);
    if (failed(one))
      return failure();
    found.push_back(*one);
  }
  return found;
}

Value CommandBuilder::createBuffer(MemRefType type, Location location) {
  return exec::BufferOp::create(builder, location, type, IntegerAttr());
}

/// Results live where they were assigned to, else in a buffer of their own,
/// stored in `order` (empty: row-major).
Value CommandBuilder::createMemory(Value result, ArrayRef<int64_t> order) {
  auto found = assigned.find(result);
  if (found != assigned.end())
    return memory[result] = found->second;
  auto type = cast<RankedTensorType>(result.getType());
  MemRefType memref =
      exec::getStrided(type.getShape(), type.getElementType(),
                       exec::getOrderedStrides(type.getShape(), order));
  return memory[result] = createBuffer(memref, result.getLoc());
}

//===----------------------------------------------------------------------===//
// Gradients live in their reduction's input
//===----------------------------------------------------------------------===//

void CommandBuilder::placeGradients() {
  for (auto reduction :
       function.getBody().front().getOps<fsdp::ReduceScatterStartOp>())
    placeReduction(reduction);
}

void CommandBuilder::placeReduction(fsdp::ReduceScatterStartOp reduction) {
  SmallVector<Value> &buffers = reduceInputs[reduction];
  DenseMap<Operation *, Value> bufferOf;
  for (fsdp::SegmentOp segment : segmentsOf(reduction.getGroup())) {
    auto type = MemRefType::get({static_cast<int64_t>(segment.getElements())},
                                segment.getReduce());
    buffers.push_back(createBuffer(type, reduction.getLoc()));
    bufferOf[segment] = buffers.back();
  }
  for (auto [symbol, gradient] :
       llvm::zip_equal(reduction.getParameters(), reduction.getGradients())) {
    ParameterPlace place =
        groups.lookup(cast<FlatSymbolRefAttr>(symbol).getValue());
    // Else it has memory of its own, which fillSegment() copies or casts.
    if (!copies)
      placeIn(gradient, bufferOf[place.segment],
              static_cast<int64_t>(*place.member.getOffset()));
    else if (auto kernel = gradient.getDefiningOp<exec::KernelOp>();
             kernel && kernel::isReducedCast(kernel))
      reducedCasts.insert(kernel);
  }
}

/// The result that `value` is, or is a whole row-major view of, if the
/// operation that makes it can store it row-major in any place; else null.
OpResult CommandBuilder::findStored(Value value) {
  if (auto view = value.getDefiningOp<exec::ViewOp>()) {
    auto type = cast<RankedTensorType>(value.getType());
    auto source = cast<RankedTensorType>(view.getSource().getType());
    bool isWhole = view.getOffset() == 0 &&
                   source.getNumElements() == type.getNumElements() &&
                   exec::isRowMajor(type.getShape(), view.getStrides());
    return isWhole ? findStored(view.getSource()) : OpResult();
  }
  auto result = dyn_cast<OpResult>(value);
  bool isStored = result &&
                  isa<exec::LibraryOp, exec::KernelOp>(result.getOwner()) &&
                  exec::getOrder(result).empty();
  return isStored ? result : OpResult();
}

/// Assigns `value` to its place in `whole`; false when its producer cannot
/// write there.
bool CommandBuilder::placeIn(Value value, Value whole, int64_t offset) {
  OpResult stored = findStored(value);
  if (!stored || assigned.contains(stored))
    return false;
  auto type = cast<RankedTensorType>(stored.getType());
  assigned[stored] =
      createPart(whole, offset, exec::getRowMajor(type), value.getLoc());
  return true;
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

LogicalResult CommandBuilder::visitKernel(exec::KernelOp kernel) {
  FailureOr<SmallVector<Value>> inputs = getMemory(kernel.getInputs(), kernel);
  if (failed(inputs))
    return failure();
  SmallVector<Value> outputs;
  for (OpResult result : kernel.getResults())
    outputs.push_back(createMemory(result, exec::getOrder(result)));
  auto run = add<exec::RunOp>(kernel.getLoc(), /*stream=*/0, kernel.getLabel(),
                              *inputs, outputs);
  run.getBody().takeBody(kernel.getBody());
  return success();
}

LogicalResult CommandBuilder::visitLibrary(exec::LibraryOp library) {
  FailureOr<SmallVector<Value>> inputs =
      getMemory(library.getInputs(), library);
  if (failed(inputs))
    return failure();
  SmallVector<Value> outputs;
  for (OpResult result : library.getResults())
    outputs.push_back(createMemory(result, exec::getOrder(result)));
  add<exec::CallOp>(library.getLoc(), /*stream=*/0, library.getCall(),
                    library.getSettings(), *inputs, outputs,
                    /*workspace=*/Value());
  return success();
}

LogicalResult CommandBuilder::visitView(exec::ViewOp view) {
  FailureOr<Value> source = getMemory(view.getSource(), view);
  if (failed(source))
    return failure();
  auto type = cast<RankedTensorType>(view.getType());
  memory[view.getResult()] =
      createPart(*source, static_cast<int64_t>(view.getOffset()),
                 exec::getStrided(type.getShape(), type.getElementType(),
                                  view.getStrides()),
                 view.getLoc());
  return success();
}

//===----------------------------------------------------------------------===//
// Metrics
//===----------------------------------------------------------------------===//

LogicalResult CommandBuilder::visitLoss(fsdp::RecordLossOp loss) {
  FailureOr<Value> value = getMemory(loss.getLoss(), loss);
  if (failed(value))
    return failure();
  runLoss(builder, loss.getLoc(), states.getLoss(), *value);
  return success();
}

/// Sums squares over this rank's gradients, then over shards, and losses over
/// ranks.
void CommandBuilder::visitGradientNorm(fsdp::GradientNormOp norm) {
  Location location = norm.getLoc();
  SmallVector<Value> gradients;
  for (exec::StateOp state : states.getStates())
    if (state.getRole() == exec::Role::gradient)
      gradients.push_back(state.getMemory());
  Value total = memory[norm.getSquares()] = states.getGradientNorm();
  add<exec::CallOp>(location, /*stream=*/0, "sum_of_squares",
                    builder.getDictionaryAttr({}), gradients, total,
                    /*workspace=*/Value());
  if (shards > 1)
    add<exec::AllReduceOp>(location, /*stream=*/0, total,
                           /*double_double=*/true, shardAxes);
  if (ranks > 1)
    addLossSum(location);
}

/// Over ranks.
void CommandBuilder::addLossSum(Location location) {
  add<exec::AllReduceOp>(location, /*stream=*/0, states.getLoss(),
                         /*double_double=*/false, allAxes);
}

} // namespace shardc
