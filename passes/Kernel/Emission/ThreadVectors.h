//===- ThreadVectors.h - What a thread moves at a time --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Loads and stores of several neighbours.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_EMISSION_THREADVECTORS_H
#define SHARDC_PASSES_KERNEL_EMISSION_THREADVECTORS_H

#include "passes/Kernel/Emission/StageElements.h"

namespace shardc::kernel {

/// The attribute of a function's operand that says what its address has to be a
/// multiple of, where that is more than an element.
inline constexpr llvm::StringLiteral alignmentName = "exec.alignment";

/// Loads and stores of the lanes of a vector.
class ThreadVectors {
public:
  ThreadVectors(LaunchState &state, StageElements &elements)
      : state(state), elements(elements) {}

  /// What the lanes of a vector read along `loop`, whose counter is at its
  /// first.
  void readLanes(int loop, int64_t count);
  /// Whether `count` neighbours along `loop` are one access.
  bool isVector(const StageAccess &access, int loop, int64_t count) const;
  /// Elements of one vector; a wider one is several.
  int64_t vectorElements(const StageAccess &access, int64_t count) const;
  llvm::SmallVector<mlir::Value> loadVector(const StageAccess &access,
                                            int64_t count);
  /// Moves the counter of `loop` to lane `number`, from that of the first.
  void moveToLane(int loop, mlir::Value first, int64_t number);
  /// Stores one result for each lane; what each thread has a copy of, it
  /// stores, the rest where `isWriter` holds.
  void storeLanes(llvm::ArrayRef<llvm::SmallVector<mlir::Value>> results,
                  int loop, mlir::Value first, mlir::Value isWriter);

private:
  void storeVector(llvm::ArrayRef<mlir::Value> values,
                   const StageAccess &access);
  void requireAlignment(const StageAccess &access, int64_t elements);

  LaunchState &state;
  StageElements &elements;
};

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_EMISSION_THREADVECTORS_H
