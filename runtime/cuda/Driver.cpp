//===- Driver.cpp - The functions of the CUDA driver ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Opening the library and putting its failures into words.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Driver.h"

#include <dlfcn.h>

#include <cstdlib>

namespace shardc::runtime {

/// The toolkit's folder is not always among those of the system.
StatusOr<void *> openLibrary(const std::string &name) {
  if (void *const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))
    return handle;
  Status status(ErrorCode::E0507,
                "'" + name + "' cannot be opened: " + dlerror());
  const char *const toolkit = std::getenv("CUDA_HOME");
  const std::string path =
      std::string(toolkit ? toolkit : "/usr/local/cuda") + "/lib64/" + name;
  if (void *const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
    return handle;
  return status;
}

std::string versionText(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

// cuda.h renames functions to their latest version; the names below are
// expanded before they become text.
#define SHARDC_CUDA_TEXT(name) #name
#define SHARDC_CUDA_SYMBOL(name) SHARDC_CUDA_TEXT(name)

static Status findFunctions(void *library, Driver &driver) {
#define SHARDC_CUDA_FIND(name)                                                 \
  driver.name = reinterpret_cast<decltype(driver.name)>(                       \
      dlsym(library, SHARDC_CUDA_SYMBOL(cu##name)));                           \
  if (!driver.name)                                                            \
    return Status(ErrorCode::E0507, "the GPU's driver is too old: it has no "  \
                                    "function " SHARDC_CUDA_SYMBOL(cu##name));
  SHARDC_CUDA_FUNCTIONS(SHARDC_CUDA_FIND)
#undef SHARDC_CUDA_FIND
  return Status();
}

static Status initialize(Driver &driver) {
  const StatusOr<void *> library = openLibrary("libcuda.so.1");
  if (!library.ok())
    return Status(ErrorCode::E0507, "there is no driver for NVIDIA GPUs")
        .addNote(library.status().message())
        .setHelp(
            "install the driver, or compile for --target cuda:emulated and "
            "run with --device emulated");
  if (Status status = findFunctions(*library, driver); !status.ok())
    return status;
  if (const CUresult result = driver.Init(0); result != CUDA_SUCCESS)
    return Status(ErrorCode::E0507, "the GPU's driver cannot be used")
        .addNote(driver.check(result, "cuInit").message());
  int version = 0;
  if (Status status =
          driver.check(driver.DriverGetVersion(&version), "cuDriverGetVersion");
      !status.ok())
    return status;
  if (version < CUDA_VERSION / 1000 * 1000)
    return Status(ErrorCode::E0507,
                  "the GPU's driver is for CUDA " + versionText(version) +
                      ", expected " + versionText(CUDA_VERSION / 1000 * 1000) +
                      " or later");
  return Status();
}

StatusOr<const Driver *> Driver::load() {
  static Driver driver;
  static const Status status = initialize(driver);
  if (!status.ok())
    return status;
  return &driver;
}

Status Driver::check(CUresult result, const char *function) const {
  if (result == CUDA_SUCCESS)
    return Status();
  const char *name = nullptr, *words = nullptr;
  GetErrorName(result, &name);
  GetErrorString(result, &words);
  return Status(
      result == CUDA_ERROR_OUT_OF_MEMORY ? ErrorCode::E0503 : ErrorCode::E0508,
      std::string(function) + ": " + (words ? words : "unknown error") + " (" +
          (name ? name : std::to_string(result)) + ")");
}

} // namespace shardc::runtime
