//===- KernelCode.h - Machine code for outlined kernels -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The module of functions that KernelOutliner makes is target-neutral; these
// functions compile a copy of it for one target.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_TARGET_KERNELCODE_H
#define SHARDC_PASSES_TARGET_KERNELCODE_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace shardc::target {

/// A processor to compile for, in LLVM's words.
struct CpuTarget {
  std::string triple = "x86_64-unknown-linux-gnu";
  std::string cpu = "x86-64-v3";
};

/// A kernel's name and the text of its signature (docs/Format.md).
using SignatureText = std::pair<std::string, std::string>;

/// Compiles `kernels` to an ELF shared object (`kernels.so` of the artifact)
/// that exports every function as `void f(void *const *, int64_t, int64_t)` and
/// each text of `signatures` as the string `f.signature`, for the runtime to
/// hold against the program. The same input gives the same bytes. `kernels` is
/// left as it is.
llvm::FailureOr<llvm::SmallVector<char, 0>>
generateCpuKernels(mlir::ModuleOp kernels, const CpuTarget &target = {},
                   llvm::ArrayRef<SignatureText> signatures = {});

/// Compiles the kernels of a GPU for the emulator of its threads to an ELF
/// shared object (`kernels.emulated.so`) that exports every kernel as `void
/// f(GpuThread *)` (runtime/device/GpuThread.h), with signatures as above.
llvm::FailureOr<llvm::SmallVector<char, 0>>
generateEmulatedKernels(mlir::gpu::GPUModuleOp kernels,
                        llvm::ArrayRef<SignatureText> signatures = {});

/// What a chip executes: machine code by `ptxas`, or PTX, which a driver
/// compiles.
enum class GpuFormat { Cubin, Ptx };

/// Compiles the kernels of a GPU for `chip`, such as sm_90. Fails after E0241
/// or another diagnostic.
llvm::FailureOr<llvm::SmallVector<char, 0>>
generateGpuKernels(mlir::gpu::GPUModuleOp kernels, llvm::StringRef chip,
                   GpuFormat format);

} // namespace shardc::target

#endif // SHARDC_PASSES_TARGET_KERNELCODE_H
