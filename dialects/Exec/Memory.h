//===- Memory.h - What commands touch -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// From an operand of a command to the memory that it names: through parts to a
// buffer or a declaration, and from there to bytes. Packing, events, the rules
// of the memory phase, the interpreter and the artifact's builder use these and
// nothing else.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_EXEC_MEMORY_H
#define SHARDC_DIALECTS_EXEC_MEMORY_H

#include "dialects/Aten/ElementBytes.h"
#include "dialects/Exec/Exec.h"
#include "runtime/format/Mesh.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace shardc::exec {

/// Bytes from the first element of `type` to one past the last.
int64_t getSpanBytes(mlir::MemRefType type);

/// The strides of `type`, in elements; they are static.
llvm::SmallVector<int64_t> getStrides(mlir::MemRefType type);

/// `shape` of elements of `type`, with `strides` in elements.
mlir::MemRefType getStrided(llvm::ArrayRef<int64_t> shape, mlir::Type type,
                            llvm::ArrayRef<int64_t> strides);

/// The ranks that a module is compiled for; one, on an axis `shard`, without a
/// mesh.
format::Mesh getMesh(mlir::ModuleOp module);

/// The numbers of the axes that parameters are divided over.
std::vector<int64_t> getShardAxes(const format::Mesh &mesh);

/// The number of the axis of that name, if there is one.
std::optional<int64_t> findAxis(const format::Mesh &mesh, llvm::StringRef name);

/// The numbers of a collective's axes.
std::vector<int64_t> getAxes(CollectiveInterface collective,
                             const format::Mesh &mesh);

/// By how many elements something moves with the rank's coordinate on an axis.
struct AxisStride {
  mlir::StringAttr axis;
  int64_t stride = 0;

  bool operator==(const AxisStride &) const = default;
};

/// Where `memory` lies in what declares it: the result of a BufferOp, StateOp,
/// InputOp or ScalarOp. Offset and strides are in elements; each axis has at
/// most one stride, which is not 0.
struct Place {
  mlir::Value whole;
  int64_t offset = 0;
  llvm::SmallVector<AxisStride, 1> strides = {};

  void add(AxisStride more);
  bool operator==(const Place &) const = default;
};
Place getPlace(mlir::Value memory);

/// A part of `memory`, or of what that is a part of, whose first element is
/// `offset` elements behind the one of `memory`, and moves by `strides` too;
/// the whole itself where that is the same.
mlir::Value createPart(mlir::OpBuilder &builder, mlir::Location location,
                       mlir::Value memory, int64_t offset,
                       mlir::MemRefType type,
                       llvm::ArrayRef<AxisStride> strides = {});

/// What a command does with one of its operands.
struct OperandAccess {
  mlir::Value memory;
  Access access;
};

/// All operands of `command`, in their order, by its memory effects.
llvm::SmallVector<OperandAccess> getAccesses(CommandInterface command);

/// Bytes of a rank: they begin `offset` and its coordinates times `strides`
/// behind the begin of the arena, or of state, input or scalar number `index`.
struct Reference {
  Space space = Space::arena;
  int64_t index = 0;
  int64_t offset = 0;
  format::AxisStrides strides = {};
  mlir::MemRefType type;

  /// Bytes from the first element to one past the last.
  int64_t getBytes() const { return getSpanBytes(type); }
  int64_t getBegin(const format::Coordinates &rank) const {
    return offset + format::displacement(rank, strides);
  }
};

/// Numbers the declarations of a module, in their order. The buffers of a
/// program that have no places yet lie one after the other.
class References {
public:
  explicit References(mlir::ModuleOp module)
      : References(module, /*havePlaces=*/true) {}

  /// The references of a program in which no buffers share bytes: those that
  /// have places lie one after the other too.
  static References apart(mlir::ModuleOp module) {
    return References(module, /*havePlaces=*/false);
  }

  const format::Mesh &getMesh() const { return mesh; }

  /// What `memory` is.
  Reference get(mlir::Value memory) const;

  /// Bytes that the buffers of every program fit into.
  int64_t getArenaBytes() const { return arenaBytes; }

  struct Operand {
    Reference reference;
    Access access;
  };
  /// getAccesses() as references.
  llvm::SmallVector<Operand> getOperands(CommandInterface command) const;

private:
  References(mlir::ModuleOp module, bool havePlaces);
  void addBuffers(ProgramOp program, bool havePlaces);

  format::Mesh mesh;
  /// Where each declaration and buffer begins.
  llvm::DenseMap<mlir::Value, Reference> wholes;
  int64_t arenaBytes = 0;
};

} // namespace shardc::exec

#endif // SHARDC_DIALECTS_EXEC_MEMORY_H
