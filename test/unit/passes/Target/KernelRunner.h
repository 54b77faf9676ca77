//===- KernelRunner.h - Runs a function of operators on this machine ------===//
// SPDX-License-Identifier: Apache-2.0
//
// For tests: compiles functions of aten operators through the kernel phase and
// code generation, loads the shared object and runs its launches. A failure of
// any step is reported through gtest.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_UNIT_PASSES_TARGET_KERNELRUNNER_H
#define SHARDC_TEST_UNIT_PASSES_TARGET_KERNELRUNNER_H

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shardc::test {

/// A row-major tensor; dtype is f32, f64, bf16 or i64.
struct HostTensor {
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<char> bytes;

  int64_t elements() const;
  /// The elements as doubles, exactly.
  std::vector<double> numbers() const;
  /// Rounds to the nearest number of the dtype.
  static HostTensor from(const std::string &dtype, std::vector<int64_t> shape,
                         const std::vector<double> &numbers);
};

/// What kernels are compiled for: this processor, or a GPU whose threads are
/// emulated (runtime/device/GpuBlocks.h).
enum class Machine { Processor, EmulatedGpu };

/// A compiled module of functions of aten operators.
class CompiledKernels {
public:
  /// Compiles every function of `ir`; with `fuse`, kernels are fused first.
  CompiledKernels(const std::string &ir, bool fuse,
                  Machine machine = Machine::Processor);

  /// Compiles for emulated threads after `plant` has changed the functions of
  /// launches; what the emulator finds wrong is no failure of the test.
  CompiledKernels(const std::string &ir,
                  const std::function<void(mlir::ModuleOp)> &plant);
  ~CompiledKernels();

  /// Runs a function and returns its results. A processor runs each launch's
  /// iterations in `parts` parts, the last one first; of a GPU `parts` decides
  /// the order of blocks and threads.
  std::vector<HostTensor> run(const std::string &function,
                              const std::vector<HostTensor> &inputs,
                              int64_t parts);

  /// The first violation that the emulator found in what ran, or nothing.
  const std::string &violation() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace shardc::test

#endif // SHARDC_TEST_UNIT_PASSES_TARGET_KERNELRUNNER_H
