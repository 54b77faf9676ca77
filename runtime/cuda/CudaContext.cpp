//===- CudaContext.cpp - One GPU of this process --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Choosing the GPU and the code that runs on it.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CudaContext.h"

#include "runtime/cuda/kernels/DeviceKernelImage.h"
#include "runtime/format/GpuChips.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace shardc::runtime {

StatusOr<std::unique_ptr<CudaContext>>
CudaContext::create(const format::Artifact &artifact,
                    const CudaOptions &options) {
  const StatusOr<const Driver *> driver = Driver::load();
  if (!driver.ok())
    return driver.status();
  std::unique_ptr<CudaContext> context(
      new CudaContext(**driver, options, artifact));
  if (Status status = context->takeDevice(); !status.ok())
    return status;
  if (Status status = context->loadKernels(); !status.ok())
    return status;
  return context;
}

CudaContext::~CudaContext() {
  if (!context)
    return;
  driver.CtxSetCurrent(context);
  for (CUmodule module : modules)
    driver.ModuleUnload(module);
  driver.DevicePrimaryCtxRelease(device);
}

Status CudaContext::takeDevice() {
  int count = 0;
  if (Status status =
          driver.check(driver.DeviceGetCount(&count), "cuDeviceGetCount");
      !status.ok())
    return status;
  if (options.device < 0 || options.device >= count)
    return Status(ErrorCode::E0507,
                  "there is no GPU number " + std::to_string(options.device) +
                      "; the driver shows " + std::to_string(count))
        .setHelp("choose one with --device cuda:N; CUDA_VISIBLE_DEVICES hides "
                 "GPUs");
  std::array<char, 256> name = {};
  int major = 0, minor = 0, version = 0;
  for (const auto &[result, function] :
       {std::pair(driver.DeviceGet(&device, static_cast<int>(options.device)),
                  "cuDeviceGet"),
        std::pair(driver.DeviceGetName(name.data(), name.size() - 1, device),
                  "cuDeviceGetName"),
        std::pair(
            driver.DeviceGetAttribute(
                &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
            "cuDeviceGetAttribute"),
        std::pair(
            driver.DeviceGetAttribute(
                &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device),
            "cuDeviceGetAttribute"),
        std::pair(driver.DriverGetVersion(&version), "cuDriverGetVersion"),
        std::pair(driver.DevicePrimaryCtxRetain(&context, device),
                  "cuDevicePrimaryCtxRetain")})
    if (Status status = driver.check(result, function); !status.ok())
      return status;
  capability = major * 10 + minor;
  words = std::string(name.data()) + " (sm_" + std::to_string(capability) +
          "), driver for CUDA " + versionText(version);
  return makeCurrent();
}

Status CudaContext::makeCurrent() const {
  return driver.check(driver.CtxSetCurrent(context), "cuCtxSetCurrent");
}

namespace {
/// An entry of machine code: kernels.sm_90.cubin or kernels.sm_90.ptx.
struct CodeEntry {
  int capability;
  bool isPtx;
};
} // namespace

static std::optional<CodeEntry> parseEntry(std::string_view name) {
  constexpr std::string_view prefix = "kernels.sm_", ptx = ".ptx",
                             cubin = ".cubin";
  if (!name.starts_with(prefix))
    return std::nullopt;
  CodeEntry entry = {0, name.ends_with(ptx)};
  const char *const end = name.data() + name.size();
  const auto [rest, error] =
      std::from_chars(name.data() + prefix.size(), end, entry.capability);
  if (error != std::errc() ||
      std::string_view(rest, end) != (entry.isPtx ? ptx : cubin))
    return std::nullopt;
  return entry;
}

/// What has to be compiled for, to run on a GPU of this capability.
static std::string adviseTarget(int capability) {
  const auto &known = format::gpuCapabilities;
  const auto *const later =
      std::upper_bound(known.begin(), known.end(), capability);
  if (later == known.begin())
    return "shardc compiles for GPUs from sm_" + std::to_string(known.front()) +
           " on";
  const int nearest = *std::prev(later);
  std::string advice =
      "compile it with --target cuda:sm_" + std::to_string(nearest);
  if (nearest / 10 != capability / 10)
    return advice + " --format ptx, which the GPU's driver compiles";
  return nearest == capability ? advice
                               : advice + ", whose code this GPU runs too";
}

/// Machine code of a capability runs on its own and on later ones of the same
/// generation, PTX on all later ones. The nearest is the best, and machine code
/// better than PTX.
StatusOr<std::string> CudaContext::chooseEntry() const {
  std::string best;
  std::pair<int, bool> bestKey;
  for (const auto &[name, image] : artifact.code) {
    const std::optional<CodeEntry> entry = parseEntry(name);
    if (!entry || entry->capability > capability ||
        (!entry->isPtx && entry->capability / 10 != capability / 10))
      continue;
    const std::pair<int, bool> key(entry->capability, !entry->isPtx);
    if (best.empty() || key > bestKey) {
      best = name;
      bestKey = key;
    }
  }
  if (!best.empty())
    return best;
  std::string chips;
  for (const std::string &chip : artifact.manifest.target.chips)
    chips += (chips.empty() ? "" : ", ") + chip;
  return Status(ErrorCode::E0308,
                "the artifact has no code for " + words + ", only for " + chips)
      .setHelp(adviseTarget(capability));
}

/// PTX is compiled here, and why it cannot be is said in the driver's log.
StatusOr<CUmodule> CudaContext::load(format::Bytes image,
                                     const std::string &what) {
  // The driver takes PTX as a text that ends with a zero.
  std::string text(reinterpret_cast<const char *>(image.data()), image.size());
  std::array<char, 4096> log = {};
  std::array<CUjit_option, 2> names = {CU_JIT_ERROR_LOG_BUFFER,
                                       CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::array<void *, 2> values = {log.data(),
                                  reinterpret_cast<void *>(log.size() - 1)};
  CUmodule module = nullptr;
  const CUresult result = driver.ModuleLoadDataEx(
      &module, text.c_str(), names.size(), names.data(), values.data());
  if (result != CUDA_SUCCESS) {
    Status status(ErrorCode::E0310, what + " cannot be loaded on " + words);
    status.addNote(driver.check(result, "cuModuleLoadDataEx").message());
    if (log[0] != '\0')
      status.addNote(log.data());
    return status;
  }
  modules.push_back(module);
  return module;
}

/// The artifact's first, because the user can compile them for another GPU.
Status CudaContext::loadKernels() {
  if (!artifact.program.kernels.empty()) {
    const StatusOr<std::string> entry = chooseEntry();
    if (!entry.ok())
      return entry.status();
    const StatusOr<CUmodule> loaded =
        load(artifact.code.at(*entry), "'" + *entry + "'");
    if (!loaded.ok())
      return loaded.status();
    ofArtifact = *loaded;
  }
  if (deviceKernelImage().empty())
    return Status();
  const StatusOr<CUmodule> loaded =
      load(deviceKernelImage(), "the runtime's kernels");
  if (!loaded.ok())
    return loaded.status();
  ofRuntime = *loaded;
  return Status();
}

/// Null if there is none. The driver loads it now, because it may not while a
/// stream is captured.
CUfunction CudaContext::find(CUmodule module, const std::string &name) const {
  CUfunction function = nullptr;
  if (!module ||
      driver.ModuleGetFunction(&function, module, name.c_str()) !=
          CUDA_SUCCESS ||
      driver.FuncLoad(function) != CUDA_SUCCESS)
    return nullptr;
  return function;
}

StatusOr<CudaContext::Kernel>
CudaContext::kernel(const std::string &name) const {
  const CUfunction function = find(ofArtifact, name);
  for (const format::KernelSignature &signature : artifact.program.kernels)
    if (function && signature.name == name)
      return Kernel{function, &signature};
  return Status(ErrorCode::E0310,
                "the artifact's code has no kernel '" + name + "'");
}

StatusOr<CUfunction> CudaContext::libraryKernel(const std::string &name) const {
  if (const CUfunction function = find(ofRuntime, name))
    return function;
  return Status(ErrorCode::E0310,
                "this build of the runtime has no kernel '" + name + "'");
}

} // namespace shardc::runtime
