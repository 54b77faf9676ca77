//===- FakeDriver.cpp - libcuda.so.1 for tests ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The driver's functions that the plug-in uses, on the fake machine, and those
// with which gpu_check asks what GPU there is.
//===----------------------------------------------------------------------===//

#include "test/fake_cuda/FakeMachine.h"

#include "runtime/cuda/kernels/EmulatedDeviceCalls.h"
#include "runtime/device/KernelLibrary.h"
#include "runtime/format/Artifact.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

using namespace shardc;
using namespace shardc::fake;

namespace {
/// A function of a module: of the artifact, with its signature, or of the
/// runtime.
struct Function {
  std::string name;
  /// Null for one of the runtime.
  runtime::GpuKernel code = nullptr;
  const format::KernelSignature *signature = nullptr;
};

struct Module {
  bool isOfRuntime = false;
  std::map<std::string, Function> functions;
};

/// The first argument of the process that is an artifact.
std::string artifactOfProcess() {
  std::ifstream arguments("/proc/self/cmdline");
  for (std::string one; std::getline(arguments, one, '\0');)
    if (one.ends_with(".shardc"))
      return one;
  return "";
}

/// What that artifact has for emulated threads.
struct Code {
  StatusOr<format::LoadedArtifact> artifact;
  std::unique_ptr<runtime::KernelLibrary> kernels;

  static Code &get() {
    static Code &code = *new Code(load());
    return code;
  }

private:
  static Code load() {
    Code code = {format::readArtifact(artifactOfProcess()), nullptr};
    if (code.artifact.ok()) {
      StatusOr<std::unique_ptr<runtime::KernelLibrary>> kernels =
          runtime::KernelLibrary::load(code.artifact->artifact,
                                       /*emulated=*/true);
      if (kernels.ok())
        code.kernels = std::move(*kernels);
      else
        refuse(CUDA_ERROR_NOT_FOUND, kernels.status().message());
    }
    return code;
  }
};

/// The machine, as long as the object lives; a failure ends all calls.
struct Call {
  Call() : lock(machine.mutex) {}
  Machine &machine = Machine::get();
  std::unique_lock<std::mutex> lock;

  /// `action` unless the context has failed.
  template <typename Action>
  CUresult operator()(Action action) {
    return machine.failure == CUDA_SUCCESS ? action() : machine.failure;
  }
};
} // namespace

static std::byte *at(CUdeviceptr address) {
  return reinterpret_cast<std::byte *>(address);
}

//===----------------------------------------------------------------------===//
// The machine
//===----------------------------------------------------------------------===//

CUresult cuInit(unsigned) {
  return Machine::get().setting("devices", 1) == 0 ? CUDA_ERROR_NO_DEVICE
                                                   : CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
  *version = static_cast<int>(Machine::get().setting("version", 13000));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  *count = static_cast<int>(Machine::get().setting("devices", 1));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice) {
  std::snprintf(name, static_cast<size_t>(length), "fake GPU");
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice) {
  *bytes = Machine::get().totalBytes();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                              CUdevice) {
  const auto capability =
      static_cast<int>(Machine::get().setting("capability", 90));
  if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
    *value = capability / 10;
  else if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
    *value = capability % 10;
  else
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice) {
  static int only = 0;
  *context = reinterpret_cast<CUcontext>(&only);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }

static thread_local CUcontext current = nullptr;

