//===- CudaDevice.h - A rank's share of a GPU -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Streams and events of programs are streams and events of CUDA. Each section
// is forked from one stream, which copies inputs and scalars, and joined to it:
//
//   host's stream   copies, fork --------------------------- join
//   stream 0              wait | command | record e | ...... |
//   stream 1              wait | ....... | wait e | command  |
//
// so that a run of a section can be captured and the later ones replay its
// graph: with one rank, unless commands are to be watched one by one. The first
// run is not captured, because libraries load their kernels in it.
// Virtual ranks issue their commands from threads of their own, which cannot
// share a capture.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CUDA_CUDADEVICE_H
#define SHARDC_RUNTIME_CUDA_CUDADEVICE_H

#include "runtime/cuda/CudaCommand.h"
#include "runtime/cuda/StreamActions.h"

#include <map>
#include <set>

namespace shardc::runtime {

class CudaDevice : public Device {
public:
  /// Made by the rank's thread; the context and the resources outlive the
  /// device. Fails with E0508.
  static StatusOr<std::unique_ptr<CudaDevice>>
  create(const CudaContext &context, const RankResources &resources);

  ~CudaDevice() override;
  CudaDevice(const CudaDevice &) = delete;
  CudaDevice &operator=(const CudaDevice &) = delete;

  StatusOr<DeviceMemory> take(std::span<const size_t> sizes, Content content,
                              const std::string &purpose) override;
  StatusOr<std::byte *> takeStaging(size_t bytes) override;
  void prefetch(const std::byte *source, size_t bytes) override;
  void copyToDevice(DeviceAddress target, const std::byte *source,
                    size_t bytes) override;
  void copyToHost(std::byte *target, DeviceAddress source,
                  size_t bytes) override;
  void poison(DeviceAddress target, size_t bytes) override;

  StatusOr<size_t> prepare(const format::Command &command,
                           std::span<const DeviceAddress> operands,
                           DeviceAddress workspace) override;
  size_t scratchBytes() const override { return staged; }

  bool knowsSection(size_t section) const override {
    return graphs.contains(section);
  }
  Status beginSection(size_t section) override;
  void wait(int64_t stream, int64_t event) override;
  Status enqueue(size_t command) override;
  void record(int64_t stream, int64_t event) override;
  Status endSection() override;
  Status synchronize() override;

  bool timesCommands() const override { return context.options.timed; }
  std::vector<CommandTime> takeTimes() override;

private:
  /// A stream of the program.
  struct Stream {
    CUstream stream = nullptr;
    /// Recorded when it is joined to the host's.
    CUevent joined = nullptr;
    /// Whether the current section has put something on it.
    bool isForked = false;
  };
  struct Entry {
    std::unique_ptr<CudaCommand> prepared;
    const format::Command *source;
    /// When it began and ended, if commands are timed, and whether it ran since
    /// times were taken.
    CUevent begin = nullptr, end = nullptr;
    bool hasRun = false;
  };
  /// Memory of the host that the GPU reads fast, and what it has prefetched.
  struct Staging {
    std::byte *host;
    CUdeviceptr device;
    size_t bytes;
    CUevent copied;
    /// Bytes from the beginning that have been prefetched.
    size_t ready = 0;
  };

  CudaDevice(const CudaContext &context, const RankResources &resources)
      : context(context), driver(context.driver), resources(resources) {}

  Status initialize();
  StatusOr<CUdeviceptr> allocate(size_t bytes, const std::string &purpose);
  StatusOr<CUevent> makeEvent(unsigned flags);
  Status prepareStream(int64_t number);
  Status prepareEvents(const format::Command &command);
  StatusOr<CudaEnd> endOf(const format::Command &command);
  Stream *fork(int64_t stream);
  void keep(CUresult result, const char *function);
  Status takeFailure();
  bool capturesGraphs() const;
  Status join();
  Staging *stagingOf(const std::byte *source, size_t bytes);

  const CudaContext &context;
  const Driver &driver;
  const RankResources resources;
  /// Copies of the host and the graphs, and copies ahead of time.
  CUstream hostStream = nullptr, prefetchStream = nullptr;
  CUevent forked = nullptr, begun = nullptr;
  std::vector<CUdeviceptr> memory;
  std::vector<Staging> staging;
  std::vector<Stream> streams;
  std::vector<CUevent> events;
  std::vector<Entry> commands;
  std::map<int64_t, std::unique_ptr<StreamActions>> actions;
  std::map<size_t, CUgraphExec> graphs;
  /// Sections that have run, and the current one.
  std::set<size_t> hasRun;
  size_t section = 0;
  bool isCapturing = false;
  size_t staged = 0;
  /// The first failure of a call that could not return it.
  Status failure;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CUDA_CUDADEVICE_H
