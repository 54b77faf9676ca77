//===- LibraryCall.h - A library call ready to run ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The coarse operations of a program: matrix products, convolutions,
// attention, and a few reductions and scatters. Everything that depends on
// shapes and addresses alone (oneDNN's primitives, how work is cut into parts)
// is decided once, by prepareLibraryCall; running one is cheap.
//
// A call gives the same bits on any number of threads: its parts follow from
// shapes alone, each part runs on one thread, and where parts contribute to
// the same result they are combined in the order of the parts.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_LIBRARYCALL_H
#define SHARDC_RUNTIME_CPU_LIBRARYCALL_H

#include "runtime/cpu/WorkerPool.h"
#include "runtime/format/Program.h"
#include "runtime/format/Status.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace shardc::runtime {

/// A tensor at a fixed address; strides are in elements and always present.
struct TensorView {
  std::byte *data = nullptr;
  format::Dtype dtype = format::Dtype::F32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;

  int64_t elements() const { return format::elementCount(shape); }
  template <typename T>
  T *as() const {
    return reinterpret_cast<T *>(data);
  }
};

/// Bytes of working memory: `shared` once for a call, `perWorker` once for
/// every thread. `owned` is memory that the call itself holds beyond that.
struct ScratchNeed {
  size_t shared = 0;
  size_t perWorker = 0;
  size_t owned = 0;
};

/// Working memory that the calls of a rank take turns to use; aligned to 64.
class Scratch {
public:
  Scratch() = default;
  Scratch(std::byte *base, ScratchNeed need) : base(base), need(need) {}

  std::byte *shared() const { return base; }
  std::byte *worker(int index) const {
    return base + need.shared + need.perWorker * static_cast<size_t>(index);
  }

private:
  std::byte *base = nullptr;
  ScratchNeed need;
};

/// The next multiple of the alignment of scratch memory.
inline size_t alignScratch(size_t bytes) { return (bytes + 63) / 64 * 64; }

/// A prepared call. `run` may be called again and again by the rank's own
/// thread; it reads the operands and overwrites the results. Data that the
/// call cannot accept, such as an index out of range, fails with E0504.
class LibraryCall {
public:
  virtual ~LibraryCall() = default;

  virtual ScratchNeed scratchNeed() const { return {}; }
  virtual Status run(WorkerPool &workers, const Scratch &scratch) = 0;
};

/// A command that passed checkLibraryCall, with its tensors at their addresses.
struct LibraryCallArguments {
  const format::Attributes &attributes;
  std::vector<TensorView> operands;
  std::vector<TensorView> results;
};

using LibraryCallOr = StatusOr<std::unique_ptr<LibraryCall>>;

/// Prepares a call; `tensors` are the command's operands. Fails with E0504 if a
/// library refuses.
LibraryCallOr prepareLibraryCall(const format::Command &command,
                                 std::vector<TensorView> tensors);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_LIBRARYCALL_H
