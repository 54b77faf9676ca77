//===- Work.h - What a command moves and computes -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The one account of bytes and operations of a program's commands: profile,
// `shardc inspect`, rooflines and the planner's simulator read it. Operands
// count once and whole; where a kernel reads an element twice, caches are
// expected to keep it.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_WORK_H
#define SHARDC_RUNTIME_FORMAT_WORK_H

#include "runtime/format/Program.h"

#include <cstdint>

namespace shardc::format {

/// What does most of the work of a command, and so says which rates it reaches.
enum class WorkKind {
  /// Reads and writes memory: kernels, copies, sorts.
  Memory,
  Product,
  Convolution,
  Attention,
  /// Small dense factorizations, of processors.
  Factorization,
  Collective
};

/// What one command does once, on one rank.
struct Work {
  WorkKind kind = WorkKind::Memory;
  /// Whether a call computes gradients.
  bool isBackward = false;
  /// Of this rank's memory.
  int64_t readBytes = 0;
  int64_t writtenBytes = 0;
  /// That this rank gets from others in a collective: parts of gathered
  /// tensors, and parts of sums.
  int64_t receivedBytes = 0;
  /// Floating-point operations of a call, in `dtype`; a multiply-add is two.
  int64_t callOperations = 0;
  /// Those of them that a causal mask makes unnecessary.
  int64_t hiddenOperations = 0;
  Dtype dtype = Dtype::F32;
  /// Equal independent computations that a call consists of, such as a
  /// convolution's groups: what it reaches depends on the size of one.
  int64_t groups = 1;
  /// Whether each channel is one: a convolution that moves bytes.
  bool isDepthwise = false;
  /// Those of a kernel, by the precision that they are computed in.
  int64_t f32Operations = 0;
  int64_t f64Operations = 0;

  int64_t movedBytes() const { return readBytes + writtenBytes; }

  bool operator==(const Work &) const = default;
};

/// The work of `command`, which is valid, of `program` on `mesh`.
Work workOf(const Command &command, const Program &program, const Mesh &mesh);

/// The work of a launch of `kernel` with its greatest extent.
Work workOf(const KernelSignature &kernel);

/// How often a command runs in a training step of `microBatches`.
int64_t countRuns(const Command &command, const Program &program,
                  int64_t microBatches);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_WORK_H
