//===- CommandContext.cpp - Where values of a step live -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Memory by value, and the commands that others are made of.
//===----------------------------------------------------------------------===//

#include "passes/Memory/CommandContext.h"

#include "dialects/Exec/Layout.h"

using namespace mlir;

namespace shardc {

CommandContext::CommandContext(ModuleOp module, exec::ProgramOp program,
                               const StateTable &states, bool copies)
    : copies(copies), program(program),
      builder(OpBuilder::atBlockEnd(&program.getBody().front())),
      symbols(module), groups(module), states(states),
      mesh(exec::getMesh(module)), shards(getShards(module)),
      ranks(getRanks(module)) {
  shardAxes = builder.getStrArrayAttr(getShardAxes(module));
  SmallVector<StringRef> axes;
  for (const format::MeshAxis &axis : mesh.axes)
    axes.push_back(axis.name);
  allAxes = builder.getStrArrayAttr(axes);
}

exec::SectionOp CommandContext::beginSection(StringRef name, exec::RunKind run,
                                             exec::Repeat repeat,
                                             Value condition) {
  builder.setInsertionPointToEnd(&program.getBody().front());
  auto section = exec::SectionOp::create(builder, function.getLoc(), name, run,
                                         repeat, condition);
  builder.setInsertionPointToEnd(&section.getBody().emplaceBlock());
  return section;
}

SmallVector<fsdp::SegmentOp> CommandContext::segmentsOf(StringRef group) {
  auto op = symbols.lookup<fsdp::GroupOp>(group);
  return llvm::to_vector(op.getBody().front().getOps<fsdp::SegmentOp>());
}

Value CommandContext::declareScalar(StringRef name, MemRefType type,
                                    Location location) {
  Value &declared = scalars[name];
  if (!declared) {
    OpBuilder declarations(program);
    declared = exec::ScalarOp::create(declarations, location, type, name);
  }
  return declared;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

FailureOr<Value> CommandContext::getMemory(Value value, Operation *user) {
  auto found = memory.find(value);
  if (found != memory.end())
    return found->second;
  return user->emitError("expected an operand that lives in a buffer");
}

FailureOr<SmallVector<Value>> CommandContext::getMemory(ValueRange values,
                                                        Operation *user) {
  SmallVector<Value> found;
  for (Value value : values) {
    FailureOr<Value> one = getMemory(value, user);
    if (failed(one))
      return failure();
    found.push_back(*one);
  }
  return found;
}

Value CommandContext::createBuffer(MemRefType type, Location location) {
  return exec::BufferOp::create(builder, location, type, IntegerAttr());
}

/// Results live where they were assigned to, else in a buffer of their own,
/// stored in `order` (empty: row-major).
Value CommandContext::createMemory(Value result, ArrayRef<int64_t> order) {
  auto found = assigned.find(result);
  if (found != assigned.end())
    return memory[result] = found->second;
  auto type = cast<RankedTensorType>(result.getType());
  MemRefType memref =
      exec::getStrided(type.getShape(), type.getElementType(),
                       exec::getOrderedStrides(type.getShape(), order));
  return memory[result] = createBuffer(memref, result.getLoc());
}

/// The place of this rank in `whole`, of which ranks that differ on `axes` have
/// equal parts.
Value CommandContext::createSlot(Value whole, ArrayAttr axes,
                                 Location location) {
  MemRefType type = cast<MemRefType>(whole.getType());
  int64_t stride = type.getNumElements();
  SmallVector<exec::AxisStride> strides;
  for (auto axis : axes.getAsRange<StringAttr>()) {
    int64_t size = mesh.axes[*exec::findAxis(mesh, axis)].size;
    stride /= size;
    if (size > 1)
      strides.push_back({axis, stride});
  }
  return exec::createPart(builder, location, whole, 0,
                          MemRefType::get({stride}, type.getElementType()),
                          strides);
}

/// The result that `value` is, or is a whole row-major view of, if the
/// operation that makes it can store it row-major in any place; else null.
OpResult CommandContext::findStored(Value value) {
  if (auto view = value.getDefiningOp<exec::ViewOp>()) {
    auto type = cast<RankedTensorType>(value.getType());
    auto source = cast<RankedTensorType>(view.getSource().getType());
    bool isWhole = view.getOffset() == 0 &&
                   source.getNumElements() == type.getNumElements() &&
                   exec::isRowMajor(type.getShape(), view.getStrides());
    return isWhole ? findStored(view.getSource()) : OpResult();
  }
  auto result = dyn_cast<OpResult>(value);
  bool isStored = result &&
                  isa<exec::LibraryOp, exec::KernelOp>(result.getOwner()) &&
                  exec::getOrder(result).empty();
  return isStored ? result : OpResult();
}

/// Assigns `value` to its place in `whole`; false when its producer cannot
/// write there.
bool CommandContext::placeIn(Value value, Value whole, int64_t offset) {
  OpResult stored = findStored(value);
  if (!stored || assigned.contains(stored))
    return false;
  auto type = cast<RankedTensorType>(stored.getType());
  assigned[stored] =
      createPart(whole, offset, exec::getRowMajor(type), value.getLoc());
  return true;
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

void CommandContext::addCopy(Value source, Value target, Location location,
                             int64_t stream) {
  add<exec::CopyOp>(location, stream, source, target);
}

void CommandContext::addFill(Value target, Location location) {
  add<exec::FillOp>(location, /*stream=*/0, target);
}

LogicalResult CommandContext::visitKernel(exec::KernelOp kernel) {
  FailureOr<SmallVector<Value>> inputs = getMemory(kernel.getInputs(), kernel);
  if (failed(inputs))
    return failure();
  SmallVector<Value> outputs;
  for (OpResult result : kernel.getResults())
    outputs.push_back(createMemory(result, exec::getOrder(result)));
  auto run = add<exec::RunOp>(kernel.getLoc(), /*stream=*/0, kernel.getLabel(),
                              *inputs, outputs);
  run.getBody().takeBody(kernel.getBody());
  return success();
}

} // namespace shardc
