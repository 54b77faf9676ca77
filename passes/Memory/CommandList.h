//===- CommandList.h - A program before its buffers have offsets ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The commands of a step on numbered buffers. A buffer is an allocation of the
// arena, a persistent state, an input or a scalar; a Place is a strided tensor
// in a buffer. The memory phase builds this list from the step, packs the arena
// buffers by the commands that touch them, and writes it out as an
// `exec.program`.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_COMMANDLIST_H
#define SHARDC_PASSES_MEMORY_COMMANDLIST_H

#include "dialects/Exec/Exec.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"

#include <memory>
#include <string>
#include <vector>

namespace shardc {

/// Bytes that exist during some or all of a step.
struct Buffer {
  exec::Space space = exec::Space::arena;
  /// Which state, input or scalar.
  int64_t index = 0;
  /// Arena buffers only.
  int64_t bytes = 0;
};

/// A tensor in a buffer. The type has static strides and no offset.
struct Place {
  unsigned buffer = 0;
  /// Bytes from the buffer's begin to the first element.
  int64_t offset = 0;
  /// Bytes that rank r adds r times to the offset.
  int64_t rankStride = 0;
  mlir::MemRefType type;
};

struct Operand {
  Place place;
  exec::Access access;
};

enum class CommandKind {
  launch,
  call,
  allGather,
  reduceScatter,
  allReduce,
  copy,
  fill
};

/// A kernel's region and where its arguments and results are.
struct Computation {
  mlir::Region region;
  int64_t launches = 0;
  std::vector<Place> operands, outputs;
};

struct Command {
  CommandKind kind;
  mlir::Location location;
  exec::Section section = exec::Section::micro_batch;
  int64_t stream = 0;
  /// The kernel's symbol, the library call, or the group.
  std::string name;
  /// What a launch is called for people.
  std::string label;
  /// Library calls only.
  mlir::DictionaryAttr settings;
  /// Iterations of a launch, or bytes of a gather's slot.
  int64_t extent = 0;
  bool doubleDouble = false;
  /// What this launch and those after it compute, if that is kept.
  std::shared_ptr<Computation> computation;
  /// In the order of the command's syntax: what it reads, then what it writes;
  /// a launch's in the order of its function's pointers.
  std::vector<Operand> operands;
};

struct CommandList {
  std::vector<Buffer> buffers;
  std::vector<Command> commands;

  unsigned addBuffer(Buffer buffer) {
    buffers.push_back(buffer);
    return buffers.size() - 1;
  }
  unsigned addArena(int64_t bytes) {
    return addBuffer({exec::Space::arena, 0, bytes});
  }
};

/// Bytes of one element of `type`; an i1 takes one.
int64_t getElementBytes(mlir::Type type);

/// Row-major `type` as a memref.
mlir::MemRefType getRowMajor(mlir::RankedTensorType type);

/// `type` with the given strides, in elements.
mlir::MemRefType getStrided(mlir::RankedTensorType type,
                            llvm::ArrayRef<int64_t> strides);

/// Row-major strides of `shape`, in elements.
llvm::SmallVector<int64_t> getRowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// Whether elements of `type` follow each other in row-major order.
bool isRowMajor(mlir::MemRefType type);

/// Bytes from the first element of `type` to one past the last.
int64_t getSpanBytes(mlir::MemRefType type);

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_COMMANDLIST_H
