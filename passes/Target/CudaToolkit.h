//===- CudaToolkit.h - The programs of the CUDA toolkit -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Where NVIDIA's programs are looked for, the same for all of them.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_TARGET_CUDATOOLKIT_H
#define SHARDC_PASSES_TARGET_CUDATOOLKIT_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace shardc::target {

/// The path of a program of the CUDA toolkit, such as ptxas: in CUDA_HOME/bin
/// (/usr/local/cuda/bin where that is not set), or else in PATH.
std::optional<std::string> findToolkitProgram(llvm::StringRef name);

} // namespace shardc::target

#endif // SHARDC_PASSES_TARGET_CUDATOOLKIT_H
