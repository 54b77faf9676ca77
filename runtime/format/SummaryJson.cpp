//===- SummaryJson.cpp - The artifact's summary.json ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Prints and parses the compiler's figures.
//===----------------------------------------------------------------------===//

#include "runtime/format/JsonDocuments.h"
#include "runtime/format/JsonField.h"
#include "runtime/format/JsonLines.h"

using nlohmann::ordered_json;

namespace shardc::format {

static ordered_json toJson(const GroupSummary &group) {
  ordered_json object;
  object["name"] = group.name;
  object["parameters"] = group.parameters;
  object["gather_bytes"] = group.gatherBytes;
  object["gathers"] = group.gathers;
  object["reduce_bytes"] = group.reduceBytes;
  object["reduces"] = group.reduces;
  if (group.allReduces != 0) {
    object["all_reduce_bytes"] = group.allReduceBytes;
    object["all_reduces"] = group.allReduces;
  }
  object["reshard"] = group.reshard;
  return object;
}

static ordered_json toJson(const KernelSummary &kernel) {
  ordered_json object;
  object["name"] = kernel.name;
  object["chip"] = kernel.chip;
  object["registers"] = kernel.registers;
  object["shared_bytes"] = kernel.sharedBytes;
  object["local_bytes"] = kernel.localBytes;
  return object;
}

std::string printSummary(const Summary &summary) {
  ordered_json root;
  root["arena_bytes"] = summary.arenaBytes;
  root["reuse_waits"] = summary.reuseWaits;
  root["persistent_bytes"] = ordered_json::object();
  for (const auto &[role, bytes] : summary.persistentBytes)
    root["persistent_bytes"][role] = bytes;
  if (!summary.peakBytes.empty())
    root["peak_bytes"] = summary.peakBytes;
  root["groups"] = ordered_json::array();
  for (const GroupSummary &group : summary.groups)
    root["groups"].push_back(toJson(group));
  if (summary.recomputed.operators != 0)
    root["recomputed"] = {
        {"operators", summary.recomputed.operators},
        {"operations", summary.recomputed.operations},
        {"call_operations", summary.recomputed.callOperations},
        {"bytes", summary.recomputed.bytes}};
  ordered_json optimizer = {{"kind", summary.optimizer.kind}};
  optimizer.update(toJson(summary.optimizer.attributes));
  root["optimizer"] = std::move(optimizer);
  if (summary.update.operations != 0)
    root["update"] = {{"gathers", summary.update.gathers},
                      {"gather_bytes", summary.update.gatherBytes},
                      {"operations", summary.update.operations}};
  if (!summary.kernels.empty())
    root["kernels"] = ordered_json::array();
  for (const KernelSummary &kernel : summary.kernels)
    root["kernels"].push_back(toJson(kernel));
  root["options"] = toJson(summary.options);
  return printLines(root);
}

static GroupSummary parseGroup(const JsonField &field) {
  GroupSummary group;
  group.name = field["name"].text();
  group.parameters = field["parameters"].integer();
  group.gatherBytes = field["gather_bytes"].integer();
  group.gathers = field["gathers"].integer();
  group.reduceBytes = field["reduce_bytes"].integer();
  group.reduces = field["reduces"].integer();
  if (const std::optional<JsonField> count = field.find("all_reduces")) {
    group.allReduces = count->integer();
    group.allReduceBytes = field["all_reduce_bytes"].integer();
  }
  group.reshard = field["reshard"].text();
  return group;
}

static KernelSummary parseKernel(const JsonField &field) {
  KernelSummary kernel;
  kernel.name = field["name"].text();
  kernel.chip = field["chip"].text();
  kernel.registers = field["registers"].integer();
  kernel.sharedBytes = field["shared_bytes"].integer();
  kernel.localBytes = field["local_bytes"].integer();
  return kernel;
}

StatusOr<Summary> parseSummary(Bytes text) {
  Summary summary;
  Status status = parseDocument(
      text, "summary.json", ErrorCode::E0307, [&](const JsonField &root) {
        summary.arenaBytes = root["arena_bytes"].integer();
        summary.reuseWaits = root["reuse_waits"].integer();
        for (const auto &[role, bytes] : root["persistent_bytes"].members())
          summary.persistentBytes[role] = bytes.integer();
        if (const std::optional<JsonField> peak = root.find("peak_bytes"))
          for (const auto &[kind, bytes] : peak->members())
            summary.peakBytes[kind] = bytes.integer();
        for (const JsonField &field : root["groups"].elements())
          summary.groups.push_back(parseGroup(field));
        if (const std::optional<JsonField> again = root.find("recomputed"))
          summary.recomputed = {(*again)["operators"].integer(),
                                (*again)["operations"].integer(),
                                (*again)["call_operations"].integer(),
                                (*again)["bytes"].integer()};
        summary.optimizer.kind = root["optimizer"]["kind"].text();
        summary.optimizer.attributes = root["optimizer"].attributes();
        summary.optimizer.attributes.erase("kind");
        if (const std::optional<JsonField> update = root.find("update"))
          summary.update = {(*update)["gathers"].integer(),
                            (*update)["gather_bytes"].integer(),
                            (*update)["operations"].integer()};
        if (const std::optional<JsonField> kernels = root.find("kernels"))
          for (const JsonField &field : kernels->elements())
            summary.kernels.push_back(parseKernel(field));
        summary.options = root["options"].attributes();
      });
  if (!status.ok())
    return status;
  return summary;
}

} // namespace shardc::format
