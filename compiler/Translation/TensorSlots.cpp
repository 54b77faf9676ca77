//===- TensorSlots.cpp - the tensors of an export as SSA values -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The bookkeeping of functionalisation: names, tensor objects, storages.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/TensorSlots.h"

using namespace mlir;
using namespace shardc::translation;

void TensorSlots::addSlot(StringRef name, TensorSlot slot) {
  slotByName[name] = slots.size();
  slots.push_back(slot);
}

void TensorSlots::define(StringRef name, Value value, StorageKind kind) {
  TensorStorage storage;
  storage.kind = kind;
  TensorSlot slot;
  slot.value = value;
  slot.type = cast<RankedTensorType>(value.getType());
  slot.storage = storages.size();
  storages.push_back(storage);
  addSlot(name, slot);
}

void TensorSlots::defineState(StringRef name, StorageKind kind,
                              FlatSymbolRefAttr symbol, RankedTensorType type) {
  TensorStorage storage;
  storage.kind = kind;
  storage.symbol = symbol;
  TensorSlot slot;
  slot.type = type;
  slot.storage = storages.size();
  storages.push_back(storage);
  addSlot(name, slot);
}

void TensorSlots::defineSame(StringRef name, StringRef original) {
  // Reading first: inserting `name` may move the map's entries.
  unsigned slot = slotByName.at(original);
  slotByName[name] = slot;
}

void TensorSlots::defineView(StringRef name, Value value, StringRef original) {
  TensorSlot slot = slots[slotByName.at(original)];
  slot.value = value;
  slot.type = cast<RankedTensorType>(value.getType());
  slot.isWhole = false;
  addSlot(name, slot);
}

void TensorSlots::change(StringRef name, Value value, StringRef changedBy) {
  TensorSlot &slot = slots[slotByName.at(name)];
  TensorStorage &storage = storages[slot.storage];
  storage.changedBy = changedBy.str();
  slot.value = value;
  slot.version = ++storage.version;
}

const TensorSlot *TensorSlots::find(StringRef name) const {
  auto found = slotByName.find(name);
  return found == slotByName.end() ? nullptr : &slots[found->second];
}
