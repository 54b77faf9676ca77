//===- LibraryCalls.h - Which library calls there are ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The one table of library calls: how many operands and results each has, which
// layouts and dtypes they may have, how they fit together, what they cost and
// the memory that they work in. The compiler selects and arranges by it, the
// validator refuses by it, and the build and a test hold that every call has an
// implementation and a meaning. docs/Format.md describes what each computes.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_LIBRARYCALLS_H
#define SHARDC_RUNTIME_FORMAT_LIBRARYCALLS_H

#include "runtime/format/Program.h"
#include "runtime/format/Status.h"
#include "runtime/format/Work.h"

#include <limits>
#include <span>
#include <string_view>

namespace shardc::format {

class LibraryCallCheck;

enum class CallId {
#define SHARDC_LIBRARY_CALL(id, name) id,
#include "runtime/format/LibraryCalls.def"
};

/// Its name in programs, such as "matmul".
constexpr std::string_view nameOf(CallId id) {
  constexpr std::string_view names[] = {
#define SHARDC_LIBRARY_CALL(id, name) name,
#include "runtime/format/LibraryCalls.def"
  };
  return names[static_cast<size_t>(id)];
}

/// Whether only processors have it, not GPUs.
constexpr bool isForProcessors(CallId id) {
  constexpr bool are[] = {
#define SHARDC_LIBRARY_CALL(id, name) false,
#define SHARDC_PROCESSOR_CALL(id, name) true,
#include "runtime/format/LibraryCalls.def"
  };
  return are[static_cast<size_t>(id)];
}

/// Which tensors a call takes by their strides, which are in elements. Along a
/// dimension of size 1 any stride will do.
struct LibraryLayout {
  bool (*accepts)(Dtype dtype, std::span<const int64_t> shape,
                  std::span<const int64_t> strides);
  /// Completes "expected".
  std::string_view text;
};

extern const LibraryLayout contiguousLayout, imageLayout, matrixLayout,
    headLayout;

/// One library call.
struct LibraryCallKind {
  CallId id;
  /// Operands are counted with the optional last ones.
  size_t minOperands, maxOperands, results;
  const LibraryLayout &layout;
  /// How operands, results and attributes fit together.
  void (*check)(LibraryCallCheck &);
  /// Whether tensors may have no elements: a rank's shard may be empty.
  bool mayBeEmpty = false;
  /// What most of its work is.
  WorkKind work = WorkKind::Memory;
  /// Its floating-point operations; null for one that moves bytes.
  int64_t (*countOperations)(const Command &) = nullptr;
  /// Whether it computes gradients.
  bool isBackward = false;
  /// Operations in f64, as kernels have them, on an element of its operands.
  int64_t f64OperationsOfElement = 0;
  /// Bytes that the runtime's own kernels for GPUs work in; null for none.
  int64_t (*kernelBytes)(const Command &) = nullptr;
  /// The most that NVIDIA's library gets to work in; 0 if none has the call.
  int64_t maxLibraryBytes = 0;

  std::string_view name() const { return nameOf(id); }
};

/// Of LibraryCallKind::maxOperands.
inline constexpr size_t anyNumberOfOperands =
    std::numeric_limits<size_t>::max();

/// Whether a tensor [N, C, …] of three or more dimensions is stored without
/// gaps in the order N, …, C.
bool isChannelsLast(std::span<const int64_t> shape,
                    std::span<const int64_t> strides);

/// All library calls, sorted by name.
std::span<const LibraryCallKind *const> libraryCallKinds();

/// The call of that name, or null.
const LibraryCallKind *findLibraryCall(std::string_view name);

/// Whether `command`, a library call, is the call `id`.
inline bool isCall(const Command &command, CallId id) {
  return command.callee == nameOf(id);
}

/// Whether tensors of `dtype` may be operands and results of library calls.
bool isLibraryDtype(Dtype dtype);

/// Fails with E0309 if the call of `command` is unknown or its operands,
/// results and attributes do not fit together. Byte ranges are not looked at.
Status checkLibraryCall(const Command &command);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_LIBRARYCALLS_H
