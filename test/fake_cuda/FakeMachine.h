//===- FakeMachine.h - A GPU that a processor plays -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What stands behind the fakes of NVIDIA's driver and libraries, with which the
// plug-in for CUDA is tested where no GPU is. It takes the rules of the
// driver's documentation at their word and is as late and as unhelpful as they
// allow:
//
//   streams   nothing runs before the host waits for it, and then in any order
//             that events leave; copies read their source as late as that
//   memory    begins poisoned; whoever reaches outside of an allocation is told
//   capture   what is captured does not run; a stream joins by waiting for a
//             captured event, and has to be joined again before the end
//   kernels   run on emulated threads (runtime/device/GpuBlocks.h)
//
// The environment's SHARDC_FAKE_CUDA says what machine it is, as a list of
// name=value, separated by commas: version=12040, devices=0, capability=80,
// memory=BYTES, fault=KERNEL, seed=N. The kernels are those of the artifact
// that the process was started with, which has to have code for emulated
// threads.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_FAKE_CUDA_FAKEMACHINE_H
#define SHARDC_TEST_FAKE_CUDA_FAKEMACHINE_H

#include "runtime/device/GpuBlocks.h"

#include <cuda.h>

#include <bit>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace shardc::fake {

/// What was recorded by an event: done when its stream has come to it.
struct Completion {
  bool isDone = false;
  double milliseconds = 0;
};

using Work = std::function<CUresult()>;

/// A step of a stream: waits for a completion, completes one, or does work.
struct Item {
  std::shared_ptr<Completion> waitsFor;
  std::shared_ptr<Completion> completes;
  Work work;
};

/// Work of a graph, and which earlier nodes it comes after.
struct Node {
  Work work;
  std::set<size_t> after;
};

struct Graph {
  std::vector<Node> nodes;
};

} // namespace shardc::fake

struct CUstream_st {
  std::deque<shardc::fake::Item> items;
  /// The graph that it is captured into, and its last nodes there.
  std::shared_ptr<shardc::fake::Graph> capture;
  std::set<size_t> frontier;
  bool isOrigin = false;
};

struct CUevent_st {
  std::shared_ptr<shardc::fake::Completion> recorded;
  /// The same of a captured one.
  std::shared_ptr<shardc::fake::Graph> capture;
  std::set<size_t> frontier;
};

namespace shardc::fake {

/// All of it. Whoever uses it holds `mutex`.
class Machine {
public:
  static Machine &get();

  std::mutex mutex;

  /// A number of SHARDC_FAKE_CUDA.
  int64_t setting(const std::string &name, int64_t usual) const;
  std::string text(const std::string &name) const;

  /// Puts work on a stream, or into what captures it.
  void enqueue(CUstream stream, Work work);

  CUresult record(CUevent event, CUstream stream);
  CUresult wait(CUstream stream, CUevent event);
  CUresult beginCapture(CUstream stream);
  CUresult endCapture(CUstream stream, Graph &graph);
  void launch(CUstream stream, std::shared_ptr<const Graph> graph);

  /// Runs streams, in an order that is drawn, until this one is empty.
  CUresult synchronize(CUstream stream);

  CUresult allocate(size_t bytes, std::byte *&address);
  CUresult release(std::byte *address);
  size_t freeBytes() const;
  size_t totalBytes() const;
  /// Whether all of it lies in one allocation; complains if not.
  bool isAllocated(const void *address, size_t bytes) const;

  CUresult runKernel(const runtime::GpuLaunch &launch);
  /// Every allocation, as operands that a kernel may read and write.
  std::vector<runtime::GpuOperand> allMemory() const;

  std::set<CUstream> streams;
  /// The first failure; a context that has failed fails for good.
  CUresult failure = CUDA_SUCCESS;

private:
  Machine();
  bool goOn(CUstream stream);

  std::map<std::string, std::string> settings;
  std::mt19937_64 random;
  runtime::GpuBlocks blocks;
  std::map<std::byte *, size_t> allocations;
  size_t allocated = 0;
};

/// Says on the standard error why something is refused.
CUresult refuse(CUresult result, const std::string &why);

/// What tensor cores keep of an f32 operand: ten bits of its fraction.
inline double roundToTf32(double value) {
  constexpr uint32_t lost = 0x1FFF;
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  return std::bit_cast<float>((bits + (lost + 1) / 2) & ~lost);
}

} // namespace shardc::fake

/// For the fakes of libraries: work on a stream.
extern "C" void shardcFakeCudaEnqueue(CUstream stream, shardc::fake::Work work);

#endif // SHARDC_TEST_FAKE_CUDA_FAKEMACHINE_H
