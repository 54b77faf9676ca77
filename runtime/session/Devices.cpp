//===- Devices.cpp - What a run trains on ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The choice, and opening the plug-in for GPUs.
//===----------------------------------------------------------------------===//

#include "runtime/session/Devices.h"

#include "runtime/device/EmulatedDevice.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

namespace shardc::runtime {

/// The plug-in's file: beside the program or in ../lib. Empty if neither is.
static std::filesystem::path findPlugin() {
  constexpr char name[] = "libshardc-cuda.so";
  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const std::filesystem::path &candidate :
       {folder / name, folder / ".." / "lib" / name})
    if (std::filesystem::exists(candidate, error))
      return candidate;
  return {};
}

/// The devices of all ranks on one GPU. Fails with E0507 if there is no
/// plug-in, or as the plug-in does. It stays open until the process ends:
/// objects of its classes may live on.
static StatusOr<std::unique_ptr<DeviceMaker>>
openCuda(const format::Artifact &artifact, const CudaOptions &options) {
  const std::filesystem::path path = findPlugin();
  if (path.empty())
    return Status(ErrorCode::E0507,
                  "the artifact is for GPUs, and this shardrun has no plug-in "
                  "for CUDA, libshardc-cuda.so beside it or in ../lib")
        .setHelp("build shardc where a CUDA toolkit is installed, or try "
                 "--device emulated");
  void *const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto *plugin =
      handle ? static_cast<const CudaPlugin *>(dlsym(handle, cudaEntryPoint))
             : nullptr;
  if (!plugin)
    return Status(ErrorCode::E0507, "the plug-in for CUDA cannot be opened: " +
                                        std::string(dlerror()));
  if (std::string_view(plugin->version) != SHARDC_VERSION)
    return Status(ErrorCode::E0507, "'" + path.string() + "' is of version " +
                                        plugin->version + ", expected " +
                                        SHARDC_VERSION);
  StatusOr<std::unique_ptr<DeviceMaker>> result =
      Status(ErrorCode::E0507, "the CUDA plug-in returned no result");
  plugin->open(artifact, options, result);
  return result;
}

StatusOr<std::unique_ptr<DeviceMaker>>
openHostDevices(const format::Artifact &artifact,
                std::optional<uint64_t> emulated,
                const Cancellation &cancellation) {
  StatusOr<std::unique_ptr<KernelLibrary>> kernels =
      KernelLibrary::load(artifact, emulated.has_value());
  if (!kernels.ok())
    return kernels.status();
  if (emulated)
    return std::unique_ptr<DeviceMaker>(std::make_unique<EmulatedDeviceMaker>(
        std::move(*kernels), cancellation, *emulated));
  return std::unique_ptr<DeviceMaker>(
      std::make_unique<CpuDeviceMaker>(std::move(*kernels)));
}

StatusOr<std::unique_ptr<DeviceMaker>>
openDevices(const format::Artifact &artifact, const DeviceOptions &options,
            const Cancellation &cancellation) {
  const std::vector<std::string> &chips = artifact.manifest.target.chips;
  const bool hasGpu =
      std::any_of(chips.begin(), chips.end(),
                  [](const std::string &chip) { return chip != "emulated"; });
  if (!options.emulated && hasGpu)
    return openCuda(artifact, options.cuda);
  return openHostDevices(artifact, options.emulated, cancellation);
}

} // namespace shardc::runtime
