//===- Program.h - The commands that one rank runs each step --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The in-memory form of `program.json`: a flat list of commands with explicit
// buffers, streams and events, the same for every rank. A step runs sections of
// it, one after the other, once or for micro-batches. docs/Format.md is the
// specification; ProgramJson.cpp maps each member to its JSON name.
//
// Plain data: the compiler fills it in, the writer, the validator and the
// executors read it. Copies are deep.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_PROGRAM_H
#define SHARDC_RUNTIME_FORMAT_PROGRAM_H

#include "runtime/format/Attributes.h"
#include "runtime/format/Dtype.h"
#include "runtime/format/Mesh.h"
#include "runtime/format/Parameters.h"
#include "runtime/format/Sections.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::format {

/// Where bytes live. Arena: one allocation of Program::arenaBytes per rank.
/// State: Parameters::states. Input: Parameters::inputs of the running
/// micro-batch. Scalar: Program::scalars.
enum class Space { Arena, State, Input, Scalar };

/// The names of spaces in program.json.
inline constexpr std::array<std::string_view, 4> spaceNames = {
    "arena", "state", "input", "scalar"};
inline std::string spaceName(Space space) {
  return std::string(spaceNames[static_cast<size_t>(space)]);
}

/// A byte range of a space. `index` selects the state, input or scalar and is
/// zero for the arena; `offset` counts from its start. A rank's range begins
/// behind it by its coordinates times rankStrides: it names its own slot of a
/// gathered buffer this way.
struct BufferReference {
  Space space = Space::Arena;
  int64_t index = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
  AxisStrides rankStrides = {};

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

/// The names in program.json.
inline constexpr std::array<std::string_view, 3> accessNames = {"read", "write",
                                                                "read_write"};

/// What a kernel does with the pointer of one operand: it touches `bytes`
/// bytes from there on and no others, and relies on an address that is a
/// multiple of `alignment`. What it writes is no other operand's.
struct KernelOperand {
  int64_t bytes = 0;
  int64_t alignment = 1;
  Access access = Access::Read;

  bool operator==(const KernelOperand &) const = default;
};

/// What a kernel can be called with: iterations below `extent`, and these
/// operands. On a GPU an iteration is a block of `threads` that share
/// `sharedBytes` of memory; on a processor it is one thread's. Floating-point
/// operations are those of a launch with the greatest extent, for cost models:
/// execution does not depend on them.
struct KernelSignature {
  std::string name;
  int64_t extent = 0;
  std::vector<KernelOperand> operands;
  int64_t threads = 1;
  int64_t sharedBytes = 0;
  int64_t f32Operations = 0;
  int64_t f64Operations = 0;

  bool operator==(const KernelSignature &) const = default;
};

/// The signature without the name, as kernels.so repeats it in the symbol
/// `NAME.signature`: the greatest extent, then bytes, alignment and access (r,
/// w or rw) of each operand: "12;1024:4:r;512:4:rw"; of a GPU's kernel the
/// extent is followed by threads and shared bytes, "12x256+1024".
std::string signatureText(const KernelSignature &signature);

/// The kinds of commands; CommandKinds.h says what each is.
enum class CommandKind {
  Launch,
  Call,
  AllGather,
  ReduceScatter,
  AllReduce,
  Copy,
  Fill
};

/// One command on a stream. It starts after the earlier commands of its stream
/// and after the events in `waits`; it records at most one event. `module` is
/// the module path it came from and `label` what it does, for people.
struct Command {
  CommandKind kind = CommandKind::Fill;
  /// Into Program::sections.
  int64_t section = 0;
  int64_t stream = 0;
  std::vector<int64_t> waits;
  std::optional<int64_t> records;
  std::string module;
  std::string label;
  /// The kernel that is launched or the library call that is called; empty for
  /// the other kinds.
  std::string callee;
  /// In the order of the kernel's pointers, of the call's operands and results,
  /// or of the kind's operands.
  std::vector<TensorReference> operands;
  Attributes attributes;
  /// Working memory of a library call on a GPU (CallWorkspace.h), whose content
  /// is undefined before and after it.
  std::optional<BufferReference> workspace = {};

  bool operator==(const Command &) const = default;
};

/// A number that the run gives; `ScalarValues` says which.
enum class Scalar {
  LearningRate,
  MicroBatches,
  WeightDecayScale,
  Seed,
  Step,
  Slice,
  Shard,
  Ranks,
  MicroBatch
};

/// The names of scalars in program.json.
inline constexpr std::array<std::string_view, 9> scalarNames = {
    "learning_rate", "micro_batches", "weight_decay_scale",
    "seed",          "step",          "slice",
    "shard",         "ranks",         "micro_batch"};

/// The first three are f64, the others i64.
constexpr Dtype dtypeOf(Scalar scalar) {
  return scalar < Scalar::Seed ? Dtype::F64 : Dtype::I64;
}

/// What a run gives to the scalars of one rank.
struct ScalarValues {
  double learningRate = 0;
  /// Of each rank in a step.
  int64_t microBatches = 1;
  uint64_t seed = 0;
  /// Counted from 0.
  int64_t step = 0;
  /// Which of the step's slices of samples the running micro-batch is
  /// (runtime/session/SampleOrder.h); of sections that run for micro-batches.
  int64_t slice = 0;
  /// The number of the running micro-batch on this rank, from 0.
  int64_t microBatch = 0;
  /// What weight decays are multiplied by.
  double weightDecayScale = 1;
  /// The number of this rank's shards, and of all ranks; RankMemory knows them.
  int64_t shard = 0;
  int64_t ranks = 1;
};

/// The bytes of one scalar.
std::array<std::byte, 8> bytesOf(Scalar scalar, const ScalarValues &values);

/// Who takes part in a collective: ranks that differ on `axes` of the mesh
/// alone. All collectives of a communicator are on its stream.
struct CommunicatorShape {
  std::vector<int64_t> axes;
  int64_t stream = 0;

  bool operator==(const CommunicatorShape &) const = default;
};

struct Program {
  int64_t arenaBytes = 0;
  std::vector<std::string> streams;
  std::vector<CommunicatorShape> communicators;
  int64_t eventCount = 0;
  std::vector<Scalar> scalars;
  /// In the order in which runs take them.
  std::vector<Section> sections;
  std::vector<KernelSignature> kernels;
  std::vector<Command> commands;

  bool operator==(const Program &) const = default;
};

/// What is wrong with a signature of a processor's kernel or of a GPU's; empty
/// when nothing is.
std::string checkSignature(const KernelSignature &kernel, bool isCpu);

/// What is wrong with how a command reads scalars: in another dtype than
/// theirs, or `slice` or `micro_batch` outside of micro-batches. Empty when
/// nothing is.
std::string checkScalars(const Program &program, const Command &command);

/// What is wrong with the sections: two have one name, a kind of run does not
/// take each micro-batch once and in order, a condition is no state of one
/// bool, or an evaluation changes a state that is no metric. Empty when nothing
/// is. Commands have operands of their kinds.
std::string checkSections(const Program &program,
                          const std::vector<State> &states);

/// Row-major strides, in elements, of a tensor without gaps.
std::vector<int64_t> contiguousStrides(const std::vector<int64_t> &shape);

/// The number of elements of a shape; 1 for rank 0.
int64_t elementCount(const std::vector<int64_t> &shape);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_PROGRAM_H
