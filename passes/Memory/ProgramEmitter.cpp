//===- ProgramEmitter.cpp - Writes a command list as an exec.program ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Lifetimes from the commands, offsets and events from the solvers, operations
// from both.
//===----------------------------------------------------------------------===//

#include "passes/Memory/ProgramEmitter.h"

#include "dialects/Fsdp/Fsdp.h"
#include "passes/Memory/ArenaPackingChecker.h"
#include "passes/Memory/StreamEventsChecker.h"

using namespace mlir;

namespace shardc {

const Packing &ProgramEmitter::packBuffers() {
  std::vector<PackingItem> items(list.buffers.size());
  for (auto [item, buffer] : llvm::zip_equal(items, list.buffers))
    item = {0, static_cast<int64_t>(list.commands.size()), -1};
  for (auto [index, command] : llvm::enumerate(list.commands))
    for (const Operand &operand : command.operands) {
      const Buffer &buffer = list.buffers[operand.place.buffer];
      if (buffer.space != exec::Space::arena)
        continue;
      PackingItem &item = items[operand.place.buffer];
      item.size = buffer.bytes;
      item.first = std::min<int64_t>(item.first, index);
      item.last = std::max<int64_t>(item.last, index);
    }
  // What no command touches takes no bytes.
  for (PackingItem &item : items)
    if (item.last < 0)
      item = {0, 0, 0};
  packing = packArena(items, arenaAlignment);
  assert(isRight(checkPacking(items, arenaAlignment, packing)));
  return packing;
}

AccessRange ProgramEmitter::rangeOf(const Place &place) const {
  const Buffer &buffer = list.buffers[place.buffer];
  int64_t base =
      buffer.space == exec::Space::arena ? packing.offsets[place.buffer] : 0;
  // The arena is space 0; the others are told apart by kind and number.
  int64_t space = static_cast<int64_t>(buffer.space) +
                  buffer.index * (exec::getMaxEnumValForSpace() + 1);
  int64_t begin = base + place.offset;
  int64_t end = begin + getSpanBytes(place.type);
  // Which slot a rank writes is its own affair; any of them may be meant.
  if (place.rankStride != 0)
    end += place.rankStride * (ranks - 1);
  return {space, begin, end};
}

EventPlan ProgramEmitter::chooseEvents() const {
  std::vector<StreamCommand> commands;
  for (const Command &command : list.commands) {
    StreamCommand access;
    access.section = static_cast<int64_t>(command.section);
    access.stream = command.stream;
    for (const Operand &operand : command.operands) {
      AccessRange range = rangeOf(operand.place);
      if (operand.access != exec::Access::write)
        access.reads.push_back(range);
      if (operand.access != exec::Access::read)
        access.writes.push_back(range);
    }
    commands.push_back(std::move(access));
  }
  constexpr int64_t streams = fsdp::getMaxEnumValForStream() + 1;
  EventPlan events = planEvents(commands, streams);
  assert(isRight(checkEvents(commands, streams, events)));
  return events;
}

exec::RefAttr ProgramEmitter::refOf(const Place &place) const {
  const Buffer &buffer = list.buffers[place.buffer];
  int64_t base =
      buffer.space == exec::Space::arena ? packing.offsets[place.buffer] : 0;
  return exec::RefAttr::get(place.type.getContext(), buffer.space, buffer.index,
                            base + place.offset, place.rankStride, place.type);
}

void ProgramEmitter::emit(OpBuilder &builder, Location location) {
  EventPlan events = chooseEvents();
  SmallVector<StringRef> streams;
  for (unsigned i = 0; i <= fsdp::getMaxEnumValForStream(); ++i)
    streams.push_back(fsdp::stringifyStream(static_cast<fsdp::Stream>(i)));
  auto program = exec::ProgramOp::create(
      builder, location, builder.getStringAttr("step"),
      builder.getI64IntegerAttr(packing.size), builder.getStrArrayAttr(streams),
      builder.getI64IntegerAttr(events.eventCount));
  OpBuilder body = OpBuilder::atBlockEnd(&program.getBody().emplaceBlock());
  for (auto [command, event] :
       llvm::zip_equal(list.commands, events.commands)) {
    if (command.computation)
      emitComputation(body, command);
    emitCommand(body, command, event);
  }
}

void ProgramEmitter::emitComputation(OpBuilder &builder,
                                     const Command &command) const {
  auto refs = [&](const std::vector<Place> &places) {
    SmallVector<Attribute> list;
    for (const Place &place : places)
      list.push_back(refOf(place));
    return builder.getArrayAttr(list);
  };
  Computation &computation = *command.computation;
  auto compute = exec::ComputeOp::create(
      builder, command.location, builder.getStringAttr(command.label),
      builder.getI64IntegerAttr(computation.launches),
      refs(computation.operands), refs(computation.outputs));
  compute.getBody().takeBody(computation.region);
}

void ProgramEmitter::emitCommand(OpBuilder &builder, const Command &command,
                                 const CommandEvents &events) const {
  Location location = command.location;
  SmallVector<Attribute> reads, writes;
  for (const Operand &operand : command.operands)
    (operand.access == exec::Access::read ? reads : writes)
        .push_back(refOf(operand.place));
  auto ref = [&](unsigned i) { return refOf(command.operands[i].place); };
  auto symbol = [&] {
    return FlatSymbolRefAttr::get(builder.getContext(), command.name);
  };
  exec::SectionAttr section =
      exec::SectionAttr::get(builder.getContext(), command.section);
  IntegerAttr stream = builder.getI64IntegerAttr(command.stream);
  auto waits = builder.getDenseI64ArrayAttr(events.waits);
  IntegerAttr records =
      events.records ? builder.getI64IntegerAttr(*events.records) : nullptr;
  IntegerAttr extent = builder.getI64IntegerAttr(command.extent);
  switch (command.kind) {
  case CommandKind::launch: {
    SmallVector<Attribute> all;
    SmallVector<int32_t> accesses;
    for (const Operand &operand : command.operands) {
      all.push_back(refOf(operand.place));
      accesses.push_back(static_cast<int32_t>(operand.access));
    }
    exec::LaunchOp::create(builder, location, symbol(),
                           builder.getStringAttr(command.label), extent,
                           builder.getArrayAttr(all),
                           builder.getDenseI32ArrayAttr(accesses), section,
                           stream, waits, records);
    return;
  }
  case CommandKind::call:
    exec::CallOp::create(builder, location, builder.getStringAttr(command.name),
                         command.settings, builder.getArrayAttr(reads),
                         builder.getArrayAttr(writes), section, stream, waits,
                         records);
    return;
  case CommandKind::allGather:
    exec::AllGatherOp::create(builder, location, symbol(), ref(0), extent,
                              section, stream, waits, records);
    return;
  case CommandKind::reduceScatter:
    exec::ReduceScatterOp::create(builder, location, symbol(), ref(0), ref(1),
                                  section, stream, waits, records);
    return;
  case CommandKind::allReduce:
    exec::AllReduceOp::create(builder, location, ref(0),
                              command.doubleDouble ? builder.getUnitAttr()
                                                   : nullptr,
                              section, stream, waits, records);
    return;
  case CommandKind::copy:
    exec::CopyOp::create(builder, location, ref(0), ref(1), section, stream,
                         waits, records);
    return;
  case CommandKind::fill:
    exec::FillOp::create(builder, location, ref(0), section, stream, waits,
                         records);
    return;
  }
}

} // namespace shardc
