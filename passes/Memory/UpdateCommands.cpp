//===- UpdateCommands.cpp - Commands of whole segments in the update ------===//
// SPDX-License-Identifier: Apache-2.0
//
// What ranks gather of an update, and what they take of whole tensors, as
// commands of the CommandBuilder.
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Layout.h"
#include "dialects/Exec/Memory.h"
#include "passes/Memory/CommandBuilder.h"

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
void CommandBuilder::placeShards(fsdp::BeginOp begin) {
  for (Operation *op = begin->getNextNode(); op && !isa<fsdp::BeginOp>(op);
       op = op->getNextNode()) {
    auto createWhole = [&](StringRef group, uint64_t index, Type shard) {
      fsdp::SegmentOp segment = segmentsOf(group)[index];
      auto type = MemRefType::get({static_cast<int64_t>(segment.getElements())},
                                  getElementTypeOrSelf(shard));
      wholeSegments[op] = createBuffer(type, op->getLoc());
      return segment;
    };
    if (auto gather = dyn_cast<fsdp::GatherShardOp>(op)) {
      createWhole(gather.getGroup(), gather.getSegment(),
                  gather.getShard().getType());
      if (OpResult stored = findStored(gather.getShard());
          stored == gather.getShard() && !assigned.contains(stored))
        assigned[stored] =
            createSlot(wholeSegments[op], shardAxes, op->getLoc());
    } else if (auto take = dyn_cast<fsdp::TakeShardOp>(op)) {
      fsdp::SegmentOp segment =
          createWhole(take.getGroup(), take.getSegment(), take.getType());
      for (auto [value, offset] : membersOf(segment, take.getMembers()))
        placeIn(value, wholeSegments[op], offset);
    }
  }
}

/// Gathers where a group is gathered, so that computation goes on.
LogicalResult CommandBuilder::visitGather(fsdp::GatherShardOp gather) {
  FailureOr<Value> own = getMemory(gather.getShard(), gather);
  if (failed(own))
    return failure();
  Location location = gather.getLoc();
  Value whole = wholeSegments[gather];
  Value slot = createSlot(whole, shardAxes, location);
  auto stream = static_cast<int64_t>(fsdp::Stream::gather);
  if (exec::getPlace(*own).whole != whole)
    addCopy(*own, slot, location, stream);
  if (shards > 1)
    add<exec::AllGatherOp>(location, stream, gather.getGroup(), whole,
                           exec::getSpanBytes(cast<MemRefType>(slot.getType())),
                           shardAxes);
  fsdp::SegmentOp segment = segmentsOf(gather.getGroup())[gather.getSegment()];
  for (auto [value, offset] : membersOf(segment, gather.getMembers()))
    memory[value] = createPart(
        whole, offset,
        exec::getRowMajor(cast<RankedTensorType>(value.getType())), location);
  return success();
}

LogicalResult CommandBuilder::visitTake(fsdp::TakeShardOp take) {
  fsdp::SegmentOp segment = segmentsOf(take.getGroup())[take.getSegment()];
  Value whole = wholeSegments[take];
  if (failed(fillSegment(take, segment, whole,
                         membersOf(segment, take.getMembers()))))
    return failure();
  memory[take.getShard()] = createSlot(whole, shardAxes, take.getLoc());
  return success();
}

} // namespace shardc
