//===- KernelLibrary.cpp - The machine code of an artifact ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// memfd_create, write, dlopen of the descriptor.
//===----------------------------------------------------------------------===//

#include "runtime/device/KernelLibrary.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace shardc::runtime {

static Status failure(const std::string &reason) {
  return Status(ErrorCode::E0310, "kernels cannot be loaded: " + reason);
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

/// Gives `image` to the dynamic linker; none for an empty one.
static StatusOr<void *> open(format::Bytes image) {
  if (image.empty())
    return static_cast<void *>(nullptr);
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
  return handle;
}

StatusOr<std::unique_ptr<KernelLibrary>>
KernelLibrary::load(format::Bytes image,
                    const std::vector<format::KernelSignature> &kernels,
                    const std::string &entry) {
  StatusOr<void *> handle = open(image);
  if (!handle.ok())
    return handle.status();
  std::unique_ptr<KernelLibrary> library(new KernelLibrary(*handle, entry));
  for (const format::KernelSignature &signature : kernels)
    if (Status status = library->add(signature); !status.ok())
      return status;
  return library;
}

KernelLibrary::~KernelLibrary() {
  if (handle)
    dlclose(handle);
}

Status KernelLibrary::add(const format::KernelSignature &signature) {
  const std::string &name = signature.name;
  void *const symbol = handle ? dlsym(handle, name.c_str()) : nullptr;
  if (!symbol)
    return Status(ErrorCode::E0310, entry + " has no kernel '" + name + "'");
  const auto *const compiled =
      static_cast<const char *>(dlsym(handle, (name + ".signature").c_str()));
  if (!compiled)
    return Status(ErrorCode::E0310,
                  entry + " has no signature of kernel '" + name + "'");
  if (const std::string text = format::signatureText(signature);
      text != compiled)
    return Status(ErrorCode::E0310,
                  "kernel '" + name + "' was compiled for another signature")
        .addNote("program.json has '" + text + "', " + entry + " '" +
                 std::string(compiled) + "'");
  kernels.emplace(name, Loaded{symbol, signature});
  return Status();
}

StatusOr<void *> KernelLibrary::symbol(const std::string &name) const {
  const auto found = kernels.find(name);
  if (found == kernels.end())
    return Status(ErrorCode::E0310, "no kernel '" + name + "' was loaded");
  return found->second.symbol;
}

const format::KernelSignature *
KernelLibrary::signature(const std::string &name) const {
  const auto found = kernels.find(name);
  return found == kernels.end() ? nullptr : &found->second.signature;
}

StatusOr<Kernel> KernelLibrary::find(const std::string &name) const {
  StatusOr<void *> found = symbol(name);
  if (!found.ok())
    return found.status();
  return reinterpret_cast<Kernel>(*found);
}

StatusOr<GpuKernel>
KernelLibrary::findOfThreads(const std::string &name) const {
  StatusOr<void *> found = symbol(name);
  if (!found.ok())
    return found.status();
  return reinterpret_cast<GpuKernel>(*found);
}

StatusOr<std::unique_ptr<KernelLibrary>>
KernelLibrary::load(const format::Artifact &artifact, bool emulated) {
  StatusOr<format::Bytes> code = format::hostCode(artifact, emulated);
  if (!code.ok())
    return code.status();
  const bool ofThreads = artifact.manifest.target.isGpu();
  StatusOr<std::unique_ptr<KernelLibrary>> library =
      load(*code, artifact.program.kernels,
           ofThreads ? "kernels.emulated.so" : "kernels.so");
  if (library.ok())
    (*library)->ofThreads = ofThreads;
  return library;
}

} // namespace shardc::runtime
