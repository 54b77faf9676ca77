//===- Plugin.cpp - Shardrun's door to CUDA -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the shared object exports.
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Plugin.h"

#include "runtime/cuda/CudaDevice.h"

namespace shardc::runtime {

namespace {
class CudaDeviceMaker : public DeviceMaker {
public:
  explicit CudaDeviceMaker(std::unique_ptr<CudaContext> context)
      : context(std::move(context)) {}

  StatusOr<std::unique_ptr<Device>>
  make(const RankResources &resources) override {
    StatusOr<std::unique_ptr<CudaDevice>> made =
        CudaDevice::create(*context, resources);
    if (!made.ok())
      return made.status();
    return std::unique_ptr<Device>(std::move(*made));
  }

  bool runsLate() const override { return true; }
  std::string description() const override { return context->description(); }

private:
  const std::unique_ptr<CudaContext> context;
};
} // namespace

static void open(const format::Artifact &artifact, const CudaOptions &options,
                 StatusOr<std::unique_ptr<DeviceMaker>> &result) {
  StatusOr<std::unique_ptr<CudaContext>> context =
      CudaContext::create(artifact, options);
  if (context.ok())
    result = std::unique_ptr<DeviceMaker>(
        std::make_unique<CudaDeviceMaker>(std::move(*context)));
  else
    result = context.status();
}

} // namespace shardc::runtime

extern "C" [[gnu::visibility("default")]]
const shardc::runtime::CudaPlugin shardc_cuda_plugin;
const shardc::runtime::CudaPlugin shardc_cuda_plugin = {SHARDC_VERSION,
                                                        shardc::runtime::open};
