//===- GpuChips.h - The chips that kernels are compiled for ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the compiler offers, and what shardrun names where an artifact has no
// code for a GPU.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_GPUCHIPS_H
#define SHARDC_RUNTIME_FORMAT_GPUCHIPS_H

#include <array>

namespace shardc::format {

/// Their compute capabilities in ascending order, 90 for sm_90. Machine code
/// also runs on later chips of its generation (of the same tens), and PTX on
/// all later ones.
inline constexpr std::array<int, 3> gpuCapabilities = {80, 90, 100};

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_GPUCHIPS_H
