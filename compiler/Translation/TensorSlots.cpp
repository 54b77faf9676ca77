//===- TensorSlots.cpp - The tensors of an export as SSA values -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The bookkeeping of functionalisation: names, tensor objects, storages.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/TensorSlots.h"

#include "compiler/Translation/GradientHistory.h"
#include "compiler/Translation/TensorTypes.h"
#include "compiler/Translation/TensorWindow.h"
#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

void TensorSlots::addSlot(StringRef name, TensorSlot slot) {
  llvm::append_range(slot.calls, calls.frames());
  scopes.back()[name] = slots.size();
  slots.push_back(slot);
}

void TensorSlots::define(StringRef name, Value value, StorageKind kind) {
  TensorStorage storage;
  storage.kind = kind;
  storage.isRecorded = isRecording;
  TensorSlot slot;
  slot.value = value;
  slot.type = cast<RankedTensorType>(value.getType());
  slot.storage = storages.size();
  storages.push_back(storage);
  addSlot(name, slot);
}

void TensorSlots::defineState(StringRef name, TensorStorage storage,
                              RankedTensorType type) {
  TensorSlot slot;
  slot.type = type;
  slot.storage = storages.size();
  storages.push_back(std::move(storage));
  addSlot(name, slot);
}

void TensorSlots::addOwner(StringRef name, StringRef path) {
  storages[find(name)->storage].owners.push_back(path.str());
}

void TensorSlots::defineSame(StringRef name, StringRef original) {
  // Reading first: inserting `name` may move the map's entries.
  unsigned slot = scopes.back().at(original);
  scopes.back()[name] = slot;
}

void TensorSlots::defineView(StringRef name, Value value, StringRef original,
                             Value originalValue) {
  unsigned source = scopes.back().at(original);
  TensorSlot slot;
  slot.value = value;
  slot.type = cast<RankedTensorType>(value.getType());
  slot.storage = slots[source].storage;
  slot.version = storages[slot.storage].version;
  slot.source = source;
  slot.lookedAt = originalValue;
  slot.seen = value;
  addSlot(name, slot);
}

const TensorSlot *TensorSlots::find(StringRef name) const {
  auto found = scopes.back().find(name);
  return found == scopes.back().end() ? nullptr : &slots[found->second];
}

void TensorSlots::enterGraph(ArrayRef<StringRef> inputs,
                             ArrayRef<StringRef> arguments) {
  llvm::StringMap<unsigned> inner;
  for (auto [input, argument] : llvm::zip_equal(inputs, arguments))
    inner[input] = scopes.back().at(argument);
  scopes.push_back(std::move(inner));
}

