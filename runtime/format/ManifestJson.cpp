//===- ManifestJson.cpp - manifest.json -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Prints and parses the manifest. The format's name and major version come
// first, because nothing else has a meaning before they are known.
//===----------------------------------------------------------------------===//

#include "runtime/format/JsonDocuments.h"
#include "runtime/format/JsonField.h"
#include "runtime/format/JsonLines.h"

namespace shardc::format {

static constexpr char formatName[] = "shardc-artifact";

std::string printManifest(const Manifest &manifest) {
  nlohmann::ordered_json root;
  root["format"] = formatName;
  root["version"] = {{"major", manifest.major}, {"minor", manifest.minor}};
  root["producer"] = manifest.producer;
  root["model"] = manifest.model;
  root["target"] = {{"kind", manifest.target.kind},
                    {"triple", manifest.target.triple},
                    {"cpu", manifest.target.cpu}};
  if (!manifest.target.chips.empty())
    root["target"]["chips"] = manifest.target.chips;
  root["mesh"] = nlohmann::ordered_json::array();
  for (const MeshAxis &axis : manifest.mesh.axes)
    root["mesh"].push_back({{"axis", axis.name}, {"size", axis.size}});
  root["digests"] = nlohmann::ordered_json::object();
  for (const auto &[entry, digest] : manifest.digests)
    root["digests"][entry] = digest;
  return printLines(root);
}

static Status checkVersion(const JsonField &root) {
  const std::string format = root["format"].text();
  if (format != formatName)
    return Status(ErrorCode::E0304, "expected format '" +
                                        std::string(formatName) + "', got '" +
                                        format + "'");
  const int64_t major = root["version"]["major"].integer();
  const int64_t minor = root["version"]["minor"].integer();
  auto text = [](int64_t first, int64_t second) {
    return std::to_string(first) + "." + std::to_string(second);
  };
  if (major != formatMajor || minor < formatMinor)
    return Status(ErrorCode::E0304,
                  "format version " + text(major, minor) +
                      " is not supported, this program reads version " +
                      text(formatMajor, formatMinor) +
                      " and later minor versions")
        .setHelp("compile the model again with the shardc of this version");
  return Status();
}

StatusOr<Manifest> parseManifest(Bytes text) {
  Manifest manifest;
  Status version;
  Status status = parseDocument(
      text, "manifest.json", ErrorCode::E0307, [&](const JsonField &root) {
        version = checkVersion(root);
        if (!version.ok())
          return;
        manifest.major = root["version"]["major"].integer();
        manifest.minor = root["version"]["minor"].integer();
        manifest.producer = root["producer"].text();
        manifest.model = root["model"].text();
        const JsonField target = root["target"];
        manifest.target = {target["kind"].text(),
                           target["triple"].text(),
                           target["cpu"].text(),
                           {}};
        if (const std::optional<JsonField> chips = target.find("chips"))
          for (const JsonField &chip : chips->elements())
            manifest.target.chips.push_back(chip.text());
        manifest.mesh.axes.clear();
        for (const JsonField &axis : root["mesh"].elements())
          manifest.mesh.axes.push_back(
              {axis["axis"].text(), axis["size"].integer(1, maxRanks)});
        for (const auto &[entry, digest] : root["digests"].members())
          manifest.digests[entry] = digest.text();
      });
  if (!status.ok())
    return status;
  if (!version.ok())
    return version;
  return manifest;
}

} // namespace shardc::format
