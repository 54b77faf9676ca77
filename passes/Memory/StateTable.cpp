//===- StateTable.cpp - Memory that lives across steps --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Walks groups, segments and buffers in program order.
//===----------------------------------------------------------------------===//

#include "passes/Memory/StateTable.h"

#include "dialects/Exec/Layout.h"
#include "dialects/Fsdp/Groups.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace shardc {

Value StateTable::add(const Twine &name, exec::Role role, MemRefType type,
                      std::optional<int64_t> segment, StringAttr key) {
  auto number = segment ? builder.getI64IntegerAttr(*segment) : nullptr;
  states.push_back(exec::StateOp::create(
      builder, location, type, builder.getStringAttr(name), role, key, number));
  return states.back().getMemory();
}

static MemRefType toMemRef(Type type) {
  return exec::getRowMajor(cast<RankedTensorType>(type));
}

void StateTable::addOptimizerState(fsdp::StateOp state,
                                   std::optional<int64_t> segment) {
  symbols[state.getSymName()] =
      add(state.getSymName(), exec::Role::optimizer, toMemRef(state.getType()),
          segment, state.getKeyAttr());
}

void StateTable::addSegment(fsdp::SegmentOp segment, int64_t number,
                            bool isReducedOnce) {
  auto type = MemRefType::get({static_cast<int64_t>(segment.getShard())},
                              getMasterType(segment));
  auto addRole = [&](exec::Role role) {
    Type element = role == exec::Role::gradient ? getGradientType(segment)
                                                : type.getElementType();
    return add(getStateName(segment, exec::stringifyRole(role)), role,
               MemRefType::get(type.getShape(), element), number);
  };
  SegmentStates &entry = segments[segment];
  entry.parameter = addRole(exec::Role::parameter);
  if (!segment.getFrozen())
    entry.gradient = addRole(exec::Role::gradient);
  if (isReducedOnce && !segment.getFrozen())
    entry.accumulated =
        add(getStateName(segment, "accumulated"), exec::Role::accumulated,
            MemRefType::get({static_cast<int64_t>(segment.getElements())},
                            segment.getReduce()),
            number);
}

/// The groups that are reduced once a step.
static llvm::StringSet<> findReducedOnce(ModuleOp module) {
  llvm::StringSet<> groups;
  module.walk([&](fsdp::ReduceScatterStartOp reduction) {
    if (reduction.getOnce())
      groups.insert(reduction.getGroup());
  });
  return groups;
}

StateTable::StateTable(OpBuilder &builder, ModuleOp module)
    : builder(builder), location(module.getLoc()) {
  int64_t number = 0;
  llvm::StringSet<> reducedOnce = findReducedOnce(module);
  Type lossType = builder.getF32Type();
  for (auto group : module.getOps<fsdp::GroupOp>())
    for (auto [index, segment] :
         llvm::enumerate(group.getBody().front().getOps<fsdp::SegmentOp>())) {
      if (getMasterType(segment).isF64())
        lossType = builder.getF64Type();
      addSegment(segment, number, reducedOnce.contains(group.getSymName()));
      for (auto state : module.getOps<fsdp::StateOp>())
        if (state.getGroup() == group.getSymName() &&
            state.getSegment() == index)
          addOptimizerState(state, number);
      ++number;
    }
  for (auto state : module.getOps<fsdp::StateOp>())
    if (!state.getGroup())
      addOptimizerState(state, std::nullopt);
  for (auto buffer : module.getOps<fsdp::BufferOp>())
    symbols[buffer.getSymName()] = add(buffer.getSymName(), exec::Role::buffer,
                                       toMemRef(buffer.getType()));
  loss = add("loss", exec::Role::metric, MemRefType::get({1}, lossType));
  gradientNorm = add("gradient_norm_squares", exec::Role::metric,
                     MemRefType::get({2}, builder.getF64Type()));
}

} // namespace shardc
