//===- ChangedParameters.cpp - Parameters that forward changes ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Repeats in the update part what forward makes of a parameter.
//===----------------------------------------------------------------------===//

#include "passes/Differentiate/ChangedParameters.h"

#include "dialects/Aten/Aten.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace shardc {

fsdp::GatherShardOp gatherSegment(OpBuilder &builder, Value shard,
                                  fsdp::SegmentOp segment, int64_t index) {
  Type element = getElementTypeOrSelf(shard);
  SmallVector<Type> types;
  for (auto member : segment.getBody().getOps<fsdp::MemberOp>()) {
    auto parameter = SymbolTable::lookupNearestSymbolFrom<fsdp::ParameterOp>(
        segment->getParentOfType<ModuleOp>(), member.getParameterAttr());
    types.push_back(cast<RankedTensorType>(parameter.getType()).clone(element));
  }
  auto group = segment->getParentOfType<fsdp::GroupOp>();
  return fsdp::GatherShardOp::create(builder, shard.getLoc(), types, shard,
                                     group.getSymName(), index);
}

ChangedParameters::ChangedParameters(func::FuncOp step) {
  SymbolTable symbols(step->getParentOfType<ModuleOp>());
  for (auto write : step.getOps<fsdp::WriteOp>())
    if (symbols.lookup<fsdp::ParameterOp>(write.getSymbol()))
      writes[write.getSymbol()] = write;
}

/// What `write` computes, once more, from `whole` in place of the parameter.
static Value repeat(OpBuilder &builder, fsdp::WriteOp write, Value whole) {
  BackwardSliceOptions options;
  options.inclusive = true;
  llvm::SetVector<Operation *> slice;
  (void)getBackwardSlice(write.getValue(), &slice, options);
  IRMapping mapping;
  for (Operation *op : topologicalSort(slice)) {
    if (auto view = dyn_cast<fsdp::ViewOp>(op))
      mapping.map(view.getResult(), whole);
    else if (!isa<fsdp::UnshardOp>(op))
      builder.clone(*op, mapping);
  }
  return mapping.lookup(write.getValue());
}

Value ChangedParameters::apply(OpBuilder &builder, fsdp::ReadShardOp read,
                               fsdp::SegmentOp segment) const {
  auto members = llvm::to_vector(segment.getBody().getOps<fsdp::MemberOp>());
  if (llvm::none_of(members, [&](fsdp::MemberOp member) {
        return writes.contains(member.getParameter());
      }))
    return read;
  fsdp::GatherShardOp whole = gatherSegment(
      builder, read, segment, static_cast<int64_t>(read.getSegment()));
  SmallVector<Value> values(whole.getMembers());
  for (auto [value, member] : llvm::zip_equal(values, members))
    if (auto write = writes.find(member.getParameter()); write != writes.end())
      value = repeat(builder, write->second, value);
  return fsdp::TakeShardOp::create(builder, read.getLoc(), read.getType(),
                                   values, read.getGroup(), read.getSegment());
}

void ChangedParameters::erase() {
  for (auto &[name, write] : writes)
    write.erase();
}

} // namespace shardc
