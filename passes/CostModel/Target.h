//===- Target.h - What a program is compiled for --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Everything that the kernel and memory phases want to know of a processor, as
// data: another one is another entry. No pass asks which kind of processor it
// compiles for. The module names its target in the attribute `shardc.target`.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_COSTMODEL_TARGET_H
#define SHARDC_PASSES_COSTMODEL_TARGET_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardc {

/// What compiles the kernels.
enum class Compiler { Cpu, Cuda };

/// A memory that a thread reaches. The last one holds the arena.
struct TargetMemory {
  std::string name;
  /// What one thread may use of it; 0: as much as the program needs.
  int64_t bytes = 0;
  /// Bytes that move together, and the alignment of what is placed in it.
  int64_t lineBytes = 1;
};

struct Target {
  /// Such as "x86-64-v3".
  std::string name;
  Compiler compiler = Compiler::Cpu;
  /// The processor in that compiler's words.
  std::string processor;
  /// Bytes that one instruction loads, widest first.
  std::vector<int64_t> vectorBytes;
  /// Of GPUs, which are different: multiprocessors of the one that kernels are
  /// divided for, and the fewest that one has. They are part of what a program
  /// computes: another number is another order of sums.
  int64_t units = 1;
  int64_t fewestUnits = 1;
  /// Threads that should have work.
  int64_t threads = 1;
  /// Iterations of a loop nest that are worth a thread, or a block of threads.
  int64_t threadWork = 1;
  /// Threads of a block, for a compiler that has blocks.
  int64_t blockThreads = 1;
  /// Nearest to the arithmetic first.
  std::vector<TargetMemory> memories;
  /// Whether convolutions in 16 bits are for units that want an image's
  /// channels next to each other.
  bool channelsLast = false;
  /// The dtype that sums of narrower types are accumulated in: f64 or f32.
  std::string accumulator;
  /// Bytes of a row that a block has read and finds in near memory when it
  /// reads it again; 0: of any row.
  int64_t nearRowBytes = 0;
  /// Classes from which on rows of logits are made whole lines of memory, for
  /// units that multiply several elements of a row at a time; 0: never. Of
  /// fewer, a copy of the weight is not worth it.
  int64_t fewestPaddedClasses = 0;
  /// Rows from which on those that are added at computed places are sorted
  /// first, because one thread is slow to add them in order; 0: never.
  int64_t fewestSortedRows = 0;
  /// Whether library calls get their working memory from the program
  /// (runtime/format/CallWorkspace.h); elsewhere they take it when they are
  /// run.
  bool hasWorkspaces = false;
  /// The library calls that exist, by name; nothing: all of docs/Format.md.
  std::optional<std::vector<std::string>> libraryCalls;

  bool hasLibraryCall(std::string_view call) const;
};

/// Threads that a multiprocessor of a GPU holds at a time.
inline constexpr int64_t maxThreadsOfMultiprocessor = 2048;

/// The chips that kernels can be compiled for, as ptxas names them.
std::vector<std::string> cudaChips();

/// The target of that name, or null.
const Target *findTarget(std::string_view name);

/// The names of all targets, or of those that a compiler compiles for.
std::vector<std::string>
targetNames(std::optional<Compiler> compiler = std::nullopt);

/// Adds a target under its name, for good.
void addTarget(Target target);

} // namespace shardc

#endif // SHARDC_PASSES_COSTMODEL_TARGET_H
