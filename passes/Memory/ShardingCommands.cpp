//===- ShardingCommands.cpp - Commands of fsdp operations -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Gathers, reductions, buffers, metrics and the optimizer as commands of the
// CommandBuilder.
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Layout.h"
#include "dialects/Exec/Memory.h"
#include "passes/Kernel/Emission/KernelOutliner.h"
#include "passes/Memory/CommandBuilder.h"
#include "passes/Memory/ParallelCopy.h"
#include "passes/Memory/StateKernels.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shardc {

static MemRefType typeOf(Value memory) {
  return cast<MemRefType>(memory.getType());
}

SmallVector<fsdp::SegmentOp> CommandBuilder::segmentsOf(StringRef group) {
  auto op = symbols.lookup<fsdp::GroupOp>(group);
  return llvm::to_vector(op.getBody().front().getOps<fsdp::SegmentOp>());
}

void CommandBuilder::addCopy(Value source, Value target, Location location,
                             int64_t stream) {
  add<exec::CopyOp>(location, stream, source, target);
}

void CommandBuilder::addFill(Value target, Location location) {
  add<exec::FillOp>(location, /*stream=*/0, target);
}

/// Whether the reduction of a segment, which a micro-batch has at most one of,
/// adds to the gradient itself: then the first one can overwrite it.
static bool overwritesAtFirst(fsdp::ReduceScatterStartOp reduction,
                              fsdp::SegmentOp segment) {
  return !reduction.getOnce() && !segment.getGradient();
}

/// Gradients and metrics are sums over micro-batches: they start at zero, but
/// for gradients that the first micro-batch overwrites.
void CommandBuilder::addInitialFills() {
  DenseSet<Value> overwritten;
  for (auto reduction :
       function.getBody().front().getOps<fsdp::ReduceScatterStartOp>())
    for (fsdp::SegmentOp segment : segmentsOf(reduction.getGroup()))
      if (!segment.getFrozen() && overwritesAtFirst(reduction, segment))
        overwritten.insert(states.lookup(segment).gradient);
  for (exec::StateOp state : states.getStates())
    if (state.getRole() == exec::Role::metric ||
        (state.getRole() == exec::Role::gradient &&
         !overwritten.contains(state.getMemory())))
      addFill(state.getMemory(), function.getLoc());
}

Value CommandBuilder::declareScalar(StringRef name, MemRefType type,
                                    Location location) {
  Value &declared = scalars[name];
  if (!declared) {
    OpBuilder declarations(program);
    declared = exec::ScalarOp::create(declarations, location, type, name);
  }
  return declared;
}

