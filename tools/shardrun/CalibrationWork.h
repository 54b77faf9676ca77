//===- CalibrationWork.h - What a calibration runs ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Commands of training steps by kind and size, without a program: their buffers
// have sizes and no places.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_SHARDRUN_CALIBRATIONWORK_H
#define SHARDC_TOOLS_SHARDRUN_CALIBRATIONWORK_H

#include "runtime/format/Program.h"

#include <cstdint>
#include <vector>

namespace shardc {

/// What is measured of a kind of work: commands for each point of its curve.
using Points = std::vector<std::vector<format::Command>>;

struct Workloads {
  /// Each copy of a point of `memory` reads what the one before it wrote.
  Points memory, products, convolutions, attention, attentionBackward;
  /// Of processors: convolutions that move bytes.
  Points depthwise;
};

/// Sizes of training steps, in f32 on a processor with so many threads, or in
/// bf16 on a GPU.
Workloads workloads(bool isGpu, int64_t threads);

/// What forward and backward of y[m, n] = x[m, k] w[n, k]^T compute.
std::vector<format::Command> products(format::Dtype dtype, int64_t m, int64_t n,
                                      int64_t k);

/// A reduction in f64 of f32 that are in caches.
format::Command sumOfSquares();

/// A command that does next to nothing.
format::Command smallestFill();

} // namespace shardc

#endif // SHARDC_TOOLS_SHARDRUN_CALIBRATIONWORK_H
