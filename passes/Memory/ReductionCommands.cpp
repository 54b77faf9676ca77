//===- ReductionCommands.cpp - Reductions of gradients --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Gradients are written into the reduction's input where that is possible, and
// copied where not.
//===----------------------------------------------------------------------===//

#include "passes/Memory/ReductionCommands.h"

#include "dialects/Exec/Layout.h"
#include "dialects/Exec/Memory.h"
#include "passes/Kernel/ElementwiseFusion.h"
#include "passes/Memory/StateKernels.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace shardc {

/// Whether the reduction of a segment, which a micro-batch has at most one of,
/// adds to the gradient itself: then the first one can overwrite it.
static bool overwritesAtFirst(fsdp::ReduceScatterStartOp reduction,
                              fsdp::SegmentOp segment) {
  return !reduction.getOnce() && !segment.getGradient();
}

/// Gradients and metrics are sums over micro-batches: they start at zero, but
/// for gradients that the first micro-batch overwrites.
void ReductionCommands::addInitialFills() {
  DenseSet<Value> overwritten;
  for (auto reduction :
       context.function.getBody().front().getOps<fsdp::ReduceScatterStartOp>())
    for (fsdp::SegmentOp segment : context.segmentsOf(reduction.getGroup()))
      if (!segment.getFrozen() && overwritesAtFirst(reduction, segment))
        overwritten.insert(context.states.lookup(segment).gradient);
  for (exec::StateOp state : context.states.getStates())
    if (state.getRole() == exec::Role::metric ||
        (state.getRole() == exec::Role::gradient &&
         !overwritten.contains(state.getMemory())))
      context.addFill(state.getMemory(), context.function.getLoc());
}

void ReductionCommands::placeGradients() {
  for (auto reduction :
       context.function.getBody().front().getOps<fsdp::ReduceScatterStartOp>())
    placeReduction(reduction);
}

