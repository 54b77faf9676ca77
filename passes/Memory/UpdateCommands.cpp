//===- UpdateCommands.cpp - Whole segments of the update ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What ranks gather of an update, and what they take of whole tensors, as
// commands.
//===----------------------------------------------------------------------===//

#include "passes/Memory/UpdateCommands.h"

#include "dialects/Exec/Layout.h"
#include "dialects/Exec/Memory.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace shardc {

/// The members of `segment` with a value for each.
static SmallVector<SegmentMember> membersOf(fsdp::SegmentOp segment,
                                            ValueRange values) {
  SmallVector<SegmentMember> members;
  for (auto [member, value] : llvm::zip_equal(
           segment.getBody().front().getOps<fsdp::MemberOp>(), values))
    members.push_back({value, static_cast<int64_t>(*member.getOffset())});
  return members;
}

/// What ranks gather is written into its slot, and what this rank takes its
/// part of into the whole segment, in the part of the step that begins.
void UpdateCommands::placeShards(fsdp::BeginOp begin) {
  for (Operation *op = begin->getNextNode(); op && !isa<fsdp::BeginOp>(op);
       op = op->getNextNode()) {
    auto createWhole = [&](StringRef group, uint64_t index, Type shard) {
      fsdp::SegmentOp segment = context.segmentsOf(group)[index];
      auto type = MemRefType::get({static_cast<int64_t>(segment.getElements())},
                                  getElementTypeOrSelf(shard));
      wholeSegments[op] = context.createBuffer(type, op->getLoc());
      return segment;
    };
    if (auto gather = dyn_cast<fsdp::GatherShardOp>(op)) {
      createWhole(gather.getGroup(), gather.getSegment(),
                  gather.getShard().getType());
      if (OpResult stored = context.findStored(gather.getShard());
          stored == gather.getShard() && !context.assigned.contains(stored))
        context.assigned[stored] = context.createSlot(
            wholeSegments[op], context.shardAxes, op->getLoc());
    } else if (auto take = dyn_cast<fsdp::TakeShardOp>(op)) {
      fsdp::SegmentOp segment =
          createWhole(take.getGroup(), take.getSegment(), take.getType());
      for (auto [value, offset] : membersOf(segment, take.getMembers()))
        context.placeIn(value, wholeSegments[op], offset);
    }
  }
}

/// Gathers where a group is gathered, so that computation goes on.
LogicalResult UpdateCommands::visitGather(fsdp::GatherShardOp gather) {
  FailureOr<Value> own = context.getMemory(gather.getShard(), gather);
  if (failed(own))
    return failure();
  Location location = gather.getLoc();
  Value whole = wholeSegments[gather];
  Value slot = context.createSlot(whole, context.shardAxes, location);
  auto stream = static_cast<int64_t>(fsdp::Stream::gather);
  if (exec::getPlace(*own).whole != whole)
    context.addCopy(*own, slot, location, stream);
  if (context.shards > 1)
    context.add<exec::AllGatherOp>(
        location, stream, gather.getGroup(), whole,
        exec::getSpanBytes(cast<MemRefType>(slot.getType())),
        context.shardAxes);
  fsdp::SegmentOp segment =
      context.segmentsOf(gather.getGroup())[gather.getSegment()];
  for (auto [value, offset] : membersOf(segment, gather.getMembers()))
    context.memory[value] = context.createPart(
        whole, offset,
        exec::getRowMajor(cast<RankedTensorType>(value.getType())), location);
  return success();
}

LogicalResult UpdateCommands::visitTake(fsdp::TakeShardOp take) {
  fsdp::SegmentOp segment =
      context.segmentsOf(take.getGroup())[take.getSegment()];
  Value whole = wholeSegments[take];
  if (failed(reductions.fillSegment(take, segment, whole,
                                    membersOf(segment, take.getMembers()))))
    return failure();
  context.memory[take.getShard()] =
      context.createSlot(whole, context.shardAxes, take.getLoc());
  return success();
}

} // namespace shardc