void CommandBuilder::visitBegin(fsdp::BeginOp begin) {
  if (begin.getPhase() <= fsdp::Phase::backward)
    return;
  addHeldReductions();
  addStateWrites();
  Value condition;
  if (auto state = begin.getCondition())
    condition = states.lookup(*state);
  beginSection(fsdp::stringifyPhase(begin.getPhase()), exec::RunKind::training,
               exec::Repeat::once, condition);
  placeShards(begin);
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// The memory of the state that `access` reads or writes; null for any other
/// operation.
Value CommandBuilder::findState(Operation *access) {
  auto find = [&](StringRef group, uint64_t segment) {
    return states.lookup(segmentsOf(group)[segment]);
  };
  return llvm::TypeSwitch<Operation *, Value>(access)
      .Case<fsdp::ReadOp, fsdp::WriteOp>(
          [&](auto op) { return states.lookup(op.getSymbol()); })
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
void CommandBuilder::visitRead(fsdp::ReadOp read) {
  Value state = findState(read);
  memory[read.getResult()] = state;
  for (Operation *write : writes)
    if (findState(write) == state)
      memory[read.getResult()] = memory.lookup(write->getOperand(0));
}

void CommandBuilder::visitScalar(fsdp::ScalarOp scalar) {
  memory[scalar.getResult()] =
      declareScalar(fsdp::stringifyScalar(scalar.getName()),
                    exec::getRowMajor(cast<RankedTensorType>(scalar.getType())),
                    scalar.getLoc());
}

LogicalResult CommandBuilder::visitWrite(Operation *write) {
  if (failed(getMemory(write->getOperand(0), write)))
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
bool CommandBuilder::mayOverwrite(OpResult value, ArrayRef<Operation *> reads) {
  auto kernel = dyn_cast<exec::KernelOp>(value.getOwner());
  if (!kernel || memory.contains(value) || assigned.contains(value))
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
void CommandBuilder::placeUpdates() {
  DenseMap<Value, SmallVector<Operation *>> readsOf;
  for (Operation &op : function.getBody().front())
    if (Value state = findState(&op);
        state && !isa<fsdp::WriteOp, fsdp::WriteShardOp>(op))
      readsOf[state].push_back(&op);
  bool isUpdate = false;
  for (Operation &op : function.getBody().front()) {
    if (auto begin = dyn_cast<fsdp::BeginOp>(op))
      isUpdate = begin.getPhase() == fsdp::Phase::update;
    if (!isUpdate || !isa<fsdp::WriteOp, fsdp::WriteShardOp>(op))
      continue;
    auto value = dyn_cast<OpResult>(op.getOperand(0));
    Value target = findState(&op);
    if (value && mayOverwrite(value, readsOf.lookup(target)))
      assigned[value] = target;
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
void CommandBuilder::addStateWrites() {
  SmallVector<StateWrite> changes;
  std::vector<PlaceCopy> copies;
  DenseMap<Value, int64_t> numbers;
  auto numberOf = [&](Value memory) {
    return numbers.try_emplace(exec::getPlace(memory).whole, numbers.size())
        .first->second;
  };
  for (Operation *write : writes) {
    Value source = memory.lookup(write->getOperand(0));
    Value target = findState(write);
    if (exec::getPlace(source).whole == target)
      continue;
    changes.push_back({source, target, write->getLoc()});
    copies.push_back({numberOf(source), numberOf(target)});
  }
  DenseMap<Value, Value> savedIn;
  for (const CopyStep &next : orderCopies(copies)) {
    auto [source, target, location] = changes[next.copy];
    if (next.savesTarget) {
      Value aside = createBuffer(typeOf(target), location);
      addCopy(target, aside, location);
      savedIn[target] = aside;
    }
    exec::Place place = exec::getPlace(source);
    if (Value saved = savedIn.lookup(place.whole))
      source = createPart(saved, place.offset, typeOf(source), location);
    addCopy(source, target, location);
  }
  writes.clear();
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

void CommandBuilder::visitUnshardStart(fsdp::UnshardStartOp start) {
  SmallVector<Value> wholes;
  SmallVector<Value> parts = gathered.lookup(start.getRetained());
  for (auto [number, segment] : llvm::enumerate(segmentsOf(start.getGroup())))
    wholes.push_back(start.getRetained()
                         ? gatherRetained(start, segment, parts[number])
                         : gatherSegment(start, segment));
  gathered[start.getResult()] = wholes;
}

/// The place of this rank in `whole`, of which ranks that differ on `axes` have
/// equal parts.
Value CommandBuilder::createSlot(Value whole, ArrayAttr axes,
                                 Location location) {
  MemRefType type = typeOf(whole);
  int64_t stride = type.getNumElements();
  SmallVector<exec::AxisStride> strides;
  for (auto axis : axes.getAsRange<StringAttr>()) {
    int64_t size = mesh.axes[*exec::findAxis(mesh, axis)].size;
    stride /= size;
    if (size > 1)
      strides.push_back({axis, stride});
  }
  return exec::createPart(builder, location, whole, 0,
                          MemRefType::get({stride}, type.getElementType()),
                          strides);
}

/// Casts this rank's shard into its slot and gathers in place. Returns the
/// whole segment's memory.
Value CommandBuilder::gatherSegment(fsdp::UnshardStartOp start,
                                    fsdp::SegmentOp segment) {
  Value shard = states.lookup(segment).parameter;
  Type dtype = segment.getDtype();
  bool needsCast = typeOf(shard).getElementType() != dtype;
  if (shards == 1 && !needsCast)
    return shard;
  Location location = start.getLoc();
  auto stream = static_cast<int64_t>(start.getStream());
  auto elements = static_cast<int64_t>(segment.getShard());
  Value whole =
      createBuffer(MemRefType::get({elements * shards}, dtype), location);
  Value slot = createSlot(whole, shardAxes, location);
  if (needsCast)
    runCast(builder, location, shard, slot, stream);
  else
    addCopy(shard, slot, location, stream);
  if (shards > 1)
    add<exec::AllGatherOp>(location, stream, start.getGroup(), whole,
                           elements * getElementBytes(dtype), shardAxes);
  return whole;
}

/// The axes on which ranks differ that a group is resharded to.
ArrayAttr CommandBuilder::lastAxesOf(StringRef group) {
  auto op = symbols.lookup<fsdp::GroupOp>(group);
  auto meshOp = symbols.lookup<fsdp::MeshOp>(op.getMesh());
  return builder.getStrArrayAttr(
      meshOp.getLastAxes(static_cast<int64_t>(*op.getReshardTo())));
}

/// Copies this rank's part of each segment aside.
void CommandBuilder::visitRetain(fsdp::RetainOp retain) {
  auto type = cast<fsdp::UnshardedType>(retain.getUnsharded().getType());
  ArrayAttr axes = lastAxesOf(type.getGroup().getValue());
  SmallVector<Value> parts;
  for (Value whole : gathered.lookup(retain.getUnsharded())) {
    Value slot = createSlot(whole, axes, retain.getLoc());
    parts.push_back(createBuffer(typeOf(slot), retain.getLoc()));
    addCopy(slot, parts.back(), retain.getLoc());
  }
  gathered[retain.getResult()] = parts;
}

/// Gathers what each of fewer ranks has retained. Returns the whole segment's
/// memory.
Value CommandBuilder::gatherRetained(fsdp::UnshardStartOp start,
                                     fsdp::SegmentOp segment, Value part) {
  Location location = start.getLoc();
  auto stream = static_cast<int64_t>(start.getStream());
  ArrayAttr axes = lastAxesOf(start.getGroup());
  Value whole = createBuffer(
      MemRefType::get({static_cast<int64_t>(segment.getElements())},
                      segment.getDtype()),
      location);
  addCopy(part, createSlot(whole, axes, location), location, stream);
  add<exec::AllGatherOp>(location, stream, start.getGroup(), whole,
                         exec::getSpanBytes(typeOf(part)), axes);
  return whole;
}

void CommandBuilder::visitWait(fsdp::WaitOp wait) {
  auto found = gathered.find(wait.getPending());
  if (found == gathered.end())
    return; // A reduction: its value is the gradient states.
  SmallVector<Value> wholes = found->second;
  for (Value &whole : wholes) {
    if (!copies || !whole.getDefiningOp<exec::BufferOp>())
      continue;
    Value copied = createBuffer(typeOf(whole), wait.getLoc());
    addCopy(whole, copied, wait.getLoc());
    whole = copied;
  }
  gathered[wait.getResult()] = wholes;
}

void CommandBuilder::visitParameterView(fsdp::ViewOp view) {
  ParameterPlace place = groups.lookup(view.getParameter());
  auto type = cast<RankedTensorType>(view.getType());
  const SmallVector<Value> &wholes = gathered[view.getUnsharded()];
  SmallVector<fsdp::SegmentOp> segments = segmentsOf(place.group.getSymName());
  size_t index = llvm::find(segments, place.segment) - segments.begin();
  memory[view.getResult()] =
      createPart(wholes[index], static_cast<int64_t>(*place.member.getOffset()),
                 exec::getRowMajor(type), view.getLoc());
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Computation waits for one reduction before it writes the next one's input,
/// as in FSDP2.
void CommandBuilder::addHeldReductions() {
  for (const std::function<void()> &add : heldReductions)
    add();
  heldReductions.clear();
}

LogicalResult
CommandBuilder::visitReduceScatter(fsdp::ReduceScatterStartOp reduction) {
  addHeldReductions();
  SmallVector<fsdp::SegmentOp> segments = segmentsOf(reduction.getGroup());
  for (auto [segment, buffer] :
       llvm::zip_equal(segments, reduceInputs[reduction])) {
    if (segment.getFrozen())
      continue;
    SmallVector<SegmentMember> members;
    for (auto [symbol, gradient] :
         llvm::zip_equal(reduction.getParameters(), reduction.getGradients())) {
      ParameterPlace place =
          groups.lookup(cast<FlatSymbolRefAttr>(symbol).getValue());
      if (place.segment == segment)
        members.push_back(
            {gradient, static_cast<int64_t>(*place.member.getOffset())});
    }
    if (failed(fillSegment(reduction, segment, buffer, members)))
      return failure();
    // One of the whole step's gradients adds to them, and frees its input.
    if (copies && !reduction.getOnce())
      heldReductions.push_back([this, reduction, segment, buffer] {
        reduceSegment(reduction, segment, buffer);
      });
    else
      reduceSegment(reduction, segment, buffer);
  }
  return success();
}

/// Sums `buffer`, the whole segment's gradients, into the ranks' shards. Where
/// that happens once a step, they add up on this rank until then.
void CommandBuilder::reduceSegment(fsdp::ReduceScatterStartOp reduction,
                                   fsdp::SegmentOp segment, Value buffer) {
  using exec::Repeat;
  Location location = reduction.getLoc();
  const SegmentStates &own = states.lookup(segment);
  if (!reduction.getOnce()) {
    reduceInto(reduction, segment, buffer);
    return;
  }
  auto only = [&](ArrayRef<Operation *> commands, ArrayRef<Repeat> repeats) {
    for (Operation *command : commands)
      microBatchesOf[command].assign(repeats.begin(), repeats.end());
  };
  only(reduceInto(reduction, segment, buffer), Repeat::only_micro_batch);
  only({add<exec::CopyOp>(location, /*stream=*/0, buffer, own.accumulated)},
       Repeat::first_micro_batch);
  only({runAccumulate(builder, location, own.accumulated, buffer,
                      /*stream=*/0)},
       {Repeat::middle_micro_batches, Repeat::last_micro_batch});
  only(reduceInto(reduction, segment, own.accumulated),
       Repeat::last_micro_batch);
}

/// Adds the sum of all ranks' `whole` to this rank's shard of gradients, in a
/// micro-batch that is the first one in place of what it was, and returns the
/// commands. A narrow one gets the sum of the ranks at once.
SmallVector<Operation *>
CommandBuilder::reduceInto(fsdp::ReduceScatterStartOp reduction,
                           fsdp::SegmentOp segment, Value whole) {
  Location location = reduction.getLoc();
  auto stream = static_cast<int64_t>(reduction.getStream());
  Value gradient = states.lookup(segment).gradient;
  auto reduce = [&](Value sums, Value microBatch = {}) -> Operation * {
    return add<exec::ReduceScatterOp>(location, stream, reduction.getGroup(),
                                      whole, sums, microBatch, shardAxes);
  };
  bool isWhole = whole != states.lookup(segment).accumulated;
  if (!segment.getGradient() && isWhole) {
    Operation *reduced = reduce(
        gradient,
        declareScalar("micro_batch", MemRefType::get({}, builder.getI64Type()),
                      location));
    // The sum of one rank alone is what the first micro-batch can write there.
    if (shards == 1 && !copies && !reduction.getOnce() &&
        whole.getType() == gradient.getType())
      initialWrites.push_back(cast<exec::ReduceScatterOp>(reduced));
    return {reduced};
  }
  if (!segment.getGradient())
    return {reduce(gradient)};
  Value sums = createBuffer(
      MemRefType::get(typeOf(gradient).getShape(), getSumType(segment)),
      location);
  Operation *fill = add<exec::FillOp>(location, stream, sums);
  Operation *reduced = reduce(sums);
  return {fill, reduced,
          runAccumulate(builder, location, gradient, sums, stream)};
}

/// Copies members that were not written into `buffer`, the whole segment, and
/// zeroes what none covers.
LogicalResult CommandBuilder::fillSegment(Operation *op,
                                          fsdp::SegmentOp segment, Value buffer,
                                          ArrayRef<SegmentMember> members) {
  Location location = op->getLoc();
  Type element = typeOf(buffer).getElementType();
  SmallVector<std::pair<int64_t, int64_t>> covered;
  for (auto [value, offset] : members) {
    auto type = cast<RankedTensorType>(value.getType());
    covered.push_back({offset, offset + type.getNumElements()});
    if (reducedCasts.contains(value.getDefiningOp())) {
      assigned[value] =
          createPart(buffer, offset, exec::getRowMajor(type), location);
      if (failed(visitKernel(cast<exec::KernelOp>(value.getDefiningOp()))))
        return failure();
      continue;
    }
    FailureOr<Value> source = getMemory(value, op);
    if (failed(source))
      return failure();
    if (exec::getPlace(*source) == exec::Place{buffer, offset})
      continue;
    MemRefType layout = typeOf(*source);
    if (!exec::isRowMajor(layout.getShape(), exec::getStrides(layout)))
      return op->emitError("expected row-major operands, got ") << layout;
    addCopy(*source, createPart(buffer, offset, layout, location), location);
  }
  llvm::sort(covered);
  covered.push_back({static_cast<int64_t>(segment.getElements()), 0});
  int64_t end = 0;
  for (auto [begin, next] : covered) {
    if (begin > end)
      addFill(createPart(buffer, end, MemRefType::get({begin - end}, element),
                         location),
              location);
    end = next;
  }
  return success();
}

void CommandBuilder::visitAllReduce(fsdp::AllReduceStartOp sum) {
  // Behind the reduction that it sums over replicas.
  if (!heldReductions.empty())
    heldReductions.push_back([this, sum] { addAllReduce(sum); });
  else
    addAllReduce(sum);
}

void CommandBuilder::addAllReduce(fsdp::AllReduceStartOp sum) {
  auto type = cast<fsdp::PendingType>(sum.getType());
  auto stream = static_cast<int64_t>(sum.getStream());
  for (fsdp::SegmentOp segment : segmentsOf(type.getGroup().getValue())) {
    if (segment.getFrozen())
      continue;
    Value gradient = states.lookup(segment).gradient, summed = gradient;
    SmallVector<Operation *> commands;
    if (segment.getGradient()) {
      summed = createBuffer(
          MemRefType::get(typeOf(gradient).getShape(), getSumType(segment)),
          sum.getLoc());
      commands.push_back(
          runCast(builder, sum.getLoc(), gradient, summed, stream));
    }
    commands.push_back(add<exec::AllReduceOp>(
        sum.getLoc(), stream, summed, /*double_double=*/false, sum.getAxes()));
    if (summed != gradient)
      commands.push_back(
          runCast(builder, sum.getLoc(), summed, gradient, stream));
    for (Operation *command : commands)
      microBatchesOf[command] = {exec::Repeat::only_micro_batch,
                                 exec::Repeat::last_micro_batch};
  }
}

//===----------------------------------------------------------------------===//
// All ranks
//===----------------------------------------------------------------------===//

LogicalResult CommandBuilder::visitSum(fsdp::SumOverRanksOp sum) {
  FailureOr<Value> term = getMemory(sum.getValue(), sum);
  if (failed(term))
    return failure();
  Value total = createMemory(sum.getResult(), /*order=*/{});
  addCopy(*term, total, sum.getLoc());
  if (ranks > 1)
    add<exec::AllReduceOp>(sum.getLoc(), /*stream=*/0, total,
                           /*double_double=*/false, allAxes);
  return success();
}

/// Ranks gather what all of them have, and take the first one's.
LogicalResult CommandBuilder::visitBroadcast(fsdp::BroadcastOp broadcast) {
  FailureOr<Value> own = getMemory(broadcast.getValue(), broadcast);
  if (failed(own))
    return failure();
  Location location = broadcast.getLoc();
  MemRefType type = typeOf(*own);
  MemRefType flat =
      MemRefType::get({ranks * type.getNumElements()}, type.getElementType());
  Value all = createBuffer(flat, location);
  Value slot = createSlot(all, allAxes, location);
  addCopy(createPart(*own, 0, typeOf(slot), location), slot, location);
  if (ranks > 1)
    add<exec::AllGatherOp>(location, /*stream=*/0, "statistics", all,
                           exec::getSpanBytes(type), allAxes);
  memory[broadcast.getResult()] = createPart(all, 0, type, location);
  return success();
}

} // namespace shardc
