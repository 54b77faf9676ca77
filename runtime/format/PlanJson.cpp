//===- PlanJson.cpp - plan.json -------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Prints and parses the compiler's figures.
//
//===----------------------------------------------------------------------===//

#include "runtime/format/JsonDocuments.h"
#include "runtime/format/JsonField.h"
#include "runtime/format/JsonLines.h"

using nlohmann::ordered_json;

namespace shardc::format {

static ordered_json toJson(const PlanGroup &group) {
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

static ordered_json toJson(const PlanKernel &kernel) {
  ordered_json object;
  object["name"] = kernel.name;
  object["chip"] = kernel.chip;
  object["registers"] = kernel.registers;
  object["shared_bytes"] = kernel.sharedBytes;
  object["local_bytes"] = kernel.localBytes;
  object["f32_operations"] = kernel.f32Operations;
  object["f64_operations"] = kernel.f64Operations;
  return object;
}

std::string printPlan(const Plan &plan) {
  ordered_json root;
  root["arena_bytes"] = plan.arenaBytes;
  root["reuse_waits"] = plan.reuseWaits;
  root["persistent_bytes"] = ordered_json::object();
  for (const auto &[role, bytes] : plan.persistentBytes)
    root["persistent_bytes"][role] = bytes;
  if (!plan.peakBytes.empty())
    root["peak_bytes"] = plan.peakBytes;
  root["groups"] = ordered_json::array();
  for (const PlanGroup &group : plan.groups)
    root["groups"].push_back(toJson(group));
  if (plan.recomputed.operators != 0)
    root["recomputed"] = {{"operators", plan.recomputed.operators},
                          {"operations", plan.recomputed.operations},
                          {"bytes", plan.recomputed.bytes}};
  ordered_json optimizer = {{"kind", plan.optimizer.kind}};
  optimizer.update(toJson(plan.optimizer.attributes));
  root["optimizer"] = std::move(optimizer);
  if (plan.update.operations != 0)
    root["update"] = {{"gathers", plan.update.gathers},
                      {"gather_bytes", plan.update.gatherBytes},
                      {"operations", plan.update.operations}};
  if (!plan.kernels.empty())
    root["kernels"] = ordered_json::array();
  for (const PlanKernel &kernel : plan.kernels)
    root["kernels"].push_back(toJson(kernel));
  root["options"] = toJson(plan.options);
  return printLines(root);
}

static PlanGroup parseGroup(const JsonField &field) {
  PlanGroup group;
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

static PlanKernel parseKernel(const JsonField &field) {
  PlanKernel kernel;
  kernel.name = field["name"].text();
  kernel.chip = field["chip"].text();
  kernel.registers = field["registers"].integer();
  kernel.sharedBytes = field["shared_bytes"].integer();
  kernel.localBytes = field["local_bytes"].integer();
  if (const std::optional<JsonField> count = field.find("f32_operations"))
    kernel.f32Operations = count->integer();
  if (const std::optional<JsonField> count = field.find("f64_operations"))
    kernel.f64Operations = count->integer();
  return kernel;
}

StatusOr<Plan> parsePlan(Bytes text) {
  Plan plan;
  Status status = parseDocument(
      text, "plan.json", ErrorCode::E0307, [&](const JsonField &root) {
        plan.arenaBytes = root["arena_bytes"].integer();
        plan.reuseWaits = root["reuse_waits"].integer();
        for (const auto &[role, bytes] : root["persistent_bytes"].members())
          plan.persistentBytes[role] = bytes.integer();
        if (const std::optional<JsonField> peak = root.find("peak_bytes"))
          for (const auto &[kind, bytes] : peak->members())
            plan.peakBytes[kind] = bytes.integer();
        for (const JsonField &field : root["groups"].elements())
          plan.groups.push_back(parseGroup(field));
        if (const std::optional<JsonField> again = root.find("recomputed"))
          plan.recomputed = {(*again)["operators"].integer(),
                             (*again)["operations"].integer(),
                             (*again)["bytes"].integer()};
        plan.optimizer.kind = root["optimizer"]["kind"].text();
        plan.optimizer.attributes = root["optimizer"].attributes();
        plan.optimizer.attributes.erase("kind");
        if (const std::optional<JsonField> update = root.find("update"))
          plan.update = {(*update)["gathers"].integer(),
                         (*update)["gather_bytes"].integer(),
                         (*update)["operations"].integer()};
        if (const std::optional<JsonField> kernels = root.find("kernels"))
          for (const JsonField &field : kernels->elements())
            plan.kernels.push_back(parseKernel(field));
        plan.options = root["options"].attributes();
      });
  if (!status.ok())
    return status;
  return plan;
}

} // namespace shardc::format
