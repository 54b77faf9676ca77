//===- KernelStages.h - A kernel's region as stages -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the `linalg` operations of an `exec.kernel` into the plain data that
// KernelSchedule.h plans on, and keeps what code generation needs beside it.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_EMISSION_KERNELSTAGES_H
#define SHARDC_PASSES_KERNEL_EMISSION_KERNELSTAGES_H

#include "dialects/Exec/Exec.h"
#include "passes/Kernel/Emission/KernelOutliner.h"
#include "passes/Kernel/Schedule/KernelSchedule.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseMap.h"

namespace shardc::kernel {

/// What the tensor of the same number in KernelStages is.
struct TensorStorage {
  /// Iota: every element is its number, and there is no memory.
  enum class Kind { Input, Result, Temporary, Constant, Iota };
  Kind kind;
  /// Counts inputs, results or (later) scratch buffers.
  unsigned index;
  mlir::Type element;
  /// The elements of a constant.
  mlir::DenseElementsAttr constant;
};

/// Where the elements of an SSA tensor are: in a tensor of the problem, or all
/// equal to a number that needs no memory.
struct TensorPlace {
  int tensor = -1;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;
  mlir::TypedAttr splat;
};

/// The code of the stage of the same number.
struct StageBody {
  /// The body of a `linalg.generic`, an `exec.scan` or an `exec.scatter`, whose
  /// arguments are an element of each of `inputs` and what is carried. Null for
  /// a stage that copies its one read or stores `fill`.
  mlir::Block *body = nullptr;
  mlir::ValueRange inputs;
  mlir::TypedAttr fill;
  /// For each input: the access that reads it, or -1 when the body does not use
  /// it or it is a splat.
  llvm::SmallVector<int> reads;
  /// For each loop of the nest the stage's loop, or -1 for one iteration.
  llvm::SmallVector<int> loops;
  /// What each output of a reduction or a scan starts from.
  llvm::SmallVector<mlir::TypedAttr> starts;
};

/// A kernel as data. In every stage reads come before writes.
struct KernelProblem {
  KernelStages stages;
  llvm::SmallVector<TensorStorage> storages;
  llvm::SmallVector<StageBody> bodies;
  llvm::DenseMap<mlir::Value, TensorPlace> places;
};

/// The operation that combines output `number` of a reduction with the value of
/// one iteration, or null when the body is more than that.
mlir::Operation *combinerOf(const StageBody &code, unsigned number);

/// What one iteration combines with output `number`, before it is widened;
/// there is a combiner.
mlir::Value termOf(const StageBody &code, unsigned number);

/// Reads `kernel`; see KernelOutliner::outline for the arguments and errors.
llvm::FailureOr<KernelProblem>
readKernel(exec::KernelInterface kernel,
           llvm::ArrayRef<mlir::MemRefType> layouts,
           llvm::ArrayRef<SharedStorage> shared,
           llvm::ArrayRef<int64_t> alignments = {});

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_EMISSION_KERNELSTAGES_H
