//===- Plugins.cpp - Shared objects that shardrun opens -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Finding, opening, and the check of versions.
//===----------------------------------------------------------------------===//

#include "runtime/session/Plugins.h"

#include <dlfcn.h>

#include <filesystem>

namespace shardc::runtime {

/// Empty if it is neither beside the program nor in ../lib.
static std::filesystem::path find(const std::string &file) {
  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const std::filesystem::path &candidate :
       {folder / file, folder / ".." / "lib" / file})
    if (std::filesystem::exists(candidate, error))
      return candidate;
  return {};
}

StatusOr<const void *> openPlugin(const std::string &file,
                                  const char *entryPoint, ErrorCode code) {
  const std::filesystem::path path = find(file);
  if (path.empty())
    return static_cast<const void *>(nullptr);
  void *const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const void *const entry = handle ? dlsym(handle, entryPoint) : nullptr;
  if (!entry)
    return Status(code, "plug-in '" + path.string() +
                            "' cannot be opened: " + std::string(dlerror()));
  const std::string version = *static_cast<const char *const *>(entry);
  if (version != SHARDC_VERSION)
    return Status(code, "'" + path.string() + "' is of version " + version +
                            ", expected " + SHARDC_VERSION);
  return entry;
}

} // namespace shardc::runtime
