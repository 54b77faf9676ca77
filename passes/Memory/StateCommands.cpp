//===- StateCommands.cpp - Reads and writes of states ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// States keep their memory from step to step.
//===----------------------------------------------------------------------===//

#include "passes/Memory/StateCommands.h"

#include "dialects/Exec/Memory.h"
#include "passes/Kernel/Emission/KernelOutliner.h"
#include "passes/Memory/ParallelCopy.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shardc {

/// The memory of the state that `access` reads or writes; null for any other
/// operation.
Value StateCommands::findState(Operation *access) {
  auto find = [&](StringRef group, uint64_t segment) {
    return context.states.lookup(context.segmentsOf(group)[segment]);
  };
  return llvm::TypeSwitch<Operation *, Value>(access)
      .Case<fsdp::ReadOp, fsdp::WriteOp>(
          [&](auto op) { return context.states.lookup(op.getSymbol()); })
      .Case<fsdp::ReadShardOp, fsdp::WriteShardOp>([&](auto op) {
        return find(op.getGroup(), op.getSegment()).parameter;
      })
      .Case([&](fsdp::GradientOp op) {
        auto type = cast<fsdp::ShardType>(op.getShard().getType());
        return find(type.getGroup().getValue(), op.getSegment()).gradient;
      })
      .Default([](Operation *) { return Value(); });
}

/// A read sees the last value written in this section, else the state.
void StateCommands::visitRead(fsdp::ReadOp read) {
  Value state = findState(read);
  context.memory[read.getResult()] = state;
  for (Operation *write : writes)
    if (findState(write) == state)
      context.memory[read.getResult()] =
          context.memory.lookup(write->getOperand(0));
}

LogicalResult StateCommands::visitWrite(Operation *write) {
  if (failed(context.getMemory(write->getOperand(0), write)))
    return failure();
  for (Operation *&earlier : writes)
    if (findState(earlier) == findState(write)) {
      earlier = write;
      return success();
    }
  writes.push_back(write);
  return success();
}

/// Whether the kernel that makes `value` may write it over a state with these
/// `reads`: nothing reads the old value later, and the kernel itself only
/// element by element.
bool StateCommands::mayOverwrite(OpResult value, ArrayRef<Operation *> reads) {
  auto kernel = dyn_cast<exec::KernelOp>(value.getOwner());
  if (!kernel || context.memory.contains(value) ||
      context.assigned.contains(value))
    return false;
  SmallVector<kernel::SharedStorage> shareable;
  for (Operation *read : reads)
    for (OpOperand &use : read->getResult(0).getUses()) {
      if (use.getOwner() != kernel) {
        if (use.getOwner()->isBeforeInBlock(kernel) &&
            isa<exec::KernelOp>(use.getOwner()))
          continue;
        return false;
      }
      if (shareable.empty())
        shareable = kernel::getShareableStorage(kernel);
      if (!llvm::is_contained(shareable,
                              kernel::SharedStorage(use.getOperandNumber(),
                                                    value.getResultNumber())))
        return false;
    }
  return true;
}

/// New values of the update part live in their state where that is possible.
void StateCommands::placeUpdates() {
  DenseMap<Value, SmallVector<Operation *>> readsOf;
  for (Operation &op : context.function.getBody().front())
    if (Value state = findState(&op);
        state && !isa<fsdp::WriteOp, fsdp::WriteShardOp>(op))
      readsOf[state].push_back(&op);
  bool isUpdate = false;
  for (Operation &op : context.function.getBody().front()) {
    if (auto begin = dyn_cast<fsdp::BeginOp>(op))
      isUpdate = begin.getPhase() == fsdp::Phase::update;
    if (!isUpdate || !isa<fsdp::WriteOp, fsdp::WriteShardOp>(op))
      continue;
    auto value = dyn_cast<OpResult>(op.getOperand(0));
    Value target = findState(&op);
    if (value && mayOverwrite(value, readsOf.lookup(target)))
      context.assigned[value] = target;
  }
}

namespace {
struct StateWrite {
  Value source, target;
  Location location;
};
} // namespace

/// States change after backward or the update, which may still read the old
/// values, and all at once: a value may be another state's. One that is its own
/// state's has the state's type, so it is the whole of it, and nothing changes.
void StateCommands::addStateWrites() {
  SmallVector<StateWrite> changes;
  std::vector<PlaceCopy> moves;
  DenseMap<Value, int64_t> numbers;
  auto numberOf = [&](Value value) {
    return numbers.try_emplace(exec::getPlace(value).whole, numbers.size())
        .first->second;
  };
  for (Operation *write : writes) {
    Value source = context.memory.lookup(write->getOperand(0));
    Value target = findState(write);
    if (exec::getPlace(source).whole == target)
      continue;
    changes.push_back({source, target, write->getLoc()});
    moves.push_back({numberOf(source), numberOf(target)});
  }
  DenseMap<Value, Value> savedIn;
  for (const CopyStep &next : orderCopies(moves)) {
    auto [source, target, location] = changes[next.copy];
    if (next.savesTarget) {
      Value aside =
          context.createBuffer(cast<MemRefType>(target.getType()), location);
      context.addCopy(target, aside, location);
      savedIn[target] = aside;
    }
    exec::Place place = exec::getPlace(source);
    if (Value saved = savedIn.lookup(place.whole))
      source = context.createPart(saved, place.offset,
                                  cast<MemRefType>(source.getType()), location);
    context.addCopy(source, target, location);
  }
  writes.clear();
}

} // namespace shardc
