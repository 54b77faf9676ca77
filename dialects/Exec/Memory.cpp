//===- Memory.cpp - What commands touch -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Follows parts to their wholes and counts declarations.
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Memory.h"

#include "dialects/Exec/Layout.h"
#include "dialects/Fsdp/Fsdp.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace shardc::exec {

SmallVector<int64_t> getStrides(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  LogicalResult known = type.getStridesAndOffset(strides, offset);
  assert(succeeded(known) && offset == 0 && "expected static strides");
  (void)known;
  return strides;
}

int64_t getSpanBytes(MemRefType type) {
  return getSpan(type.getShape(), getStrides(type)) *
         getElementBytes(type.getElementType());
}

MemRefType getStrided(ArrayRef<int64_t> shape, Type type,
                      ArrayRef<int64_t> strides) {
  if (ArrayRef<int64_t>(computeStrides(shape)) == strides)
    return MemRefType::get(shape, type);
  return MemRefType::get(shape, type,
                         StridedLayoutAttr::get(type.getContext(), 0, strides));
}

Place getPlace(Value memory) {
  Place place{memory};
  while (auto part = place.whole.getDefiningOp<PartOp>()) {
    place.offset += static_cast<int64_t>(part.getOffset());
    if (std::optional<DictionaryAttr> strides = part.getStrides())
      for (NamedAttribute stride : *strides)
        place.add(
            {stride.getName(), cast<IntegerAttr>(stride.getValue()).getInt()});
    place.whole = part.getWhole();
  }
  return place;
}

void Place::add(AxisStride more) {
  if (more.stride == 0)
    return;
  auto found = llvm::find_if(
      strides, [&](const AxisStride &one) { return one.axis == more.axis; });
  if (found == strides.end())
    strides.push_back(more);
  else if ((found->stride += more.stride) == 0)
    strides.erase(found);
}

Value createPart(OpBuilder &builder, Location location, Value memory,
                 int64_t offset, MemRefType type, ArrayRef<AxisStride> more) {
  Place place = getPlace(memory);
  place.offset += offset;
  for (const AxisStride &stride : more)
    place.add(stride);
  if (place == Place{place.whole} && place.whole.getType() == type)
    return place.whole;
  NamedAttrList strides;
  for (const AxisStride &one : place.strides)
    strides.append(one.axis, builder.getI64IntegerAttr(one.stride));
  return PartOp::create(builder, location, type, place.whole, place.offset,
                        strides.empty()
                            ? DictionaryAttr()
                            : strides.getDictionary(builder.getContext()));
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

format::Mesh getMesh(ModuleOp module) {
  auto meshes = module.getOps<fsdp::MeshOp>();
  if (meshes.empty())
    return format::shardMesh(1);
  fsdp::MeshOp op = *meshes.begin();
  format::Mesh mesh;
  for (auto [axis, size] : llvm::zip_equal(op.getAxes(), op.getSizes()))
    mesh.axes.push_back({cast<StringAttr>(axis).str(), size});
  return mesh;
}

std::vector<int64_t> getShardAxes(const format::Mesh &mesh) {
  std::vector<int64_t> axes;
  for (auto [number, axis] : llvm::enumerate(mesh.axes))
    if (axis.name != fsdp::MeshOp::replicateAxis)
      axes.push_back(static_cast<int64_t>(number));
  return axes;
}

std::optional<int64_t> findAxis(const format::Mesh &mesh, StringRef name) {
  for (auto [number, axis] : llvm::enumerate(mesh.axes))
    if (axis.name == name)
      return number;
  return std::nullopt;
}

std::vector<int64_t> getAxes(CollectiveInterface collective,
                             const format::Mesh &mesh) {
  std::vector<int64_t> numbers;
  for (auto axis : collective.getAxes().getAsRange<StringAttr>())
    numbers.push_back(*findAxis(mesh, axis));
  return numbers;
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

LogicalResult verifyMemory(Operation *command) {
  for (Value operand : command->getOperands()) {
    Operation *whole = getPlace(operand).whole.getDefiningOp();
    if (!isa_and_nonnull<StateOp, InputOp, ScalarOp, BufferOp>(whole))
      return command->emitOpError(
          "expected memory that exec.state, exec.input, "
          "exec.scalar or exec.buffer declares");
  }
  return success();
}

SmallVector<OperandAccess> getAccesses(CommandInterface command) {
  SmallVector<MemoryEffects::EffectInstance> effects;
  cast<MemoryEffectOpInterface>(command.getOperation()).getEffects(effects);
  SmallVector<OperandAccess> accesses;
  for (OpOperand &operand : command->getOpOperands()) {
    bool reads = false, writes = false;
    for (MemoryEffects::EffectInstance &effect : effects)
      if (effect.getEffectValue<OpOperand *>() == &operand) {
        reads |= isa<MemoryEffects::Read>(effect.getEffect());
        writes |= isa<MemoryEffects::Write>(effect.getEffect());
      }
    assert((reads || writes) && "a command uses its operands");
    accesses.push_back({operand.get(), !writes  ? Access::read
                                       : !reads ? Access::write
                                                : Access::read_write});
  }
  return accesses;
}

References::References(ModuleOp module, bool havePlaces)
    : mesh(exec::getMesh(module)) {
  int64_t states = 0, inputs = 0, scalars = 0;
  for (Operation &op : *module.getBody()) {
    if (auto state = dyn_cast<StateOp>(op))
      wholes[state.getMemory()] = {Space::state, states++};
    if (auto input = dyn_cast<InputOp>(op))
      wholes[input.getMemory()] = {Space::input, inputs++};
    if (auto scalar = dyn_cast<ScalarOp>(op))
      wholes[scalar.getMemory()] = {Space::scalar, scalars++};
    if (auto program = dyn_cast<ProgramOp>(op))
      addBuffers(program, havePlaces);
  }
}

void References::addBuffers(ProgramOp program, bool havePlaces) {
  arenaBytes = std::max(arenaBytes,
                        static_cast<int64_t>(program.getArena().value_or(0)));
  for (SectionOp section : getSections(program)) {
    int64_t end = 0;
    for (auto buffer : section.getBody().front().getOps<BufferOp>()) {
      int64_t offset = end;
      if (havePlaces && buffer.getOffset())
        offset = static_cast<int64_t>(*buffer.getOffset());
      wholes[buffer.getMemory()] = {Space::arena, 0, offset};
      end = std::max(end, offset + getSpanBytes(buffer.getMemory().getType()));
    }
    arenaBytes = std::max(arenaBytes, end);
  }
}

Reference References::get(Value memory) const {
  Place place = getPlace(memory);
  Reference reference = wholes.find(place.whole)->second;
  reference.type = cast<MemRefType>(memory.getType());
  int64_t bytes = getElementBytes(reference.type.getElementType());
  reference.offset += place.offset * bytes;
  for (const AxisStride &one : place.strides)
    reference.strides[*findAxis(mesh, one.axis)] = one.stride * bytes;
  return reference;
}

SmallVector<References::Operand>
References::getOperands(CommandInterface command) const {
  return llvm::map_to_vector(getAccesses(command),
                             [&](const OperandAccess &operand) -> Operand {
                               return {get(operand.memory), operand.access};
                             });
}

} // namespace shardc::exec
