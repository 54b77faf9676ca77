//===- KernelOutliner.h - Functions for the kernels of a program ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Turns the region of a kernel into functions on flat buffers. A kernel
// is one or more launches: loop nests that share an outer parallel loop are one
// launch, and values that only one iteration of that loop needs never reach
// memory. Values that pass from one launch to the next are scratch, which the
// memory planner places in the arena.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_KERNEL_EMISSION_KERNELOUTLINER_H
#define SHARDC_PASSES_KERNEL_EMISSION_KERNELOUTLINER_H

#include "dialects/Exec/Exec.h"
#include "passes/Kernel/Schedule/KernelSchedule.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <utility>

namespace shardc::kernel {

/// What a launch passes to its function, in the order of the C ABI's pointers.
struct KernelOperand {
  enum class Kind { Input, Result, Scratch };
  Kind kind;
  /// Counts the kernel's inputs, its results, or KernelFunction::scratch.
  unsigned index;
  /// `write` when nothing depends on what the tensor held before; some of that
  /// may stay.
  exec::Access access;
};

/// One call of `void symbol(void *const *operands, int64_t begin, int64_t
/// end)`.
struct KernelLaunch {
  /// The symbol in the kernels module, without `@`.
  std::string symbol;
  /// Independent iterations: any split of [0, extent) gives the same bits. On a
  /// GPU the blocks of the grid.
  int64_t extent;
  /// Only what this launch touches: a scratch lives from the first launch that
  /// names it to the last.
  llvm::SmallVector<KernelOperand> operands;
};

/// Everything that a kernel needs at run time.
struct KernelFunction {
  /// Run in this order.
  llvm::SmallVector<KernelLaunch> launches;
  /// Row-major buffers between the launches.
  llvm::SmallVector<mlir::MemRefType> scratch;
};

/// Input and result numbers that may share storage.
using SharedStorage = std::pair<unsigned, unsigned>;

/// The pairs of an input and a result of `kernel` that may share storage: the
/// result's element at an index depends on no other element of the input. All
/// returned pairs may be used at once, as far as they name an input once and a
/// result once. Both must have the same element type, shape and layout.
llvm::SmallVector<SharedStorage>
getShareableStorage(exec::KernelInterface kernel);

/// Makes functions in the module `kernels`, one for kernels with equal regions,
/// layouts and sharing.
class KernelOutliner {
public:
  explicit KernelOutliner(mlir::ModuleOp kernels, LoopPreferences preferences)
      : kernels(kernels), preferences(preferences) {}

  /// Returns the launches of `kernel`. `layouts` has the memref type of each
  /// input, then of each result, with static strides and no offset: pointers
  /// point at the first element. `shared` lists results that are written over
  /// an input, out of getShareableStorage(kernel); such a result is passed by
  /// its input's pointer alone. No other operand of a launch may overlap one
  /// that the launch writes. Fails, with an error at the kernel, on a region
  /// that breaks rule K2. `alignments` has for each input and result what its
  /// address is a multiple of, in bytes; its elements' size where it is
  /// shorter.
  llvm::FailureOr<KernelFunction>
  outline(exec::KernelInterface kernel,
          llvm::ArrayRef<mlir::MemRefType> layouts,
          llvm::ArrayRef<SharedStorage> shared = {},
          llvm::ArrayRef<int64_t> alignments = {});

private:
  mlir::ModuleOp kernels;
  LoopPreferences preferences;
  /// By region, layouts and sharing, as text.
  llvm::StringMap<KernelFunction> functions;
};

} // namespace shardc::kernel

#endif // SHARDC_PASSES_KERNEL_EMISSION_KERNELOUTLINER_H
