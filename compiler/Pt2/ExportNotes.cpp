//===- ExportNotes.cpp - What the export helper recorded ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads `extra/shardc.json`. Keys that this version does not know are of a
// later helper, and change nothing that it can do.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/ExportNotes.h"

#include "compiler/Pt2/JsonDocument.h"

namespace shardc::pt2 {

static CapturedTensors readCaptured(const Json &calls) {
  CapturedTensors captured;
  for (const auto &[call, names] : asObject(calls, "captured").items())
    for (const Json &name : asArray(names, "captured tensors"))
      captured[call].insert(asString(name, "captured tensor"));
  return captured;
}

static std::vector<NameGroup> readShared(const Json &groups) {
  std::vector<NameGroup> shared;
  for (const Json &group : asArray(groups, "shared")) {
    NameGroup &names = shared.emplace_back();
    for (const Json &name : asArray(group, "tensors that share memory"))
      names.push_back(asString(name, "tensor that shares memory"));
  }
  return shared;
}

ExportNotes readExportNotes(const ZipArchive &archive,
                            const std::string &root) {
  ExportNotes notes;
  std::string name = root + "extra/shardc.json";
  std::optional<size_t> index = archive.find(name);
  if (!index)
    return notes;
  Json document = parseJson(asText(archive.read(*index)), name);
  if (const Json *calls = optionalMember(document, "captured"))
    notes.captured = readCaptured(*calls);
  if (const Json *names = optionalMember(document, "parameters"))
    for (const Json &each : asArray(*names, "parameters"))
      notes.parameters.insert(asString(each, "parameter"));
  if (const Json *groups = optionalMember(document, "shared"))
    notes.shared = readShared(*groups);
  if (const Json *problem = optionalMember(document, "evaluation"))
    notes.evaluation = asString(*problem, "evaluation");
  if (const Json *draws = optionalMember(document, "draws"))
    notes.hasMeansOfDraws = asString(*draws, "draws") == "mean";
  return notes;
}

} // namespace shardc::pt2
