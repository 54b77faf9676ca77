//===- Artifact.h - Reading and writing .shardc files ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A `.shardc` artifact is a plain, uncompressed zip archive with one training
// step for N ranks: manifest, program, parameters, summary, machine code and
// optional weights. docs/Format.md specifies every byte.
//
//   compiler:  writeArtifact("model.shardc", artifact)
//   runtime:   StatusOr<LoadedArtifact> loaded = readArtifact("model.shardc");
//
// Reading checks, in this order: the archive, the format version, that the
// entries are exactly those the manifest lists, their digests, the JSON, and
// the program (Validator.h). Nothing of an entry is used before its digest was
// checked. Whether the target fits this machine is a question of its own,
// checkTarget, so that an artifact can be inspected anywhere.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_ARTIFACT_H
#define SHARDC_RUNTIME_FORMAT_ARTIFACT_H

#include "runtime/format/Bytes.h"
#include "runtime/format/Manifest.h"
#include "runtime/format/Parameters.h"
#include "runtime/format/Program.h"
#include "runtime/format/Safetensors.h"
#include "runtime/format/Status.h"
#include "runtime/format/Summary.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardc::format {

class MappedFile;

/// The entries with machine code that an artifact for `target` may have, by
/// chip: "kernels.so" for a processor; for a GPU "kernels.sm_90.cubin", or
/// "kernels.sm_90.ptx", which a driver compiles, and "kernels.emulated.so" for
/// the emulator of its threads.
std::vector<std::string> codeEntries(const Target &target);

/// Everything in an artifact. Code and weights are borrowed:
/// whoever fills this in keeps their bytes alive.
struct Artifact {
  Manifest manifest;
  Parameters parameters;
  Program program;
  Summary summary;
  /// Machine code by entry; empty if nothing is launched.
  std::map<std::string, Bytes> code;
  /// Full, unsharded parameters and buffers by name, or none.
  std::optional<std::vector<NamedTensor>> weights;
};

/// An artifact and the file that its bytes live in.
struct LoadedArtifact {
  Artifact artifact;
  std::shared_ptr<const MappedFile> file;
};

/// Writes `artifact` to `path`: same content, same bytes. The manifest's
/// digests are computed, what they hold is ignored. The file appears whole or
/// not at all; failures are E0601, or E0307/E0309 if the content breaks a rule
/// of the format, which is a bug of the producer.
Status writeArtifact(const std::string &path, const Artifact &artifact);

/// Reads and checks the artifact at `path`; fails with E0301 … E0309. Safe on
/// any file.
StatusOr<LoadedArtifact> readArtifact(const std::string &path);

/// The highest level of the x86-64 psABI whose instructions this machine has;
/// nothing on other machines.
std::optional<std::string> nativeProcessor();

/// Fails with E0308 when this machine cannot run the target's code for a
/// processor.
Status checkTarget(const Target &target);

/// The machine code of `artifact` for a processor or, with `emulated`, for the
/// emulator of a GPU's threads. Fails with E0308 where it has none that runs on
/// this machine.
StatusOr<Bytes> hostCode(const Artifact &artifact, bool emulated);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_ARTIFACT_H
