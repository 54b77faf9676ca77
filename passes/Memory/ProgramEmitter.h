//===- ProgramEmitter.h - Writes a command list as an exec.program --------===//
// SPDX-License-Identifier: Apache-2.0
//
// The last step of the memory phase: buffers have offsets, commands have
// events, and both become operations.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_PROGRAMEMITTER_H
#define SHARDC_PASSES_MEMORY_PROGRAMEMITTER_H

#include "passes/Memory/ArenaPacking.h"
#include "passes/Memory/CommandList.h"
#include "passes/Memory/StreamEvents.h"

#include "mlir/IR/Builders.h"

namespace shardc {

/// Every offset in the arena is a multiple of this many bytes: a cache line,
/// and the alignment that vector loads and NCCL like best.
inline constexpr int64_t arenaAlignment = 64;

class ProgramEmitter {
public:
  /// `ranks` bounds what a rank-relative reference can touch.
  ProgramEmitter(CommandList &list, int64_t ranks) : list(list), ranks(ranks) {}

  /// Places the arena buffers by the commands that touch them.
  const Packing &packBuffers();

  /// Writes `exec.program @step` at the builder's insertion point, after
  /// packBuffers().
  void emit(mlir::OpBuilder &builder, mlir::Location location);

private:
  AccessRange rangeOf(const Place &place) const;
  EventPlan chooseEvents() const;
  exec::RefAttr refOf(const Place &place) const;
  void emitComputation(mlir::OpBuilder &builder, const Command &command) const;
  void emitCommand(mlir::OpBuilder &builder, const Command &command,
                   const CommandEvents &events) const;

  CommandList &list;
  int64_t ranks;
  Packing packing;
};

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_PROGRAMEMITTER_H
