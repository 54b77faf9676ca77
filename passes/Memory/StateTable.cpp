//===- StateTable.cpp - Memory that lives across steps --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Walks groups, segments and buffers in program order.
//===----------------------------------------------------------------------===//

#include "passes/Memory/StateTable.h"

using namespace mlir;

namespace shardc {

Type getMasterType(fsdp::SegmentOp segment) {
  auto module = segment->getParentOfType<ModuleOp>();
  auto members = segment.getBody().front().getOps<fsdp::MemberOp>();
  auto parameter = SymbolTable::lookupNearestSymbolFrom<fsdp::ParameterOp>(
      module, (*members.begin()).getParameterAttr());
  return cast<RankedTensorType>(parameter.getType()).getElementType();
}

static SmallVector<exec::Role> optimizerRoles(Attribute optimizer) {
  if (auto sgd = dyn_cast_or_null<fsdp::SgdAttr>(optimizer)) {
    if (sgd.getMomentum().getValueAsDouble() == 0.0)
      return {};
    return {exec::Role::momentum};
  }
  if (isa_and_nonnull<fsdp::AdamWAttr>(optimizer))
    return {exec::Role::exp_avg, exec::Role::exp_avg_sq};
  return {};
}

Value StateTable::add(const Twine &name, exec::Role role, MemRefType type,
                      std::optional<int64_t> segment) {
  auto number = segment ? builder.getI64IntegerAttr(*segment) : nullptr;
  states.push_back(exec::StateOp::create(
      builder, location, type, builder.getStringAttr(name), role, number));
  return states.back().getMemory();
}

void StateTable::addSegment(fsdp::GroupOp group, fsdp::SegmentOp segment,
                            Type master, int64_t number,
                            ArrayRef<exec::Role> roles) {
  auto type =
      MemRefType::get({static_cast<int64_t>(segment.getShard())}, master);
  std::string prefix = (group.getSymName() + "#" + Twine(number) + ".").str();
  auto addRole = [&](exec::Role role) {
    return add(prefix + exec::stringifyRole(role), role, type, number);
  };
  SegmentStates &entry = segments[segment];
  entry.parameter = addRole(exec::Role::parameter);
  if (segment.getFrozen())
    return;
  entry.gradient = addRole(exec::Role::gradient);
  for (exec::Role role : roles)
    entry.optimizer.push_back(addRole(role));
}

StateTable::StateTable(OpBuilder &builder, ModuleOp module, Attribute optimizer)
    : builder(builder), location(module.getLoc()) {
  SmallVector<exec::Role> roles = optimizerRoles(optimizer);
  int64_t number = 0;
  Type lossType = builder.getF32Type();
  for (auto group : module.getOps<fsdp::GroupOp>())
    for (auto segment : group.getBody().front().getOps<fsdp::SegmentOp>()) {
      Type master = getMasterType(segment);
      if (master.isF64())
        lossType = master;
      addSegment(group, segment, master, number++, roles);
    }
  for (auto buffer : module.getOps<fsdp::BufferOp>()) {
    auto type = cast<RankedTensorType>(buffer.getType());
    buffers[buffer.getSymName()] =
        add(buffer.getSymName(), exec::Role::buffer,
            MemRefType::get(type.getShape(), type.getElementType()));
  }
  loss = add("loss", exec::Role::metric, MemRefType::get({1}, lossType));
  gradientNorm = add("gradient_norm_squares", exec::Role::metric,
                     MemRefType::get({2}, builder.getF64Type()));
}

} // namespace shardc