void TensorSlots::leaveGraph(ArrayRef<StringRef> outputs,
                             ArrayRef<StringRef> results) {
  llvm::StringMap<unsigned> inner = scopes.pop_back_val();
  for (auto [output, result] : llvm::zip_equal(outputs, results))
    scopes.back()[result] = inner.at(output);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// The value of a parameter, buffer or constant that nothing has changed, made
/// in the innermost call whose module has it, or that reaches it past its
/// arguments: the first `captured` ones.
Value TensorSlots::readState(const TensorSlot &slot, size_t captured,
                             Location location) {
  const TensorStorage &storage = storages[slot.storage];
  size_t depth = storage.owners.empty()
                     ? calls.frames().size()
                     : std::max(calls.depthHolding(storage.owners), captured);
  OpBuilder::InsertionGuard guard(builder);
  location = calls.moveTo(depth, Value(), location);
  if (storage.constant) {
    auto constant =
        aten::ConstantOp::create(builder, location, storage.constant);
    calls.place(constant, depth);
    return constant;
  }
  // Complex numbers are kept as pairs.
  bool isPairs = isa<ComplexType>(slot.type.getElementType());
  auto read = fsdp::ReadOp::create(builder, location,
                                   isPairs ? storedType(slot.type) : slot.type,
                                   storage.symbol);
  calls.place(read, depth);
  if (!isPairs)
    return read;
  auto complex = aten::ViewAsComplexOp::create(builder, location, read);
  calls.place(complex, depth);
  return complex;
}

/// `value`, as the innermost of the first `depth` calls captures it.
Value TensorSlots::capture(Value value, size_t depth, FlatSymbolRefAttr buffer,
                           Location location) {
  Value &known = captures[{value, calls.stackOf(depth)}];
  if (known)
    return known;
  OpBuilder::InsertionGuard guard(builder);
  location = calls.moveTo(depth, value, location);
  auto capture = fsdp::CaptureOp::create(builder, location, value.getType(),
                                         value, buffer);
  calls.place(capture, depth);
  return known = capture;
}

/// The value of a buffer or parameter that was changed, captured where it comes
/// to a call otherwise than as an argument.
Value TensorSlots::captureState(const TensorSlot &slot, size_t captured,
                                Location location) {
  const TensorStorage &storage = storages[slot.storage];
  if (!storage.symbol || storage.owners.empty() ||
      !isa<FloatType>(slot.type.getElementType()))
    return slot.value;
  size_t common = calls.depthCommonWith(slot.calls);
  size_t depth =
      std::max({common, calls.depthHolding(storage.owners), captured});
  if (depth == slot.calls.size() && depth == common)
    return slot.value;
  return capture(slot.value, depth, storage.symbol, location);
}

/// How many calls, from the outermost on, have the innermost one for last that
/// was recorded to capture `name`.
std::optional<size_t> TensorSlots::recordedDepth(StringRef name) const {
  for (size_t depth = calls.frames().size(); recorded && depth > 0; --depth) {
    auto found = recorded->find(calls.frames()[depth - 1].describe());
    if (found != recorded->end() && found->second.count(name))
      return depth;
  }
  return std::nullopt;
}

void translation::writeState(OpBuilder &builder, Location location, Value value,
                             FlatSymbolRefAttr symbol) {
  if (isa<ComplexType>(getElementTypeOrSelf(value)))
    value = aten::ViewAsRealOp::create(builder, location, value);
  fsdp::WriteOp::create(builder, location, value, symbol);
}

Value TensorSlots::readSlot(unsigned index, size_t captured,
                            Location location) {
  TensorSlot &slot = slots[index];
  const TensorStorage &storage = storages[slot.storage];
  if (!slot.source)
    return slot.value ? captureState(slot, captured, location)
                      : readState(slot, captured, location);
  if (slot.version == storage.version)
    return slot.value;
  Value source = readSlot(*slot.source, /*captured=*/0, location);
  Value value = source
                    ? lookThrough({slot.lookedAt, slot.seen}, builder, source)
                    : Value();
  if (!value)
    return nullptr;
  slot.value = value;
  slot.version = storage.version;
  return value;
}

Value TensorSlots::read(StringRef name, Location location) {
  unsigned index = scopes.back().at(name);
  std::optional<size_t> depth = recordedDepth(name);
  Value value = readSlot(index, depth.value_or(0), location);
  const TensorSlot &slot = slots[index];
  bool isState = !slot.source && storageOf(slot).symbol;
  if (!value || isState || !depth ||
      !isa<FloatType>(slot.type.getElementType()))
    return value;
  return *depth > calls.depthCommonWith(slot.calls)
             ? capture(value, *depth, FlatSymbolRefAttr(), location)
             : value;
}

/// Whether a slot is its source without the history of that.
static bool isDetach(const TensorSlot &slot) {
  return slot.source && slot.seen != slot.lookedAt &&
         slot.seen.getDefiningOp<aten::DetachOp>();
}

bool TensorSlots::isDetached(StringRef name) const {
  const TensorSlot *slot = find(name);
  for (; slot->source; slot = &slots[*slot->source])
    if (isDetach(*slot))
      return true;
  return false;
}

bool TensorSlots::becomesOneOf(size_t count, StringRef name) {
  unsigned index = scopes.back().at(name);
  while (index >= count) {
    const TensorSlot &slot = slots[index];
    Operation *conversion = slot.source ? slot.seen.getDefiningOp() : nullptr;
    if (!isa_and_nonnull<aten::ToOp, aten::ToOtherOp>(conversion) ||
        conversion->getOperand(0) != slot.lookedAt ||
        slot.lookedAt.getType() != slot.type)
      return false;
    index = *slot.source;
  }
  scopes.back()[name] = index;
  return true;
}

bool TensorSlots::holds(StringRef name, Value value) const {
  const TensorSlot &slot = *find(name);
  while (auto capture = value.getDefiningOp<fsdp::CaptureOp>())
    value = capture.getValue();
  if (slot.value)
    return slot.value == value;
  const TensorStorage &storage = storageOf(slot);
  if (auto constant = value.getDefiningOp<aten::ConstantOp>())
    return storage.constant && constant.getValue() == storage.constant;
  if (auto complex = value.getDefiningOp<aten::ViewAsComplexOp>())
    value = complex.getSelf();
  auto read = value.getDefiningOp<fsdp::ReadOp>();
  return read && read.getSymbolAttr() == storage.symbol;
}

Value TensorSlots::recordedStorage(StringRef name, Location location) {
  unsigned index = scopes.back().at(name);
  if ((isRecording && !isDetached(name)) ||
      !storages[slots[index].storage].isRecorded)
    return nullptr;
  while (slots[index].source)
    index = *slots[index].source;
  return readSlot(index, /*captured=*/0, location);
}

/// `value`, detached, with the gradient of `old`: what PyTorch makes of a
/// tensor that changes where autograd does not look.
static Value withHistoryOf(Value old, Value value, OpBuilder &builder,
                           Location location) {
  auto type = cast<RankedTensorType>(old.getType());
  if (isa<ComplexType>(type.getElementType())) {
    Value parts =
        withHistoryOf(aten::ViewAsRealOp::create(builder, location, old),
                      aten::ViewAsRealOp::create(builder, location, value),
                      builder, location);
    return aten::ViewAsComplexOp::create(builder, location, parts);
  }
  Value one = aten::ConstantOp::create(
      builder, location,
      DenseElementsAttr::get(type,
                             builder.getFloatAttr(type.getElementType(), 1)));
  value = aten::DetachOp::create(builder, location, value);
  return aten::WithSlopeOp::create(builder, location, value, old, one);
}

/// Whether a slot is detached and got a history by a change of its own, which
/// the rest of its memory does not have.
static bool hasOwnHistory(const TensorSlot &slot) {
  return isDetach(slot) && slot.value && requiresGradient(slot.value);
}

/// The path of the module that has the parameter `name` for an attribute.
static std::string ownerOf(StringRef name) {
  return name.contains('.') ? name.rsplit('.').first.str() : "";
}

LogicalResult TensorSlots::change(StringRef name, Value value,
                                  Location location) {
  Value old = recordedStorage(name, location);
  bool keepsHistory = old && requiresGradient(old);
  unsigned index = scopes.back().at(name);
  unsigned memory = slots[index].storage;
  TensorStorage &storage = storages[memory];
  if (!isRecording && storage.isRecorded &&
      !isa<IntegerType>(getElementTypeOrSelf(value)))
    value = aten::DetachOp::create(builder, location, value);
  storage.isRecorded |= isRecording;
  // Of each slot on the way to the whole: its new value.
  SmallVector<std::pair<unsigned, Value>> changed{{index, value}};
  while (slots[index].source) {
    const TensorSlot &window = slots[index];
    Value source = readSlot(*window.source, /*captured=*/0, location);
    if (isDetach(window) && isRecording)
      value = aten::DetachOp::create(builder, location, value);
    else if (keepsHistory)
      changed.pop_back(); // Read through its source, it has that history.
    if (source)
      value =
          writeThrough({window.lookedAt, window.seen}, builder, source, value);
    if (!source || !value)
      return failure();
    index = *window.source;
    changed.emplace_back(index, value);
  }
  for (auto [other, slot] : llvm::enumerate(slots))
    if (slot.storage == memory && hasOwnHistory(slot) &&
        (!isRecording || llvm::none_of(changed, [&](auto &each) {
          return each.first == other;
        })))
      return failure(); // It would have numbers that its history has not.
  if (keepsHistory)
    changed.back().second = value =
        withHistoryOf(old, value, builder, location);
  ++storage.version;
  for (auto [slot, newValue] : changed) {
    slots[slot].value = newValue;
    slots[slot].calls.assign(calls.frames().begin(), calls.frames().end());
    slots[slot].version = storage.version;
  }
  if (storage.kind == StorageKind::Parameter)
    storage.owners.push_back(ownerOf(storage.symbol.getValue()));
  if (storage.symbol)
    writeState(builder, location, value, storage.symbol);
  return success();
}
