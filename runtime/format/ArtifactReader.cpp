//===- ArtifactReader.cpp - Reading .shardc files -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Opens an artifact from the outside in: archive, manifest, list of entries,
// digests, JSON, rules. A failure notes the file's path.
//===----------------------------------------------------------------------===//

#include "runtime/format/Artifact.h"
#include "runtime/format/JsonDocuments.h"
#include "runtime/format/MappedFile.h"
#include "runtime/format/Sha256.h"
#include "runtime/format/StoredZip.h"
#include "runtime/format/Validator.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardc::format {

using EntryMap = std::map<std::string, ZipEntry>;

static StatusOr<Manifest> readManifest(const EntryMap &entries) {
  auto found = entries.find("manifest.json");
  if (found == entries.end()) {
    const bool isExport =
        std::any_of(entries.begin(), entries.end(), [](const auto &entry) {
          return entry.first.ends_with("archive_format");
        });
    return Status(ErrorCode::E0305,
                  isExport ? "not an artifact but an exported model: compile "
                             "it with shardc first"
                           : "not an artifact: entry 'manifest.json' is "
                             "missing");
  }
  const ZipEntry &entry = found->second;
  if (crc32Of(std::span(&entry.content, 1)) != entry.crc32)
    return Status(ErrorCode::E0306,
                  "entry 'manifest.json' does not match its checksum");
  return parseManifest(entry.content);
}

/// The manifest lists every other entry, and no entry that it does not list
/// may be there.
static Status checkEntries(const EntryMap &entries, const Manifest &manifest) {
  std::set<std::string> known = {"program.json", "parameters.json",
                                 "summary.json", "weights.safetensors"};
  for (const std::string &code : codeEntries(manifest.target))
    known.insert(code);
  for (const char *required :
       {"program.json", "parameters.json", "summary.json"})
    if (!manifest.digests.contains(required))
      return Status(ErrorCode::E0305, "manifest.json lists no digest of '" +
                                          std::string(required) + "'");
  for (const auto &[name, digest] : manifest.digests)
    if (!entries.contains(name))
      return Status(ErrorCode::E0305, "entry '" + name + "' is missing");
  for (const auto &[name, entry] : entries)
    if (name != "manifest.json" &&
        (!manifest.digests.contains(name) || !known.contains(name)))
      return Status(ErrorCode::E0305,
                    "entry '" + name + "' is not part of an artifact");
  return Status();
}

static Status checkDigests(const EntryMap &entries, const Manifest &manifest) {
  for (const auto &[name, expected] : manifest.digests) {
    const Bytes content = entries.at(name).content;
    const std::string found = sha256(std::span(&content, 1));
    if (found != expected)
      return Status(ErrorCode::E0306,
                    "entry '" + name + "' does not match its digest")
          .addNote("expected " + expected + ", got " + found)
          .setHelp("the file was damaged or changed after it was compiled; "
                   "compile or copy it again");
  }
  return Status();
}

static Bytes contentOf(const EntryMap &entries, const std::string &name) {
  auto found = entries.find(name);
  return found == entries.end() ? Bytes() : found->second.content;
}

static Status parseEntries(const EntryMap &entries, Artifact &artifact) {
  StatusOr<Parameters> parameters =
      parseParameters(contentOf(entries, "parameters.json"));
  if (!parameters.ok())
    return parameters.status();
  StatusOr<Program> program = parseProgram(contentOf(entries, "program.json"));
  if (!program.ok())
    return program.status();
  StatusOr<Summary> summary = parseSummary(contentOf(entries, "summary.json"));
  if (!summary.ok())
    return summary.status();
  artifact.parameters = std::move(*parameters);
  artifact.program = std::move(*program);
  artifact.summary = std::move(*summary);
  for (const std::string &code : codeEntries(artifact.manifest.target))
    if (entries.contains(code))
      artifact.code[code] = contentOf(entries, code);
  if (!entries.contains("weights.safetensors"))
    return Status();
  StatusOr<SafetensorsContent> weights =
      readSafetensors(contentOf(entries, "weights.safetensors"),
                      "weights.safetensors", ErrorCode::E0307);
  if (!weights.ok())
    return weights.status();
  artifact.weights = std::move(weights->tensors);
  return Status();
}

static Status read(Bytes file, Artifact &artifact) {
  StatusOr<std::vector<ZipEntry>> list = readStoredZip(file);
  if (!list.ok())
    return list.status();
  EntryMap entries;
  for (ZipEntry &entry : *list)
    entries.emplace(entry.name, entry);
  StatusOr<Manifest> manifest = readManifest(entries);
  if (!manifest.ok())
    return manifest.status();
  artifact.manifest = std::move(*manifest);
  if (Status status = checkEntries(entries, artifact.manifest); !status.ok())
    return status;
  if (Status status = checkDigests(entries, artifact.manifest); !status.ok())
    return status;
  if (Status status = parseEntries(entries, artifact); !status.ok())
    return status;
  return validate(artifact);
}

StatusOr<LoadedArtifact> readArtifact(const std::string &path) {
  StatusOr<std::shared_ptr<const MappedFile>> file =
      MappedFile::open(path, ErrorCode::E0301);
  if (!file.ok())
    return file.status();
  LoadedArtifact loaded;
  loaded.file = *file;
  if (Status status = read(loaded.file->bytes(), loaded.artifact); !status.ok())
    return status.addNote("in file '" + path + "'");
  return loaded;
}

} // namespace shardc::format
