//===- KernelLibrary.h - the machine code of an artifact --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Loads the entry kernels.so from memory, without a file that somebody could
// exchange between the check of its digest and its use.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_EXECUTOR_KERNELLIBRARY_H
#define SHARDC_RUNTIME_EXECUTOR_KERNELLIBRARY_H

#include "runtime/format/Bytes.h"
#include "runtime/format/Status.h"

#include <memory>
#include <string>

namespace shardc::runtime {

/// The binary interface of a kernel: iterations [begin, end) on the operands.
using Kernel = void (*)(void *const *operands, int64_t begin, int64_t end);

/// A loaded shared object, shared by the ranks of a process. Thread-safe.
class KernelLibrary {
public:
  /// Loads `image`, whose digest was checked; it may be empty, and then has no
  /// kernels. Fails with E0310.
  static StatusOr<std::unique_ptr<KernelLibrary>> load(format::Bytes image);

  ~KernelLibrary();
  KernelLibrary(const KernelLibrary &) = delete;
  KernelLibrary &operator=(const KernelLibrary &) = delete;

  /// The kernel of this name; fails with E0310.
  StatusOr<Kernel> find(const std::string &name) const;

private:
  explicit KernelLibrary(void *handle) : handle(handle) {}
  void *handle;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXECUTOR_KERNELLIBRARY_H
