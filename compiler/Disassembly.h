//===- Disassembly.h - The machine code of a GPU as text ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA does not document its chips' instructions (SASS); nvdisasm of the CUDA
// toolkit prints them. Plain C++.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_DISASSEMBLY_H
#define SHARDC_COMPILER_DISASSEMBLY_H

#include "runtime/format/Status.h"

#include <cstddef>
#include <span>
#include <string>

namespace shardc {

/// The instructions of one kernel of `cubin`, an instruction or a label a line,
/// with what it calls; empty where there is no such kernel. Fails with E0243
/// when nvdisasm is not found or does not know the chip, and with E0601.
StatusOr<std::string> disassemble(std::span<const std::byte> cubin,
                                  const std::string &kernel);

} // namespace shardc

#endif // SHARDC_COMPILER_DISASSEMBLY_H
