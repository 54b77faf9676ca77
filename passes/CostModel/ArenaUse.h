//===- ArenaUse.h - What a program's memory is used for -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// When each byte of the arena is in use, from the commands of a finished
// program alone: from the command that writes it to the last one that reads
// what was written. What wrote it and what reads it say what it is for.
//
//   all_gather updates [0, 64)       gathered [0, 64) until its last reader
//   matmul reads [0, 32), writes     activations [64, 96)
//     [64, 96)
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_COSTMODEL_ARENAUSE_H
#define SHARDC_PASSES_COSTMODEL_ARENAUSE_H

#include "runtime/format/Program.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardc {

/// What bytes of the arena are for.
enum class ArenaPurpose {
  /// Activations, their gradients, and temporaries.
  Activations,
  /// Whole parameters of groups.
  Gathered,
  /// What a reduction reads.
  Reduced,
  /// Working memory of library calls.
  Workspace
};
inline constexpr std::array<std::string_view, 4> arenaPurposes = {
    "activations", "gathered", "reduced", "workspace"};

/// Bytes that hold one thing from a command to another, both inclusive.
struct ArenaRange {
  int64_t offset = 0;
  int64_t bytes = 0;
  size_t first = 0;
  size_t last = 0;
  ArenaPurpose purpose = ArenaPurpose::Activations;
  /// The gather or reduction whose buffer it belongs to, if any.
  std::optional<size_t> collective = std::nullopt;
};

/// All ranges of the training step on rank 0, by their first commands. What is
/// written and never read is in use while it is written; the buffer of a gather
/// or a reduction is in use as a whole.
std::vector<ArenaRange> findArenaUse(const format::Program &program);

/// The moment at which most bytes are in use.
struct ArenaPeak {
  size_t command = 0;
  int64_t bytes = 0;
  /// By purpose.
  std::array<int64_t, arenaPurposes.size()> byPurpose = {};
};
ArenaPeak findPeak(const std::vector<ArenaRange> &ranges, size_t commands);

} // namespace shardc

#endif // SHARDC_PASSES_COSTMODEL_ARENAUSE_H
