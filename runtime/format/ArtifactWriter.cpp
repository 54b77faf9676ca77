//===- ArtifactWriter.cpp - Writing .shardc files -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Prints the JSON entries, digests every entry and writes the archive with the
// manifest first.
//===----------------------------------------------------------------------===//

#include "runtime/format/Artifact.h"
#include "runtime/format/JsonDocuments.h"
#include "runtime/format/Sha256.h"
#include "runtime/format/StoredZip.h"
#include "runtime/format/Validator.h"

namespace shardc::format {

namespace {
/// An entry as the pieces whose concatenation it is.
struct PendingEntry {
  std::string name;
  std::vector<Bytes> pieces;
};
} // namespace

static std::vector<PendingEntry>
binaryEntries(const Artifact &artifact, const std::string &weightsHeader) {
  std::vector<PendingEntry> entries;
  for (const auto &[name, code] : artifact.code)
    entries.push_back({name, {code}});
  if (artifact.weights) {
    PendingEntry weights{"weights.safetensors", {bytesOf(weightsHeader)}};
    for (const NamedTensor &tensor : *artifact.weights)
      weights.pieces.push_back(tensor.data);
    entries.push_back(std::move(weights));
  }
  return entries;
}

Status writeArtifact(const std::string &path, const Artifact &artifact) {
  if (Status status = validate(artifact); !status.ok())
    return status;

  const std::string program = printProgram(artifact.program);
  const std::string parameters = printParameters(artifact.parameters);
  const std::string summary = printSummary(artifact.summary);
  std::string weightsHeader;
  if (artifact.weights)
    weightsHeader = safetensorsHeader(*artifact.weights, {});

  std::vector<PendingEntry> entries = {
      {"program.json", {bytesOf(program)}},
      {"parameters.json", {bytesOf(parameters)}},
      {"summary.json", {bytesOf(summary)}}};
  for (PendingEntry &entry : binaryEntries(artifact, weightsHeader))
    entries.push_back(std::move(entry));

  Manifest manifest = artifact.manifest;
  manifest.digests.clear();
  for (const PendingEntry &entry : entries)
    manifest.digests[entry.name] = sha256(entry.pieces);
  const std::string manifestText = printManifest(manifest);

  OutputFile file(path);
  StoredZipWriter archive(file);
  archive.add("manifest.json", std::vector{bytesOf(manifestText)});
  for (const PendingEntry &entry : entries)
    archive.add(entry.name, entry.pieces);
  archive.finish();
  return file.commit();
}

} // namespace shardc::format
