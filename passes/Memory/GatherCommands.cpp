//===- GatherCommands.cpp - Gathers of parameters -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A segment is gathered in place: each rank casts or copies its shard into its
// slot first.
//===----------------------------------------------------------------------===//

#include "passes/Memory/GatherCommands.h"

#include "dialects/Exec/Layout.h"
#include "dialects/Exec/Memory.h"
#include "passes/Memory/StateKernels.h"

using namespace mlir;

namespace shardc {

void GatherCommands::visitUnshardStart(fsdp::UnshardStartOp start) {
  SmallVector<Value> wholes;
  SmallVector<Value> parts = gathered.lookup(start.getRetained());
  for (auto [number, segment] :
       llvm::enumerate(context.segmentsOf(start.getGroup())))
    wholes.push_back(start.getRetained()
                         ? gatherRetained(start, segment, parts[number])
                         : gatherSegment(start, segment));
  gathered[start.getResult()] = wholes;
}

/// Casts this rank's shard into its slot and gathers in place. Returns the
/// whole segment's memory.
Value GatherCommands::gatherSegment(fsdp::UnshardStartOp start,
                                    fsdp::SegmentOp segment) {
  Value shard = context.states.lookup(segment).parameter;
  Type dtype = segment.getDtype();
  bool needsCast = cast<MemRefType>(shard.getType()).getElementType() != dtype;
  if (context.shards == 1 && !needsCast)
    return shard;
  Location location = start.getLoc();
  auto stream = static_cast<int64_t>(start.getStream());
  auto elements = static_cast<int64_t>(segment.getShard());
  Value whole = context.createBuffer(
      MemRefType::get({elements * context.shards}, dtype), location);
  Value slot = context.createSlot(whole, context.shardAxes, location);
  if (needsCast)
    runCast(context.builder, location, shard, slot, stream);
  else
    context.addCopy(shard, slot, location, stream);
  if (context.shards > 1)
    context.add<exec::AllGatherOp>(location, stream, start.getGroup(), whole,
                                   elements * getElementBytes(dtype),
                                   context.shardAxes);
  return whole;
}

/// The axes on which ranks differ that a group is resharded to.
ArrayAttr GatherCommands::lastAxesOf(StringRef group) {
  auto op = context.symbols.lookup<fsdp::GroupOp>(group);
  auto meshOp = context.symbols.lookup<fsdp::MeshOp>(op.getMesh());
  return context.builder.getStrArrayAttr(
      meshOp.getLastAxes(static_cast<int64_t>(*op.getReshardTo())));
}

/// Copies this rank's part of each segment aside.
void GatherCommands::visitRetain(fsdp::RetainOp retain) {
  auto type = cast<fsdp::UnshardedType>(retain.getUnsharded().getType());
  ArrayAttr axes = lastAxesOf(type.getGroup().getValue());
  SmallVector<Value> parts;
  for (Value whole : gathered.lookup(retain.getUnsharded())) {
    Value slot = context.createSlot(whole, axes, retain.getLoc());
    parts.push_back(context.createBuffer(cast<MemRefType>(slot.getType()),
                                         retain.getLoc()));
    context.addCopy(slot, parts.back(), retain.getLoc());
  }
  gathered[retain.getResult()] = parts;
}

/// Gathers what each of fewer ranks has retained. Returns the whole segment's
/// memory.
Value GatherCommands::gatherRetained(fsdp::UnshardStartOp start,
                                     fsdp::SegmentOp segment, Value part) {
  Location location = start.getLoc();
  auto stream = static_cast<int64_t>(start.getStream());
  ArrayAttr axes = lastAxesOf(start.getGroup());
  Value whole = context.createBuffer(
      MemRefType::get({static_cast<int64_t>(segment.getElements())},
                      segment.getDtype()),
      location);
  context.addCopy(part, context.createSlot(whole, axes, location), location,
                  stream);
  context.add<exec::AllGatherOp>(
      location, stream, start.getGroup(), whole,
      exec::getSpanBytes(cast<MemRefType>(part.getType())), axes);
  return whole;
}

void GatherCommands::visitWait(fsdp::WaitOp wait) {
  auto found = gathered.find(wait.getPending());
  if (found == gathered.end())
    return; // A reduction: its value is the gradient states.
  SmallVector<Value> wholes = found->second;
  for (Value &whole : wholes) {
    if (!context.copies || !whole.getDefiningOp<exec::BufferOp>())
      continue;
    Value copied =
        context.createBuffer(cast<MemRefType>(whole.getType()), wait.getLoc());
    context.addCopy(whole, copied, wait.getLoc());
    whole = copied;
  }
  gathered[wait.getResult()] = wholes;
}

void GatherCommands::visitParameterView(fsdp::ViewOp view) {
  ParameterPlace place = context.groups.lookup(view.getParameter());
  auto type = cast<RankedTensorType>(view.getType());
  const SmallVector<Value> &wholes = gathered[view.getUnsharded()];
  SmallVector<fsdp::SegmentOp> segments =
      context.segmentsOf(place.group.getSymName());
  size_t index = llvm::find(segments, place.segment) - segments.begin();
  context.memory[view.getResult()] = context.createPart(
      wholes[index], static_cast<int64_t>(*place.member.getOffset()),
      exec::getRowMajor(type), view.getLoc());
}

} // namespace shardc
