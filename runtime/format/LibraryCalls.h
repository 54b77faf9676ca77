//===- LibraryCalls.h - Which library calls there are ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The one table of library calls: how many operands and results each has, which
// layouts and dtypes they may have, and how they fit together. The compiler
// selects and arranges by it, the validator refuses by it, and a test holds
// that every call has an implementation and a meaning. docs/Format.md describes
// what each computes; runtime/cpu does it.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_LIBRARYCALLS_H
#define SHARDC_RUNTIME_FORMAT_LIBRARYCALLS_H

#include "runtime/format/Program.h"
#include "runtime/format/Status.h"
#include "runtime/format/Work.h"

#include <span>
#include <string_view>

namespace shardc::format {

class LibraryCallCheck;

/// Which tensors a call takes by their strides, which are in elements. Along a
/// dimension of size 1 any stride will do.
struct LibraryLayout {
  bool (*accepts)(Dtype dtype, std::span<const int64_t> shape,
                  std::span<const int64_t> strides);
  /// Completes "expected".
  std::string_view text;
};

/// One library call.
struct LibraryCallKind {
  std::string_view name;
  /// Operands are counted with the optional last ones.
  size_t leastOperands, mostOperands, results;
  const LibraryLayout &layout;
  /// Whether tensors may have no elements: a rank's shard may be empty.
  bool mayBeEmpty;
  /// How operands, results and attributes fit together.
  void (*check)(LibraryCallCheck &);
  /// Whether it exists on processors alone, not on GPUs.
  bool isForProcessors = false;
  /// What most of its work is.
  WorkKind work = WorkKind::Memory;
  /// Its floating-point operations; null for one that moves bytes.
  int64_t (*countOperations)(const Command &) = nullptr;
  /// Operations in f64, as kernels have them, on an element of its operands.
  int64_t f64OperationsOfElement = 0;
};

/// Whether a tensor [N, C, …] of three or more dimensions is stored without
/// gaps in the order N, …, C.
bool isChannelsLast(std::span<const int64_t> shape,
                    std::span<const int64_t> strides);

/// All library calls, sorted by name.
std::span<const LibraryCallKind> libraryCallKinds();

/// The call of that name, or null.
const LibraryCallKind *findLibraryCall(std::string_view name);

/// Whether tensors of `dtype` may be operands and results of library calls.
bool isLibraryDtype(Dtype dtype);

/// Fails with E0309 if the call of `command` is unknown or its operands,
/// results and attributes do not fit together. Byte ranges are not looked at.
Status checkLibraryCall(const Command &command);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_LIBRARYCALLS_H
