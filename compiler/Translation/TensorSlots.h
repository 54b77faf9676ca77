//===- TensorSlots.h - The tensors of an export as SSA values -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Functionalisation. A tensor name of an export is a window on a storage, and
// an in-place operator changes the storage under every window on it; an SSA
// value never changes. TensorSlots keeps the two worlds apart:
//
//   x    = zeros([4, 8])       slot 0: base, value %0
//   row  = select(x, 0, 1)     slot 1: window on slot 0, value %2
//                                %1 = aten.slice %0 dim 0 [1:2]
//                                %2 = aten.view %1 [8]
//   relu_ = relu_(row)         slot 1 = %3; the storage has version 1
//
// The operators between a window's source and its value say how the window
// looks at the source, and each has an inverse. A change of `row` is therefore
// written back through them, last one first, and makes a new value of `x`:
//
//                                %4 = aten.view %3 [1, 8]
//                                %5 = aten.slice_scatter %0, %4 dim 0 [1:2]
//
// Other windows on the storage belong to version 0 now. The next read of one
// repeats its operators on the new value of its source. Reads and changes thus
// cost the length of one chain of windows, whatever the graph's size.
//
// Casts at module boundaries are of arguments alone, and a plain export does
// not tell how a module reaches a tensor. A module reads its own buffers
// itself, and is called with those of others: one that nothing has changed is
// read in the innermost call whose module holds it, and the new value of one
// that was changed in another call is captured (`fsdp.capture`) there. Of other
// tensors the export helper records which ones a call captures.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_TENSORSLOTS_H
#define SHARDC_COMPILER_TRANSLATION_TENSORSLOTS_H

#include "compiler/Pt2/ExportNotes.h"
#include "compiler/Translation/ModuleCalls.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>
#include <utility>

namespace shardc::translation {

/// Where the first value of a storage comes from.
enum class StorageKind {
  /// An operator of the graph.
  Computed,
  /// An argument of the model.
  Input,
  Parameter,
  Buffer,
  /// A tensor that the model's code spells out.
  Constant,
};

/// The memory behind one or more tensors.
struct TensorStorage {
  StorageKind kind = StorageKind::Computed;
  /// The parameter's or buffer's name, null otherwise.
  mlir::FlatSymbolRefAttr symbol;
  /// A constant's value, null otherwise.
  mlir::ElementsAttr constant;
  /// Of a buffer or constant: the paths of the modules that have it for an
  /// attribute. None where forward makes it.
  llvm::SmallVector<std::string, 1> owners;
  /// Counts in-place changes.
  unsigned version = 0;
  /// Whether autograd recorded how it was made or changed: not everything of it
  /// happened under torch.no_grad.
  bool isRecorded = true;
};

/// One tensor object. `value` is null for a parameter, buffer or constant that
/// nothing has changed: each use reads it.
struct TensorSlot {
  mlir::Value value;
  /// The module calls that `value` was made under.
  llvm::SmallVector<ModuleFrame> calls;
  mlir::RankedTensorType type;
  unsigned storage = 0;
  /// The storage's version that `value` belongs to.
  unsigned version = 0;
  /// Of a window: the slot it looks at, and how: the operators between
  /// `lookedAt`, a value of that slot, and `seen`.
  std::optional<unsigned> source;
  mlir::Value lookedAt;
  mlir::Value seen;
};

class TensorSlots {
public:
  explicit TensorSlots(mlir::OpBuilder &builder)
      : builder(builder), calls(builder) {}

  /// The following tensors are made and read under these module calls.
  void enterCalls(llvm::ArrayRef<ModuleFrame> frames) { calls.enter(frames); }

  /// By module call, the names of what is not among its arguments, as the
  /// export helper recorded them.
  void setCaptured(const pt2::CapturedTensors &captured) {
    recorded = &captured;
  }

  /// Whether `op` has the calls that it runs under: it reads or captures state.
  bool isPlaced(mlir::Operation *op) const { return calls.isPlaced(op); }

  /// `name` is a new tensor with memory of its own.
  void define(llvm::StringRef name, mlir::Value value,
              StorageKind kind = StorageKind::Computed);

  /// `name` is a parameter, buffer or constant of the model, which `storage`
  /// describes.
  void defineState(llvm::StringRef name, TensorStorage storage,
                   mlir::RankedTensorType type);

