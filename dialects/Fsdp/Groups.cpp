//===- Groups.cpp - Which group and segment a parameter lives in ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Fills the table in one walk over the groups.
//===----------------------------------------------------------------------===//

#include "dialects/Fsdp/Groups.h"

using namespace mlir;

namespace shardc {

Groups::Groups(ModuleOp module) {
  for (auto group : module.getOps<fsdp::GroupOp>())
    group.walk([&](fsdp::MemberOp member) {
      auto segment = dyn_cast<fsdp::SegmentOp>(member->getParentOp());
      places[member.getParameter()] = {group, segment, member};
    });
}

int64_t getRanks(ModuleOp module) {
  auto meshes = module.getOps<fsdp::MeshOp>();
  return meshes.empty() ? 1 : (*meshes.begin()).getRanks();
}

int64_t getShards(ModuleOp module) {
  auto meshes = module.getOps<fsdp::MeshOp>();
  return meshes.empty() ? 1 : (*meshes.begin()).getShards();
}

SmallVector<StringRef> getShardAxes(ModuleOp module) {
  auto meshes = module.getOps<fsdp::MeshOp>();
  if (meshes.empty())
    return {fsdp::MeshOp::shardAxis};
  return (*meshes.begin()).getShardAxes();
}

SmallVector<StringRef> getReplicaAxes(ModuleOp module) {
  auto meshes = module.getOps<fsdp::MeshOp>();
  if (meshes.empty())
    return {};
  return (*meshes.begin()).getReplicaAxes();
}

Value getSum(fsdp::ReduceScatterOp reduction) {
  for (Operation *user : reduction.getResult().getUsers())
    if (auto sum = dyn_cast<fsdp::AllReduceOp>(user))
      return sum.getResult();
  return reduction.getResult();
}

int64_t getShardNumber(ModuleOp module, int64_t rank) {
  return rank % getShards(module);
}

Type getMasterType(fsdp::SegmentOp segment) {
  auto module = segment->getParentOfType<ModuleOp>();
  auto members = segment.getBody().front().getOps<fsdp::MemberOp>();
  auto parameter = SymbolTable::lookupNearestSymbolFrom<fsdp::ParameterOp>(
      module, (*members.begin()).getParameterAttr());
  return cast<RankedTensorType>(parameter.getType()).getElementType();
}

FloatType getSumType(fsdp::SegmentOp segment) {
  MLIRContext *context = segment.getContext();
  if (getMasterType(segment).isF64())
    return Float64Type::get(context);
  return Float32Type::get(context);
}

FloatType getGradientType(fsdp::SegmentOp segment) {
  if (std::optional<Type> kept = segment.getGradient())
    return cast<FloatType>(*kept);
  return getSumType(segment);
}

int64_t getSegmentNumber(fsdp::SegmentOp segment) {
  int64_t number = 0;
  auto module = segment->getParentOfType<ModuleOp>();
  for (auto group : module.getOps<fsdp::GroupOp>())
    for (auto other : group.getBody().front().getOps<fsdp::SegmentOp>()) {
      if (other == segment)
        return number;
      ++number;
    }
  llvm_unreachable("a segment is in a group of its module");
}

std::string getStateName(fsdp::SegmentOp segment, StringRef key) {
  auto group = segment->getParentOfType<fsdp::GroupOp>();
  return (group.getSymName() + "#" + Twine(getSegmentNumber(segment)) + "." +
          key)
      .str();
}

} // namespace shardc
