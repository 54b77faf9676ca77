//===- TensorSlots.h - the tensors of an export as SSA values -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Functionalisation. A tensor name of an export is a window on a storage, and
// an in-place operator changes the storage under every window on it; an SSA
// value never changes. TensorSlots keeps the two worlds apart:
//
//   conv  = conv2d(x, w)         slot 0 = %0, storage 0 version 0
//   flat  = flatten(conv)        slot 1 = %1, a view: storage 0 version 0
//   relu_ = relu_(conv)          slot 0 = %2, storage 0 version 1
//
// `conv` and `relu_` are one tensor object and share slot 0, whose value is now
// %2. The value of `flat` was made when the storage had version 0, so it no
// longer is what PyTorch would see: `flat` is stale, and using it is an error.
// Re-deriving views after a change is not attempted.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_TENSORSLOTS_H
#define SHARDC_COMPILER_TRANSLATION_TENSORSLOTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/StringMap.h"

#include <string>

namespace shardc::translation {

/// Where the first value of a storage comes from.
enum class StorageKind {
  /// An operator of the graph.
  Computed,
  /// An argument of the model.
  Input,
  Parameter,
  Buffer,
};

/// The memory behind one or more tensors.
struct TensorStorage {
  StorageKind kind = StorageKind::Computed;
  /// The parameter's or buffer's name, null otherwise.
  mlir::FlatSymbolRefAttr symbol;
  /// Counts in-place changes.
  unsigned version = 0;
  /// The node that made the last change, for messages.
  std::string changedBy;
};

/// One tensor object. `value` is null for a parameter or buffer that nothing
/// has changed: each use reads it.
struct TensorSlot {
  mlir::Value value;
  mlir::RankedTensorType type;
  unsigned storage = 0;
  /// The storage's version that `value` belongs to.
  unsigned version = 0;
  /// False for a view of another tensor.
  bool isWhole = true;
};

class TensorSlots {
public:
  /// `name` is a new tensor with memory of its own.
  void define(llvm::StringRef name, mlir::Value value,
              StorageKind kind = StorageKind::Computed);

  /// `name` is a parameter or buffer of the model.
  void defineState(llvm::StringRef name, StorageKind kind,
                   mlir::FlatSymbolRefAttr symbol, mlir::RankedTensorType type);

  /// `name` is the same tensor object as `original`.
  void defineSame(llvm::StringRef name, llvm::StringRef original);

  /// `name` is another window on the memory of `original`, or may be.
  void defineView(llvm::StringRef name, mlir::Value value,
                  llvm::StringRef original);

  /// The tensor called `name` has a new value; other windows become stale.
  void change(llvm::StringRef name, mlir::Value value,
              llvm::StringRef changedBy);

  /// The tensor called `name`, or null.
  const TensorSlot *find(llvm::StringRef name) const;
  const TensorStorage &storageOf(const TensorSlot &slot) const {
    return storages[slot.storage];
  }

  /// Whether an in-place operator has changed the memory of `slot` through
  /// another window.
  bool isStale(const TensorSlot &slot) const {
    return slot.version != storageOf(slot).version;
  }

private:
  llvm::StringMap<unsigned> slotByName;
  llvm::SmallVector<TensorSlot> slots;
  llvm::SmallVector<TensorStorage> storages;

  void addSlot(llvm::StringRef name, TensorSlot slot);
};

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_TENSORSLOTS_H