  /// The module `path` has the buffer `name` for an attribute too.
  void addOwner(llvm::StringRef name, llvm::StringRef path);

  /// `name` is the same tensor object as `original`.
  void defineSame(llvm::StringRef name, llvm::StringRef original);

  /// `name` is a window on `original`; `value` was computed from its present
  /// value.
  void defineView(llvm::StringRef name, mlir::Value value,
                  llvm::StringRef original, mlir::Value originalValue);

  /// The present value of the tensor called `name`. Null when it is a window
  /// that cannot be looked through again.
  mlir::Value read(llvm::StringRef name, mlir::Location location);

  /// The tensor called `name` has a new value, and so has everything that
  /// shares its memory; a buffer's is written back. Where nothing is recorded,
  /// no gradient flows through the new value. Fails when a window cannot be
  /// written through.
  llvm::LogicalResult change(llvm::StringRef name, mlir::Value value,
                             mlir::Location location);

  /// The tensor called `name`, or null.
  const TensorSlot *find(llvm::StringRef name) const;
  const TensorStorage &storageOf(const TensorSlot &slot) const {
    return storages[slot.storage];
  }

  /// The present value of all the memory that `name` is a window on, for a
  /// change that autograd does not record there: under torch.no_grad, or
  /// through a detach. Null when it never recorded anything of that memory,
  /// which then has no history that could be lost.
  mlir::Value recordedStorage(llvm::StringRef name, mlir::Location location);

  /// Whether `name` is a window on something detached.
  bool isDetached(llvm::StringRef name) const;

  /// How many tensors there are.
  size_t count() const { return slots.size(); }

  /// Whether `name` is one of the first `count` tensors. It becomes one where
  /// it is the result of conversions of one to the type that it has.
  bool becomesOneOf(size_t count, llvm::StringRef name);

  /// Whether `value` is what the tensor called `name` holds, as it was last
  /// read.
  bool holds(llvm::StringRef name, mlir::Value value) const;

  /// Whether autograd records what happens from now on.
  bool records() const { return isRecording; }
  /// Sets that; returns what was.
  bool setRecording(bool isOn) { return std::exchange(isRecording, isOn); }

  /// Enters a graph inside the graph, whose names are its own; `inputs` of it
  /// are the tensors that `arguments` name outside.
  void enterGraph(llvm::ArrayRef<llvm::StringRef> inputs,
                  llvm::ArrayRef<llvm::StringRef> arguments);
  /// Leaves it; `results` outside are the tensors that `outputs` name inside.
  void leaveGraph(llvm::ArrayRef<llvm::StringRef> outputs,
                  llvm::ArrayRef<llvm::StringRef> results);

private:
  mlir::OpBuilder &builder;
  ModuleCalls calls;
  const pt2::CapturedTensors *recorded = nullptr;
  /// By the value and the calls that it is captured in.
  llvm::DenseMap<std::pair<mlir::Value, mlir::Attribute>, mlir::Value> captures;
  /// The names of each graph that is being translated, the innermost last.
  llvm::SmallVector<llvm::StringMap<unsigned>> scopes{1};
  llvm::SmallVector<TensorSlot> slots;
  llvm::SmallVector<TensorStorage> storages;
  bool isRecording = true;

  void addSlot(llvm::StringRef name, TensorSlot slot);
  /// `captured`: how many calls a state comes to past their arguments.
  mlir::Value readSlot(unsigned slot, size_t captured, mlir::Location location);
  mlir::Value readState(const TensorSlot &slot, size_t captured,
                        mlir::Location location);
  mlir::Value captureState(const TensorSlot &slot, size_t captured,
                           mlir::Location location);
  mlir::Value capture(mlir::Value value, size_t depth,
                      mlir::FlatSymbolRefAttr buffer, mlir::Location location);
  std::optional<size_t> recordedDepth(llvm::StringRef name) const;
};

/// Writes `value` to a buffer or parameter; complex numbers as the pairs that
/// it keeps.
void writeState(mlir::OpBuilder &builder, mlir::Location location,
                mlir::Value value, mlir::FlatSymbolRefAttr symbol);

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_TENSORSLOTS_H
