//===- ParametersBuilder.cpp - States, inputs, groups and segments --------===//
// SPDX-License-Identifier: Apache-2.0
//
// parameters.json from `exec.state`, `exec.input` and `fsdp.group`.
//===----------------------------------------------------------------------===//

#include "compiler/Artifact/ArtifactBuilder.h"

#include "dialects/Exec/Dtype.h"
#include "dialects/Exec/FormatEnums.h"
#include "dialects/Exec/Memory.h"
#include "dialects/Fsdp/Fsdp.h"

#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace shardc {

format::Dtype toDtype(Type type) {
  std::optional<format::Dtype> dtype = exec::getDtype(type);
  if (!dtype)
    llvm_unreachable("the dialects have no other element type");
  return *dtype;
}

static std::vector<std::string> toTexts(ArrayAttr names) {
  std::vector<std::string> texts;
  for (auto name : names.getAsRange<StringAttr>())
    texts.push_back(name.str());
  return texts;
}

static format::State buildState(exec::StateOp op, SymbolTable &symbols) {
  MemRefType type = op.getMemory().getType();
  format::State state;
  state.name = op.getName().str();
  state.role = exec::toFormat(op.getRole());
  state.key = op.getKey().value_or("").str();
  state.dtype = toDtype(type.getElementType());
  state.elements = type.getNumElements();
  if (op.getSegment())
    state.segment = *op.getSegment();
  if (op.getRole() == exec::Role::buffer) {
    state.shape.assign(type.getShape().begin(), type.getShape().end());
    auto buffer = symbols.lookup<fsdp::BufferOp>(op.getName());
    state.aliases = toTexts(buffer.getAliases());
    state.mean = buffer.getMean().value_or("").str();
    state.isPersistent = !buffer.getNonPersistent();
  }
  return state;
}

static format::Input buildInput(exec::InputOp op) {
  MemRefType type = op.getMemory().getType();
  format::Input input;
  input.name = op.getName().str();
  input.dtype = toDtype(type.getElementType());
  input.shape.assign(type.getShape().begin(), type.getShape().end());
  if (op.getUpperBound())
    input.upperBound = *op.getUpperBound();
  if (op.getIgnoreIndex())
    input.ignoreIndex = *op.getIgnoreIndex();
  input.isShifted = op.getShifted();
  return input;
}

static format::SegmentParameter buildMember(fsdp::MemberOp member,
                                            SymbolTable &symbols) {
  auto op = symbols.lookup<fsdp::ParameterOp>(member.getParameter());
  auto type = cast<RankedTensorType>(op.getType());
  format::SegmentParameter parameter;
  parameter.name = op.getSymName().str();
  parameter.aliases = toTexts(op.getAliases());
  parameter.shape.assign(type.getShape().begin(), type.getShape().end());
  parameter.offset = *member.getOffset();
  return parameter;
}

static format::Segment buildSegment(fsdp::SegmentOp op, int64_t group,
                                    const std::vector<int64_t> &axes,
                                    SymbolTable &symbols) {
  format::Segment segment;
  segment.group = group;
  segment.axes = axes;
  segment.dtype = toDtype(op.getDtype());
  segment.elements = op.getElements();
  segment.shardElements = op.getShard();
  for (auto member : op.getBody().front().getOps<fsdp::MemberOp>())
    segment.parameters.push_back(buildMember(member, symbols));
  return segment;
}

format::Parameters buildParameters(ModuleOp module) {
  SymbolTable symbols(module);
  format::Parameters parameters;
  for (auto input : module.getOps<exec::InputOp>())
    parameters.inputs.push_back(buildInput(input));
  for (auto state : module.getOps<exec::StateOp>())
    parameters.states.push_back(buildState(state, symbols));
  std::vector<int64_t> axes = exec::getShardAxes(exec::getMesh(module));
  for (auto op : module.getOps<fsdp::GroupOp>()) {
    format::Group group;
    group.name = op.getSymName().str();
    for (auto segment : op.getBody().front().getOps<fsdp::SegmentOp>()) {
      group.segments.push_back(parameters.segments.size());
      parameters.segments.push_back(
          buildSegment(segment, parameters.groups.size(), axes, symbols));
    }
    parameters.groups.push_back(std::move(group));
  }
  return parameters;
}

} // namespace shardc
