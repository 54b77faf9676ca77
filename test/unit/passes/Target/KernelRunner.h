//===- KernelRunner.h - Runs a function of operators on this machine ------===//
// SPDX-License-Identifier: Apache-2.0
//
// For tests: compiles `func.func @test` of aten operators through the kernel
// phase and code generation, loads the shared object and runs its launches.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_UNIT_PASSES_TARGET_KERNELRUNNER_H
#define SHARDC_TEST_UNIT_PASSES_TARGET_KERNELRUNNER_H

#include <cstdint>
#include <string>
#include <vector>

namespace shardc::test {

/// A row-major tensor; dtype is f32, f64, bf16 or i64.
struct Tensor {
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<char> bytes;

  int64_t elements() const;
  /// The elements as doubles, exactly.
  std::vector<double> numbers() const;
  /// Rounds to the nearest number of the dtype.
  static Tensor from(const std::string &dtype, std::vector<int64_t> shape,
                     const std::vector<double> &numbers);
};

struct RunOptions {
  bool fuse = true;
  /// Parts that each launch's iterations are run in, last part first.
  int64_t parts = 1;
};

/// Runs @test of the module `ir` and returns its results; a failure of any step
/// is reported through gtest and gives no results.
std::vector<Tensor> runKernels(const std::string &ir,
                               const std::vector<Tensor> &inputs,
                               const RunOptions &options);

} // namespace shardc::test

#endif // SHARDC_TEST_UNIT_PASSES_TARGET_KERNELRUNNER_H