void ReductionCommands::placeReduction(fsdp::ReduceScatterStartOp reduction) {
  SmallVector<Value> &buffers = reduceInputs[reduction];
  DenseMap<Operation *, Value> bufferOf;
  for (fsdp::SegmentOp segment : context.segmentsOf(reduction.getGroup())) {
    auto type = MemRefType::get({static_cast<int64_t>(segment.getElements())},
                                segment.getReduce());
    buffers.push_back(context.createBuffer(type, reduction.getLoc()));
    bufferOf[segment] = buffers.back();
  }
  for (auto [symbol, gradient] :
       llvm::zip_equal(reduction.getParameters(), reduction.getGradients())) {
    ParameterPlace place =
        context.groups.lookup(cast<FlatSymbolRefAttr>(symbol).getValue());
    // Else it has memory of its own, which fillSegment() copies or casts.
    if (!context.copies)
      context.placeIn(gradient, bufferOf[place.segment],
                      static_cast<int64_t>(*place.member.getOffset()));
    else if (auto kernel = gradient.getDefiningOp<exec::KernelOp>();
             kernel && kernel::isReducedCast(kernel))
      reducedCasts.insert(kernel);
  }
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

/// Computation waits for one reduction before it writes the next one's input,
/// as in FSDP2.
void ReductionCommands::addHeldReductions() {
  for (const std::function<void()> &add : heldReductions)
    add();
  heldReductions.clear();
}

LogicalResult
ReductionCommands::visitReduceScatter(fsdp::ReduceScatterStartOp reduction) {
  addHeldReductions();
  SmallVector<fsdp::SegmentOp> segments =
      context.segmentsOf(reduction.getGroup());
  for (auto [segment, buffer] :
       llvm::zip_equal(segments, reduceInputs[reduction])) {
    if (segment.getFrozen())
      continue;
    SmallVector<SegmentMember> members;
    for (auto [symbol, gradient] :
         llvm::zip_equal(reduction.getParameters(), reduction.getGradients())) {
      ParameterPlace place =
          context.groups.lookup(cast<FlatSymbolRefAttr>(symbol).getValue());
      if (place.segment == segment)
        members.push_back(
            {gradient, static_cast<int64_t>(*place.member.getOffset())});
    }
    if (failed(fillSegment(reduction, segment, buffer, members)))
      return failure();
    // One of the whole step's gradients adds to them, and frees its input.
    if (context.copies && !reduction.getOnce())
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
void ReductionCommands::reduceSegment(fsdp::ReduceScatterStartOp reduction,
                                      fsdp::SegmentOp segment, Value buffer) {
  using exec::Repeat;
  Location location = reduction.getLoc();
  const SegmentStates &own = context.states.lookup(segment);
  if (!reduction.getOnce()) {
    reduceInto(reduction, segment, buffer);
    return;
  }
  auto only = [&](ArrayRef<Operation *> commands, ArrayRef<Repeat> repeats) {
    for (Operation *command : commands)
      microBatchesOf[command].assign(repeats.begin(), repeats.end());
  };
  only(reduceInto(reduction, segment, buffer), Repeat::only_micro_batch);
  only({context.add<exec::CopyOp>(location, /*stream=*/0, buffer,
                                  own.accumulated)},
       Repeat::first_micro_batch);
  only({runAccumulate(context.builder, location, own.accumulated, buffer,
                      /*stream=*/0)},
       {Repeat::middle_micro_batches, Repeat::last_micro_batch});
  only(reduceInto(reduction, segment, own.accumulated),
       Repeat::last_micro_batch);
}

/// Adds the sum of all ranks' `whole` to this rank's shard of gradients, in a
/// micro-batch that is the first one in place of what it was, and returns the
/// commands. A narrow one gets the sum of the ranks at once.
SmallVector<Operation *>
ReductionCommands::reduceInto(fsdp::ReduceScatterStartOp reduction,
                              fsdp::SegmentOp segment, Value whole) {
  Location location = reduction.getLoc();
  auto stream = static_cast<int64_t>(reduction.getStream());
  Value gradient = context.states.lookup(segment).gradient;
  auto reduce = [&](Value sums, Value microBatch = {}) -> Operation * {
    return context.add<exec::ReduceScatterOp>(location, stream,
                                              reduction.getGroup(), whole, sums,
                                              microBatch, context.shardAxes);
  };
  bool isWhole = whole != context.states.lookup(segment).accumulated;
  if (!segment.getGradient() && isWhole) {
    Operation *reduced = reduce(
        gradient,
        context.declareScalar("micro_batch",
                              MemRefType::get({}, context.builder.getI64Type()),
                              location));
    // The sum of one rank alone is what the first micro-batch can write there.
    if (context.shards == 1 && !context.copies && !reduction.getOnce() &&
        whole.getType() == gradient.getType())
      initialWrites.push_back(cast<exec::ReduceScatterOp>(reduced));
    return {reduced};
  }
  if (!segment.getGradient())
    return {reduce(gradient)};
  Value sums = context.createBuffer(
      MemRefType::get(cast<MemRefType>(gradient.getType()).getShape(),
                      getSumType(segment)),
      location);
  Operation *fill = context.add<exec::FillOp>(location, stream, sums);
  Operation *reduced = reduce(sums);
  return {fill, reduced,
          runAccumulate(context.builder, location, gradient, sums, stream)};
}

/// Copies members that were not written into `buffer`, the whole segment, and
/// zeroes what none covers.
LogicalResult ReductionCommands::fillSegment(Operation *op,
                                             fsdp::SegmentOp segment,
                                             Value buffer,
                                             ArrayRef<SegmentMember> members) {
  Location location = op->getLoc();
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  SmallVector<std::pair<int64_t, int64_t>> covered;
  for (auto [value, offset] : members) {
    auto type = cast<RankedTensorType>(value.getType());
    covered.push_back({offset, offset + type.getNumElements()});
    if (reducedCasts.contains(value.getDefiningOp())) {
      context.assigned[value] =
          context.createPart(buffer, offset, exec::getRowMajor(type), location);
      if (failed(
              context.visitKernel(cast<exec::KernelOp>(value.getDefiningOp()))))
        return failure();
      continue;
    }
    FailureOr<Value> source = context.getMemory(value, op);
    if (failed(source))
      return failure();
    if (exec::getPlace(*source) == exec::Place{buffer, offset})
      continue;
    MemRefType layout = cast<MemRefType>(source->getType());
    if (!exec::isRowMajor(layout.getShape(), exec::getStrides(layout)))
      return op->emitError("expected row-major operands, got ") << layout;
    context.addCopy(*source,
                    context.createPart(buffer, offset, layout, location),
                    location);
  }
  llvm::sort(covered);
  covered.push_back({static_cast<int64_t>(segment.getElements()), 0});
  int64_t end = 0;
  for (auto [begin, next] : covered) {
    if (begin > end)
      context.addFill(
          context.createPart(buffer, end,
                             MemRefType::get({begin - end}, element), location),
          location);
    end = next;
  }
  return success();
}

void ReductionCommands::visitAllReduce(fsdp::AllReduceStartOp sum) {
  // Behind the reduction that it sums over replicas.
  if (!heldReductions.empty())
    heldReductions.push_back([this, sum] { addAllReduce(sum); });
  else
    addAllReduce(sum);
}

void ReductionCommands::addAllReduce(fsdp::AllReduceStartOp sum) {
  auto type = cast<fsdp::PendingType>(sum.getType());
  auto stream = static_cast<int64_t>(sum.getStream());
  for (fsdp::SegmentOp segment :
       context.segmentsOf(type.getGroup().getValue())) {
    if (segment.getFrozen())
      continue;
    Value gradient = context.states.lookup(segment).gradient, summed = gradient;
    SmallVector<Operation *> commands;
    if (segment.getGradient()) {
      summed = context.createBuffer(
          MemRefType::get(cast<MemRefType>(gradient.getType()).getShape(),
                          getSumType(segment)),
          sum.getLoc());
      commands.push_back(
          runCast(context.builder, sum.getLoc(), gradient, summed, stream));
    }
    commands.push_back(context.add<exec::AllReduceOp>(
        sum.getLoc(), stream, summed, /*double_double=*/false, sum.getAxes()));
    if (summed != gradient)
      commands.push_back(
          runCast(context.builder, sum.getLoc(), summed, gradient, stream));
    for (Operation *command : commands)
      microBatchesOf[command] = {exec::Repeat::only_micro_batch,
                                 exec::Repeat::last_micro_batch};
  }
}

//===----------------------------------------------------------------------===//
// Micro-batches
//===----------------------------------------------------------------------===//

/// Whether nothing uses the buffer that `reduction` adds up after it.
static bool isLastUse(exec::ReduceScatterOp reduction) {
  auto isEarlier = [&](Operation *user) {
    return user == reduction || user->isBeforeInBlock(reduction);
  };
  return llvm::all_of(reduction.getBuffer().getUsers(), [&](Operation *user) {
    return isEarlier(user) &&
           (!isa<exec::PartOp>(user) ||
            llvm::all_of(user->getResult(0).getUsers(), isEarlier));
  });
}

/// What makes the buffer of `reduction` writes its output, and nothing is left
/// to add up.
static void writeOutput(exec::ReduceScatterOp reduction) {
  Value buffer = reduction.getBuffer(), output = reduction.getOutput();
  reduction.erase();
  buffer.replaceAllUsesWith(output);
  buffer.getDefiningOp()->erase();
}

/// Makes several sections of the micro-batch's where some have commands that
/// others have not: four where the last one differs, which may be the first,
/// and two where the first one alone does.
void ReductionCommands::separateMicroBatches(exec::SectionOp section) {
  using exec::Repeat;
  llvm::erase_if(initialWrites, [](exec::ReduceScatterOp reduction) {
    return !isLastUse(reduction);
  });
  SmallVector<Repeat> all;
  if (!microBatchesOf.empty())
    all = {Repeat::only_micro_batch, Repeat::first_micro_batch,
           Repeat::middle_micro_batches, Repeat::last_micro_batch};
  else if (!initialWrites.empty())
    all = {Repeat::initial_micro_batch, Repeat::later_micro_batches};
  else
    return;
  context.builder.setInsertionPoint(section);
  for (Repeat repeat : all) {
    IRMapping mapping;
    auto copy = cast<exec::SectionOp>(context.builder.clone(*section, mapping));
    copy.setName(exec::stringifyRepeat(repeat));
    copy.setRepeat(repeat);
    for (const auto &[command, repeats] : microBatchesOf)
      if (!llvm::is_contained(repeats, repeat))
        mapping.lookup(command)->erase();
    if (repeat == Repeat::only_micro_batch ||
        repeat == Repeat::first_micro_batch ||
        repeat == Repeat::initial_micro_batch)
      for (exec::ReduceScatterOp reduction : initialWrites)
        if (Operation *copied = mapping.lookupOrNull(reduction.getOperation()))
          writeOutput(cast<exec::ReduceScatterOp>(copied));
  }
  section.erase();
}

} // namespace shardc
