//===- CallRunner.h - Running one library call in a test ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tensors whose elements a test reads and writes as doubles, whatever their
// dtype and strides, and a function that runs a library call on them.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TEST_UNIT_RUNTIME_CPU_CALLRUNNER_H
#define SHARDC_TEST_UNIT_RUNTIME_CPU_CALLRUNNER_H

#include "runtime/cpu/LibraryCall.h"

#include <random>

namespace shardc::runtime::testing {

using format::Attributes;
using format::Dtype;
using Shape = std::vector<int64_t>;

/// The strides of [N, C, height, width] that is stored as N, height, width, C.
inline Shape channelsLast(const Shape &shape) {
  const int64_t row = shape[3] * shape[1];
  return {shape[2] * row, 1, row, shape[1]};
}

/// A tensor that owns its memory; filled with a pattern that shows whether a
/// call wrote outside of its results.
class TestTensor {
public:
  TestTensor(Dtype dtype, Shape shape, Shape strides = {});

  /// Element `index` in row-major order.
  double get(int64_t index) const;
  void set(int64_t index, double value);
  int64_t size() const { return format::elementCount(reference.shape); }

  /// All elements in row-major order, as they are stored.
  std::vector<double> values() const;
  /// Fills with normally distributed numbers; returns what was stored.
  std::vector<double> fillRandom(std::mt19937 &generator, double scale = 1);

  const std::vector<std::byte> &bytes() const { return memory; }
  TensorView tensor();

  format::TensorReference reference;

private:
  std::byte *place(int64_t index) const;
  mutable std::vector<std::byte> memory;
};

/// Whether a call may take memory while it runs, as Eigen's decompositions do.
enum class MayAllocate { No, Yes };

/// Checks the call against the format's rules, prepares it and runs it twice
/// on `threads` threads, so that a second run must not depend on the first.
/// The second one must not allocate.
Status runCall(const std::string &call, const Attributes &attributes,
               std::vector<TestTensor *> operands,
               std::vector<TestTensor *> results, int threads = 1,
               MayAllocate mayAllocate = MayAllocate::No);

/// The largest |a - b| / (scale + |b|), which is what a test compares with a
/// tolerance.
double largestError(const std::vector<double> &a, const std::vector<double> &b,
                    double scale = 1);

/// How much a result of this dtype may differ from one computed in double.
double tolerance(Dtype dtype);

} // namespace shardc::runtime::testing

#endif // SHARDC_TEST_UNIT_RUNTIME_CPU_CALLRUNNER_H
