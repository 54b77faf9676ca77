//===- KernelLibrary.h - the machine code of an artifact --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Loads the entry kernels.so from memory, without a file that somebody could
// exchange between the check of its digest and its use.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DEVICE_KERNELLIBRARY_H
#define SHARDC_RUNTIME_DEVICE_KERNELLIBRARY_H

#include "runtime/format/Bytes.h"
#include "runtime/format/Program.h"
#include "runtime/format/Status.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace shardc::runtime {

/// The binary interface of a kernel: iterations [begin, end) on the operands.
using Kernel = void (*)(void *const *operands, int64_t begin, int64_t end);

/// A loaded shared object, shared by the ranks of a process. Thread-safe.
class KernelLibrary {
public:
  /// Loads `image`, whose digest was checked, and finds the kernels of a
  /// program in it; it may be empty if there are none. Fails with E0310, also
  /// for a kernel that was compiled for another signature: the program's says
  /// what launches may touch, the code's what they do touch.
  static StatusOr<std::unique_ptr<KernelLibrary>>
  load(format::Bytes image,
       const std::vector<format::KernelSignature> &kernels);

  ~KernelLibrary();
  KernelLibrary(const KernelLibrary &) = delete;
  KernelLibrary &operator=(const KernelLibrary &) = delete;

  /// The kernel of this name; fails with E0310 if it was not one of those that
  /// were loaded.
  StatusOr<Kernel> find(const std::string &name) const;

private:
  explicit KernelLibrary(void *handle) : handle(handle) {}
  Status add(const format::KernelSignature &signature);

  void *handle;
  std::unordered_map<std::string, Kernel> kernels;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_KERNELLIBRARY_H
