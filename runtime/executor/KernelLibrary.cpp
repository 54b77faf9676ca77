//===- KernelLibrary.cpp - the machine code of an artifact ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// memfd_create, write, dlopen of the descriptor.
//
//===----------------------------------------------------------------------===//

#include "runtime/executor/KernelLibrary.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace shardc::runtime {

static Status failure(const std::string &reason) {
  return Status(ErrorCode::E0310, "kernels.so cannot be loaded: " + reason);
}

static bool writeAll(int descriptor, format::Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR)
      return false;
    if (written > 0)
      bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

StatusOr<std::unique_ptr<KernelLibrary>>
KernelLibrary::load(format::Bytes image) {
  if (image.empty())
    return std::unique_ptr<KernelLibrary>(new KernelLibrary(nullptr));
  const int descriptor = memfd_create("shardc-kernels", MFD_CLOEXEC);
  if (descriptor < 0)
    return failure(std::strerror(errno));
  if (!writeAll(descriptor, image)) {
    const std::string reason = std::strerror(errno);
    close(descriptor);
    return failure(reason);
  }
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  void *const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char *const error = handle ? nullptr : dlerror();
  close(descriptor);
  if (!handle)
    return failure(error ? error : "unknown reason");
  return std::unique_ptr<KernelLibrary>(new KernelLibrary(handle));
}

KernelLibrary::~KernelLibrary() {
  if (handle)
    dlclose(handle);
}

StatusOr<Kernel> KernelLibrary::find(const std::string &name) const {
  void *const symbol = handle ? dlsym(handle, name.c_str()) : nullptr;
  if (!symbol)
    return Status(ErrorCode::E0310, "kernels.so has no kernel '" + name + "'");
  return reinterpret_cast<Kernel>(symbol);
}

} // namespace shardc::runtime
