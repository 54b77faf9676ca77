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

#include "dialects/Exec/Exec.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace shardc::exec {

/// Bytes of one element of `type`; an i1 takes one.
int64_t getElementBytes(mlir::Type type);

/// Bytes from the first element of `type` to one past the last.
int64_t getSpanBytes(mlir::MemRefType type);

/// The strides of `type`, in elements; they are static.
llvm::SmallVector<int64_t> getStrides(mlir::MemRefType type);

/// `shape` of elements of `type`, with `strides` in elements.
mlir::MemRefType getStrided(llvm::ArrayRef<int64_t> shape, mlir::Type type,
                            llvm::ArrayRef<int64_t> strides);

/// Where `memory` lies in what declares it: the result of a BufferOp, StateOp,
/// InputOp or ScalarOp. Offset and rank stride are in elements.
struct Place {
  mlir::Value whole;
  int64_t offset = 0;
  int64_t rankStride = 0;

  bool operator==(const Place &) const = default;
};
Place getPlace(mlir::Value memory);

/// What a command does with one of its operands.
struct OperandAccess {
  mlir::Value memory;
  Access access;
};

/// All operands of `command`, in their order, by its memory effects.
llvm::SmallVector<OperandAccess> getAccesses(CommandInterface command);

/// Bytes of a rank: rank r's begin at `offset` + r * `rankStride` of the
/// arena, or of state, input or scalar number `index`.
struct Reference {
  Space space = Space::arena;
  int64_t index = 0;
  int64_t offset = 0;
  int64_t rankStride = 0;
  mlir::MemRefType type;

  /// Bytes from the first element to one past the last.
  int64_t getBytes() const { return getSpanBytes(type); }
  int64_t getBegin(int64_t rank) const { return offset + rank * rankStride; }
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

  /// Where each declaration and buffer begins.
  llvm::DenseMap<mlir::Value, Reference> wholes;
  int64_t arenaBytes = 0;
};

} // namespace shardc::exec

#endif // SHARDC_DIALECTS_EXEC_MEMORY_H
