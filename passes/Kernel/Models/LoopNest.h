//===- LoopNest.h - Loop nests on tensors ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Builders of the `linalg.generic` operations that kernels are made of (rule
// K2): a point-wise nest, whose loops are the result's dimensions, and a
// reduction over some of its loops. Bodies compute on `Scalar`s: bf16 and f16
// elements arrive as f32, and a result is rounded once, when it is stored.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_MODELS_LOOPNEST_H
#define SHARDC_PASSES_KERNEL_MODELS_LOOPNEST_H

#include "passes/Kernel/Models/Scalar.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"

namespace shardc {

/// A tensor that a nest reads and which of its elements: one affine expression
/// of the loops for each dimension.
struct Read {
  mlir::Value tensor;
  mlir::AffineMap map;
};

/// `tensor` in a nest of `loops` loops, its last dimension at the last loop, as
/// shapes broadcast: dimensions of size 1 are read at 0.
Read readBroadcast(mlir::Value tensor, int64_t loops);

/// `tensor` with dimension i read at loop `at[i]`, or at 0 where that is -1.
Read readAt(mlir::Value tensor, llvm::ArrayRef<int64_t> at, int64_t loops);

/// What one iteration sees.
class LoopBody {
public:
  LoopBody(mlir::OpBuilder &builder, mlir::Location location,
           mlir::ValueRange reads)
      : builder(builder), location(location), reads(reads) {}

  /// The element of read `i`; bf16 and f16 as f32.
  Scalar operator[](unsigned i) const;

  /// The element of read `i` as it is stored.
  Scalar stored(unsigned i) const;

  /// The counter of loop `i`, of index type.
  Scalar index(unsigned i) const;

  /// The element of `tensor` at computed indices, as it is stored.
  Scalar extract(mlir::Value tensor, llvm::ArrayRef<Scalar> indices) const;

  mlir::OpBuilder &builder;
  mlir::Location location;

private:
  mlir::ValueRange reads;
};

/// Computes one element an iteration.
using PointwiseBody = llvm::function_ref<Scalar(LoopBody &)>;

/// Computes what one iteration adds to each reduction.
using ReductionBody = llvm::function_ref<llvm::SmallVector<Scalar>(LoopBody &)>;

/// A tensor of `type` whose elements are `body`'s, one loop a dimension.
mlir::Value pointwise(mlir::OpBuilder &builder, mlir::Location location,
                      mlir::RankedTensorType type, llvm::ArrayRef<Read> reads,
                      PointwiseBody body);

/// As above with the element of iteration (i, j, …) stored at `map`(i, j, …).
/// Each loop must index a dimension of some read or of the result alone.
mlir::Value pointwiseInto(mlir::OpBuilder &builder, mlir::Location location,
                          mlir::RankedTensorType type, mlir::AffineMap map,
                          llvm::ArrayRef<Read> reads, PointwiseBody body);

/// How the values of a reduction are combined.
/// MaximumNumber leaves NaN out; of Maximum and Minimum one NaN is the result.
enum class Combiner { Add, Multiply, MaximumNumber, Maximum, Minimum };

/// Combines `body`'s values over the loops `reduced` of a nest of `sizes`, in
/// the type `accumulator`, a float or an integer, which is also the results'
/// element type. A result has the other loops' sizes, in order.
llvm::SmallVector<mlir::Value>
reduce(mlir::OpBuilder &builder, mlir::Location location,
       llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> reduced,
       mlir::Type accumulator, Combiner combiner, llvm::ArrayRef<Read> reads,
       unsigned results, ReductionBody body);

/// Computes what a scan carries on from what it carried.
using ScanBody = llvm::function_ref<Scalar(LoopBody &body, Scalar carried)>;

/// What `body` carries at each element of `tensor` along `dimension`, from
/// `start`, in the type of `start`.
mlir::Value scan(mlir::OpBuilder &builder, mlir::Location location,
                 mlir::Value tensor, int64_t dimension, mlir::TypedAttr start,
                 ScanBody body);

/// Computes an index for each dimension that no loop is the index of, and the
/// new element from the one that was there.
struct Scattered {
  llvm::SmallVector<Scalar> indices;
  Scalar element;
};
using ScatterBody =
    llvm::function_ref<Scattered(LoopBody &body, Scalar before)>;

/// `whole`, changed by `body` for each element of the first of `inputs`; see
/// exec.scatter for `loops`.
mlir::Value scatter(mlir::OpBuilder &builder, mlir::Location location,
                    mlir::ValueRange inputs, mlir::Value whole,
                    llvm::ArrayRef<int64_t> loops, ScatterBody body);

/// The type that elements are computed in: f32 for bf16 and f16, else `type`.
mlir::Type computeType(mlir::Type type);

} // namespace shardc

#endif // SHARDC_PASSES_KERNEL_MODELS_LOOPNEST_H
