//===- RandomStream.h - Which random numbers an operator draws ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every operator that draws has a stream of its own: a number that, with the
// run's seed, step and slice, names its random numbers whatever runs before it.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_RANDOMSTREAM_H
#define SHARDC_COMPILER_TRANSLATION_RANDOMSTREAM_H

#include "compiler/Translation/NodeCall.h"

namespace shardc::translation {

/// What an operator that draws takes.
struct RandomStream {
  mlir::Value seed, step, slice;
  int64_t number;
};

/// The stream of the next operator: its number is one more than that of the
/// last operator before the insertion point that draws, 0 for the first. Calls
/// that each make such an operator look at every operator once, all together.
RandomStream nextStream(NodeCall &call);

/// Numbers of this floating-point type from the next stream: uniform in [0, 1),
/// of f32 where it is no f64, or normal.
mlir::Value drawUniform(NodeCall &call, mlir::RankedTensorType type);
mlir::Value drawNormal(NodeCall &call, mlir::RankedTensorType type);

/// Dropout of `self` from the next stream; null after an error, and for a null
/// `self`.
mlir::Value buildDropout(NodeCall &call, mlir::Value self, double p,
                         llvm::ArrayRef<int64_t> shared = {});

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_RANDOMSTREAM_H
