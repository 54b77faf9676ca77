//===- TargetKinds.h - What programs are compiled for ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The names of the two kinds of targets: in options, artifacts, machine files
// and the IR.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_TARGETKINDS_H
#define SHARDC_RUNTIME_FORMAT_TARGETKINDS_H

namespace shardc::format {

inline constexpr char cpuTarget[] = "cpu";
inline constexpr char cudaTarget[] = "cuda";

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_TARGETKINDS_H
