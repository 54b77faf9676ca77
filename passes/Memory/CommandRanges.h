//===- CommandRanges.h - The bytes that commands touch --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Commands of a program whose buffers have places, as the solvers and checkers
// of this phase see them.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_MEMORY_COMMANDRANGES_H
#define SHARDC_PASSES_MEMORY_COMMANDRANGES_H

#include "dialects/Exec/Memory.h"
#include "passes/Memory/StreamEvents.h"

namespace shardc {

class CommandRanges {
public:
  explicit CommandRanges(mlir::ModuleOp module)
      : CommandRanges(exec::References(module)) {}
  explicit CommandRanges(exec::References references)
      : references(std::move(references)) {}

  const format::Mesh &getMesh() const { return references.getMesh(); }
  const exec::References &getReferences() const { return references; }

  /// What the commands of `program` touch on some rank: events are the same for
  /// all ranks.
  std::vector<StreamCommand> ofAnyRank(exec::ProgramOp program) const;
  /// What they touch on `rank`.
  std::vector<StreamCommand> ofRank(exec::ProgramOp program,
                                    int64_t rank) const;

private:
  StreamCommand of(exec::CommandInterface command, int64_t section,
                   int64_t firstRank, int64_t lastRank) const;
  std::vector<StreamCommand> of(exec::ProgramOp program, int64_t firstRank,
                                int64_t lastRank) const;

  exec::References references;
};

/// The events that `program` would need if no buffers shared bytes.
EventPlan planDataEvents(exec::ProgramOp program, mlir::ModuleOp module);

} // namespace shardc

#endif // SHARDC_PASSES_MEMORY_COMMANDRANGES_H
