//===- Program.h - the commands that one rank runs each step ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The in-memory form of `program.json`: a flat list of commands with explicit
// buffers, streams and events, the same for every rank. A step runs the
// commands of section `Begin` once, those of `MicroBatch` once per micro-batch
// and those of `Update` once, each in list order. docs/Format.md is the
// specification; ProgramJson.cpp maps each member to its JSON name.
//
// Plain data: the compiler fills it in, the writer, the validator and the
// executors read it. Copies are deep.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_PROGRAM_H
#define SHARDC_RUNTIME_FORMAT_PROGRAM_H

#include "runtime/format/Attributes.h"
#include "runtime/format/Dtype.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace shardc::format {

/// Where bytes live. Arena: one allocation of Program::arenaBytes per rank.
/// State: Parameters::states. Input: Parameters::inputs of the running
/// micro-batch. Scalar: Program::scalars. Constant: the entry constants.bin.
enum class Space { Arena, State, Input, Scalar, Constant };

/// A byte range of a space. `index` selects the state, input or scalar and is
/// zero for arena and constant; `offset` counts from its start. Rank r's range
/// begins at offset + r * rankStride: a rank names its own slot of a gathered
/// buffer this way.
struct BufferReference {
  Space space = Space::Arena;
  int64_t index = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
  int64_t rankStride = 0;

  bool operator==(const BufferReference &) const = default;
};

/// A tensor inside a byte range; its element (0, …, 0) is at buffer.offset.
/// Strides are in elements and not negative; empty means row-major without
/// gaps.
struct TensorReference {
  BufferReference buffer;
  Dtype dtype = Dtype::F32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;

  bool operator==(const TensorReference &) const = default;
};

/// Whether a command reads a byte range, writes it, or does both.
enum class Access { Read, Write, ReadWrite };

/// What a kernel does with the pointer of one operand: it touches `bytes`
/// bytes from there on and no others, and relies on an address that is a
/// multiple of `alignment`. What it writes is no other operand's.
struct KernelOperand {
  int64_t bytes = 0;
  int64_t alignment = 1;
  Access access = Access::Read;

  bool operator==(const KernelOperand &) const = default;
};

/// What a kernel of kernels.so can be called with: iterations below `extent`,
/// and these operands.
struct KernelSignature {
  std::string name;
  int64_t extent = 0;
  std::vector<KernelOperand> operands;

  bool operator==(const KernelSignature &) const = default;
};

/// The signature without the name, as kernels.so repeats it in the symbol
/// `NAME.signature`: the greatest extent, then bytes, alignment and access (r,
/// w or rw) of each operand: "12;1024:4:r;512:4:rw".
std::string signatureText(const KernelSignature &signature);

/// Calls `extern "C" void KERNEL(void *const *operands, int64_t begin,
/// int64_t end)` of kernels.so over [0, extent). Iterations are independent:
/// any split of the range gives the same bits. Program::kernels has the
/// kernel's signature.
struct LaunchCommand {
  std::string kernel;
  int64_t extent = 0;
  std::vector<BufferReference> operands;

  bool operator==(const LaunchCommand &) const = default;
};

/// Calls one of the runtime's library calls (see LibraryCalls.h).
struct LibraryCommand {
  std::string call;
  Attributes attributes;
  std::vector<TensorReference> operands;
  std::vector<TensorReference> results;

  bool operator==(const LibraryCommand &) const = default;
};

/// In place: rank r's slot is bytes [r * slotBytes, (r + 1) * slotBytes) of
/// `buffer`, filled before; afterwards every slot is.
struct AllGatherCommand {
  BufferReference buffer;
  int64_t slotBytes = 0;

  bool operator==(const AllGatherCommand &) const = default;
};

/// output[i] = ((output[i] + g_0[i]) + g_1[i]) + …, where g_r is rank r's
/// buffer from element (this rank) * elements on, widened to the dtype of
/// `output`, which is a whole state. `elements` is per rank.
struct ReduceScatterCommand {
  BufferReference buffer;
  Dtype dtype = Dtype::F32;
  int64_t elements = 0;
  BufferReference output;

  bool operator==(const ReduceScatterCommand &) const = default;
};

/// Sums `buffer` over the ranks, in place and in rank order. With
/// `doubleDouble` the elements are pairs (high, low) of f64 that stand for
/// their exact sum; `elements` counts f64 values, two a pair.
struct AllReduceCommand {
  BufferReference buffer;
  Dtype dtype = Dtype::F32;
  int64_t elements = 0;
  bool doubleDouble = false;

  bool operator==(const AllReduceCommand &) const = default;
};

/// Copies source.bytes == target.bytes bytes between ranges that do not
/// overlap.
struct CopyCommand {
  BufferReference source;
  BufferReference target;

  bool operator==(const CopyCommand &) const = default;
};

/// Sets every byte of `target`.
struct FillCommand {
  BufferReference target;
  uint8_t byte = 0;

  bool operator==(const FillCommand &) const = default;
};

using Action = std::variant<LaunchCommand, LibraryCommand, AllGatherCommand,
                            ReduceScatterCommand, AllReduceCommand, CopyCommand,
                            FillCommand>;

enum class Section { Begin, MicroBatch, Update };

/// One action on a stream. It starts after the earlier commands of its stream
/// and after the events in `waits`; it records at most one event. `module` is
/// the module path it came from and `label` what it does, for people.
struct Command {
  Section section = Section::MicroBatch;
  int64_t stream = 0;
  std::vector<int64_t> waits;
  std::optional<int64_t> records;
  std::string module;
  std::string label;
  Action action;

  bool operator==(const Command &) const = default;
};

enum class ScalarKind { LearningRate, GradientScale, BiasCorrection };

/// A number that the runtime recomputes each step in double and stores as
/// `dtype` (f32, or f64 for an f64 model). LearningRate: --lr. GradientScale:
/// 1 / (world size * micro-batches). BiasCorrection: 1 - beta^step, step
/// counted from 1.
struct Scalar {
  ScalarKind kind = ScalarKind::LearningRate;
  Dtype dtype = Dtype::F32;
  double beta = 0;

  bool operator==(const Scalar &) const = default;
};

struct Program {
  int64_t arenaBytes = 0;
  std::vector<std::string> streams;
  int64_t eventCount = 0;
  std::vector<Scalar> scalars;
  std::vector<KernelSignature> kernels;
  std::vector<Command> commands;

  bool operator==(const Program &) const = default;
};

/// Row-major strides, in elements, of a tensor without gaps.
std::vector<int64_t> contiguousStrides(const std::vector<int64_t> &shape);

/// The number of elements of a shape; 1 for rank 0.
int64_t elementCount(const std::vector<int64_t> &shape);

/// The name of a command's kind in program.json, such as "all_gather".
std::string commandKind(const Action &action);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_PROGRAM_H
