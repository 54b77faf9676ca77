//===- KernelLibrary.h - The machine code of an artifact ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Loads a shared object of kernels from memory, without a file that somebody
// could exchange between the check of its digest and its use.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DEVICE_KERNELLIBRARY_H
#define SHARDC_RUNTIME_DEVICE_KERNELLIBRARY_H

#include "runtime/device/GpuThread.h"
#include "runtime/format/Artifact.h"

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
  /// Loads `image`, the artifact's entry of that name, whose digest was
  /// checked, and finds the kernels of a program in it; it may be empty if
  /// there are none. Fails with E0310, also for a kernel that was compiled for
  /// another signature: the program's says what launches may touch, the code's
  /// what they do touch.
  static StatusOr<std::unique_ptr<KernelLibrary>>
  load(format::Bytes image, const std::vector<format::KernelSignature> &kernels,
       const std::string &entry = "kernels.so");

  /// The kernels of `artifact` for this machine or, with `emulated`, for the
  /// emulator of a GPU's threads. Fails with E0308 or E0310.
  static StatusOr<std::unique_ptr<KernelLibrary>>
  load(const format::Artifact &artifact, bool emulated);

  ~KernelLibrary();
  KernelLibrary(const KernelLibrary &) = delete;
  KernelLibrary &operator=(const KernelLibrary &) = delete;

  /// The kernel of this name; fails with E0310 if it was not one of those that
  /// were loaded.
  StatusOr<Kernel> find(const std::string &name) const;

  /// The same for kernels that emulated threads run, and whether these are.
  StatusOr<GpuKernel> findOfThreads(const std::string &name) const;
  bool isOfThreads() const { return ofThreads; }

  /// What the kernel of this name was loaded with; null for another one.
  const format::KernelSignature *signature(const std::string &name) const;

private:
  KernelLibrary(void *handle, const std::string &entry)
      : handle(handle), entry(entry) {}
  Status add(const format::KernelSignature &signature);

  StatusOr<void *> symbol(const std::string &name) const;

  void *handle;
  const std::string entry;
  bool ofThreads = false;
  struct Loaded {
    void *symbol;
    format::KernelSignature signature;
  };
  std::unordered_map<std::string, Loaded> kernels;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_KERNELLIBRARY_H