CUresult cuCtxSetCurrent(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
  switch (error) {
  case CUDA_ERROR_ILLEGAL_ADDRESS:
    *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
    return CUDA_SUCCESS;
  case CUDA_ERROR_NO_DEVICE:
    *name = "CUDA_ERROR_NO_DEVICE";
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuGetErrorString(CUresult error, const char **words) {
  switch (error) {
  case CUDA_ERROR_ILLEGAL_ADDRESS:
    *words = "an illegal memory access was encountered";
    return CUDA_SUCCESS;
  case CUDA_ERROR_NO_DEVICE:
    *words = "no CUDA-capable device is detected";
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

CUresult cuMemGetInfo(size_t *free, size_t *total) {
  Call call;
  *free = call.machine.freeBytes();
  *total = call.machine.totalBytes();
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes) {
  Call call;
  return call([&] {
    if (!current)
      return refuse(CUDA_ERROR_INVALID_CONTEXT,
                    "the thread has no current context");
    std::byte *memory = nullptr;
    const CUresult result = call.machine.allocate(bytes, memory);
    *address = reinterpret_cast<CUdeviceptr>(memory);
    return result;
  });
}

CUresult cuMemFree(CUdeviceptr address) {
  Call call;
  return call.machine.release(at(address));
}

CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned) {
  *address = std::malloc(bytes);
  return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemFreeHost(void *address) {
  std::free(address);
  return CUDA_SUCCESS;
}

/// Copies when the stream comes to it; the sides that are the device's have to
/// be its memory.
static CUresult copyLater(void *target, const void *source, size_t bytes,
                          CUstream stream, bool toDevice, bool fromDevice) {
  Call call;
  return call([&] {
    if ((toDevice && !call.machine.isAllocated(target, bytes)) ||
        (fromDevice && !call.machine.isAllocated(source, bytes)))
      return CUDA_ERROR_INVALID_VALUE;
    call.machine.enqueue(stream, [=] {
      std::memcpy(target, source, bytes);
      return CUDA_SUCCESS;
    });
    return CUDA_SUCCESS;
  });
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr target, const void *source, size_t bytes,
                           CUstream stream) {
  return copyLater(at(target), source, bytes, stream, true, false);
}

CUresult cuMemcpyDtoHAsync(void *target, CUdeviceptr source, size_t bytes,
                           CUstream stream) {
  return copyLater(target, at(source), bytes, stream, false, true);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes,
                           CUstream stream) {
  return copyLater(at(target), at(source), bytes, stream, true, true);
}

template <typename T>
static CUresult fillLater(CUdeviceptr target, T value, size_t count,
                          CUstream stream) {
  Call call;
  return call([&] {
    if (!call.machine.isAllocated(at(target), count * sizeof(T)))
      return CUDA_ERROR_INVALID_VALUE;
    call.machine.enqueue(stream, [=] {
      std::fill_n(reinterpret_cast<T *>(target), count, value);
      return CUDA_SUCCESS;
    });
    return CUDA_SUCCESS;
  });
}

CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char value, size_t count,
                         CUstream stream) {
  return fillLater(target, value, count, stream);
}

CUresult cuMemsetD16Async(CUdeviceptr target, unsigned short value,
                          size_t count, CUstream stream) {
  return fillLater(target, value, count, stream);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// A fat binary is the runtime's, everything else the artifact's.
CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned,
                            CUjit_option *, void **) {
  constexpr unsigned fatBinaryMagic = 0xBA55ED50;
  unsigned magic = 0;
  std::memcpy(&magic, image, sizeof(magic));
  auto loaded = std::make_unique<Module>();
  loaded->isOfRuntime = magic == fatBinaryMagic;
  if (!loaded->isOfRuntime && !Code::get().kernels)
    return refuse(
        CUDA_ERROR_INVALID_IMAGE,
        "the process has no artifact with kernels for emulated threads");
  *module = reinterpret_cast<CUmodule>(loaded.release());
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) {
  delete reinterpret_cast<Module *>(module);
  return CUDA_SUCCESS;
}

static CUresult findFunction(Function &function, bool isOfRuntime) {
  if (isOfRuntime) {
    return runtime::deviceParameterBytes(function.name) != 0
               ? CUDA_SUCCESS
               : CUDA_ERROR_NOT_FOUND;
  }
  const StatusOr<runtime::GpuKernel> found =
      Code::get().kernels->findOfThreads(function.name);
  if (!found.ok())
    return CUDA_ERROR_NOT_FOUND;
  function.code = *found;
  function.signature = Code::get().kernels->signature(function.name);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                             const char *name) {
  Call call;
  auto &of = *reinterpret_cast<Module *>(module);
  const auto [entry, isNew] = of.functions.try_emplace(name);
  if (isNew) {
    entry->second.name = name;
    if (const CUresult result = findFunction(entry->second, of.isOfRuntime);
        result != CUDA_SUCCESS) {
      of.functions.erase(entry);
      return result;
    }
  }
  *function = reinterpret_cast<CUfunction>(&entry->second);
  return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction) { return CUDA_SUCCESS; }

/// Takes pointers of a launch of the artifact's kernel.
static CUresult takeOperands(const Function &function, void **parameters,
                             const Machine &machine,
                             runtime::GpuLaunch &launch) {
  for (size_t i = 0; i < function.signature->operands.size(); ++i) {
    const format::KernelOperand &operand = function.signature->operands[i];
    CUdeviceptr address = 0;
    std::memcpy(&address, parameters[i], sizeof(address));
    if (!machine.isAllocated(at(address), static_cast<size_t>(operand.bytes)) ||
        address % static_cast<size_t>(operand.alignment) != 0)
      return refuse(CUDA_ERROR_ILLEGAL_ADDRESS,
                    "operand " + std::to_string(i) + " of " + function.name);
    launch.operands.push_back({at(address), operand.bytes, operand.access});
  }
  return CUDA_SUCCESS;
}

/// The launch of a kernel of the runtime, which may touch all memory.
static CUresult makeLibraryLaunch(const Function &function, unsigned blocks,
                                  unsigned threads, unsigned sharedBytes,
                                  void **parameters, const Machine &machine,
                                  runtime::GpuLaunch &launch) {
  const auto *const bytes = static_cast<const std::byte *>(parameters[0]);
  const size_t count = runtime::deviceParameterBytes(function.name);
  StatusOr<runtime::GpuLaunch> made =
      runtime::emulatedLaunch({function.name,
                               blocks,
                               threads,
                               sharedBytes,
                               {bytes, bytes + count},
                               {}});
  if (!made.ok())
    return refuse(CUDA_ERROR_NOT_FOUND, made.status().message());
  launch = std::move(*made);
  launch.operands = machine.allMemory();
  return CUDA_SUCCESS;
}

static CUresult makeLaunch(const Function &function, unsigned blocks,
                           unsigned threads, unsigned sharedBytes,
                           void **parameters, const Machine &machine,
                           runtime::GpuLaunch &launch) {
  if (!function.signature)
    return makeLibraryLaunch(function, blocks, threads, sharedBytes, parameters,
                             machine, launch);
  if (threads != function.signature->threads || sharedBytes != 0)
    return refuse(CUDA_ERROR_INVALID_VALUE, "block of " + function.name);
  launch.name = function.name;
  launch.kernel = function.code;
  launch.blocks = blocks;
  launch.threads = threads;
  launch.sharedBytes = function.signature->sharedBytes;
  return takeOperands(function, parameters, machine, launch);
}

CUresult cuLaunchKernel(CUfunction handle, unsigned gridX, unsigned gridY,
                        unsigned gridZ, unsigned blockX, unsigned blockY,
                        unsigned blockZ, unsigned sharedBytes, CUstream stream,
                        void **parameters, void **) {
  Call call;
  return call([&]() -> CUresult {
    const auto &function = *reinterpret_cast<const Function *>(handle);
    if (gridX == 0 || gridX > (1U << 31) - 1 || gridY != 1 || gridZ != 1 ||
        blockX == 0 || blockX > 1024 || blockY != 1 || blockZ != 1 ||
        sharedBytes > 48 << 10)
      return refuse(CUDA_ERROR_INVALID_VALUE, "grid of " + function.name);
    Machine &machine = call.machine;
    runtime::GpuLaunch launch;
    if (const CUresult result = makeLaunch(function, gridX, blockX, sharedBytes,
                                           parameters, machine, launch);
        result != CUDA_SUCCESS)
      return result;
    machine.enqueue(stream,
                    [&machine, launch] { return machine.runKernel(launch); });
    return CUDA_SUCCESS;
  });
}

//===----------------------------------------------------------------------===//
// Streams, events and graphs
//===----------------------------------------------------------------------===//

CUresult cuStreamCreate(CUstream *stream, unsigned) {
  Call call;
  *stream = new CUstream_st;
  call.machine.streams.insert(*stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream stream) {
  Call call;
  call.machine.streams.erase(stream);
  delete stream;
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream) {
  Call call;
  return call([&] { return call.machine.synchronize(stream); });
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  Call call;
  return call([&] { return call.machine.wait(stream, event); });
}

CUresult cuEventCreate(CUevent *event, unsigned) {
  *event = new CUevent_st;
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event) {
  delete event;
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  Call call;
  return call([&] { return call.machine.record(event, stream); });
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end) {
  Call call;
  if (!begin->recorded || !end->recorded || !begin->recorded->isDone ||
      !end->recorded->isDone)
    return refuse(CUDA_ERROR_NOT_READY, "an event is not complete");
  *milliseconds = static_cast<float>(end->recorded->milliseconds -
                                     begin->recorded->milliseconds);
  return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  Call call;
  return call([&] { return call.machine.beginCapture(stream); });
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  Call call;
  return call([&] {
    auto captured = std::make_unique<Graph>();
    const CUresult result = call.machine.endCapture(stream, *captured);
    *graph = reinterpret_cast<CUgraph>(captured.release());
    return result;
  });
}

using SharedGraph = std::shared_ptr<const Graph>;

CUresult cuGraphInstantiate(CUgraphExec *ready, CUgraph graph,
                            unsigned long long) {
  *ready = reinterpret_cast<CUgraphExec>(new SharedGraph(
      std::make_shared<const Graph>(*reinterpret_cast<Graph *>(graph))));
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
  delete reinterpret_cast<Graph *>(graph);
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec graph) {
  delete reinterpret_cast<SharedGraph *>(graph);
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
  Call call;
  return call([&] {
    call.machine.launch(stream, *reinterpret_cast<SharedGraph *>(graph));
    return CUDA_SUCCESS;
  });
}
