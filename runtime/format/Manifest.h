//===- Manifest.h - What an artifact is and for whom ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The in-memory form of `manifest.json`, the first entry of an artifact:
// format version, target, world size, and the digest of every other entry,
// which is checked before anything of that entry is parsed or loaded.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_MANIFEST_H
#define SHARDC_RUNTIME_FORMAT_MANIFEST_H

#include "runtime/format/Mesh.h"
#include "runtime/format/TargetKinds.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shardc::format {

/// The version that this code writes. A reader accepts its own major with its
/// own minor or a later one: minor versions only add members, which older
/// readers may ignore and newer ones rely on.
inline constexpr int64_t formatMajor = 7;
inline constexpr int64_t formatMinor = 0;

/// The machine the kernels were compiled for. Of kind cpuTarget, `cpu` is a
/// level of the x86-64 psABI, such as "x86-64-v3"; of kind cudaTarget, `chips`
/// names those that there is code for, such as "sm_90", or "emulated".
struct Target {
  std::string kind = cpuTarget;
  std::string triple;
  std::string cpu;
  std::vector<std::string> chips = {};

  bool isGpu() const { return kind == cudaTarget; }

  bool operator==(const Target &) const = default;
};

struct Manifest {
  int64_t major = formatMajor;
  int64_t minor = formatMinor;
  std::string producer;
  std::string model;
  Target target;
  Mesh mesh = shardMesh(1);
  /// Entry name → "sha256:" and 64 hexadecimal digits. The writer computes it.
  std::map<std::string, std::string> digests;

  bool operator==(const Manifest &) const = default;
};

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_MANIFEST_H
