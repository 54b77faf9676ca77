//===- PlanJson.cpp - A plan as JSON --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The schema of docs/Planning.md.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/PlanReport.h"
#include "runtime/format/JsonLines.h"

using nlohmann::ordered_json;

namespace shardc {

static ordered_json toJson(const MemoryPlan &memory) {
  ordered_json object;
  object["fits"] = memory.fits();
  object["bytes"] = memory.bytes;
  object["capacity"] = memory.capacity;
  object["persistent_bytes"] = memory.persistentBytes;
  for (const MemoryPart &part : memory.parts)
    object["parts"][part.name] = part.bytes;
  object["peak"] = {{"command", memory.peakCommand},
                    {"module", memory.peakModule}};
  object["contributors"] = ordered_json::array();
  for (const MemoryContributor &each : memory.contributors)
    object["contributors"].push_back({{"modules", each.modules},
                                      {"purpose", each.purpose},
                                      {"bytes", each.bytes}});
  return object;
}

static ordered_json toJson(const TimePlan &time) {
  ordered_json object;
  object["seconds"] = time.seconds;
  for (const TimePart &part : time.parts)
    object["parts"][part.name] = part.seconds;
  object["unit"] = time.unit;
  object["units_of_step"] = time.unitsOfStep;
  object["units_per_second"] =
      static_cast<double>(time.unitsOfStep) / time.seconds;
  object["model_operations"] = time.modelOperations;
  object["executed_operations"] = time.executedOperations;
  object["peak_operations_per_second"] = time.peakRate;
  object["peak_dtype"] = time.peakDtype;
  object["mfu"] = time.mfu();
  object["hfu"] = time.hfu();
  return object;
}

static ordered_json toJson(const GroupPlan &group) {
  return {{"name", group.name},
          {"parameters", group.parameters},
          {"dtypes", group.dtypes},
          {"reshard", group.reshard},
          {"recompute", group.recompute},
          {"gathers", group.gathers},
          {"gather_bytes", group.gatherBytes},
          {"reduces", group.reduces},
          {"reduce_bytes", group.reduceBytes},
          {"exposed_seconds", group.exposedSeconds}};
}

static ordered_json toJson(const PlanChoice &choice) {
  ordered_json object = {{"flags", choice.flags},
                         {"budget", choice.budget},
                         {"fits", choice.fits},
                         {"forecast_seconds", choice.forecastSeconds},
                         {"bound_seconds", choice.boundSeconds},
                         {"forecasts", choice.forecasts},
                         {"compiled", choice.compiled}};
  object["compared"] = ordered_json::array();
  for (const ComparedPlan &each : choice.compared)
    object["compared"].push_back({{"plan", each.name},
                                  {"seconds", each.seconds},
                                  {"bytes", each.bytes},
                                  {"fits", each.fits}});
  object["explained"] = ordered_json::array();
  for (const ExplainedDecision &each : choice.explained)
    object["explained"].push_back({{"group", each.group},
                                   {"reshard", each.reshard},
                                   {"recompute", each.recompute},
                                   {"chosen", each.isChosen},
                                   {"seconds_more", each.seconds},
                                   {"bytes_more", each.bytes},
                                   {"fits", each.fits}});
  return object;
}

std::string printPlanJson(const PlanReport &report) {
  ordered_json root;
  root["model"] = report.model;
  root["machine"] = report.machine;
  root["runtime"] = report.runtime;
  root["mesh"] = ordered_json::object();
  for (const format::MeshAxis &axis : report.mesh.axes)
    root["mesh"][axis.name] = axis.size;
  root["micro_batches"] = report.microBatches;
  root["inputs"] = ordered_json::array();
  for (const format::Input &input : report.inputs)
    root["inputs"].push_back({{"name", input.name},
                              {"dtype", std::string(dtypeName(input.dtype))},
                              {"shape", input.shape}});
  root["memory"] = toJson(report.memory);
  root["time"] = toJson(report.time);
  root["groups"] = ordered_json::array();
  for (const GroupPlan &group : report.groups)
    root["groups"].push_back(toJson(group));
  root["other_exposed_seconds"] = report.otherExposedSeconds;
  root["recomputed"] = {{"operators", report.recomputed.operators},
                        {"operations", report.recomputed.operations},
                        {"bytes", report.recomputed.bytes}};
  root["optimizer"] = {{"kind", report.optimizer.kind}};
  root["optimizer"].update(format::toJson(report.optimizer.attributes));
  root["options"] = format::toJson(report.options);
  if (report.choice)
    root["auto"] = toJson(*report.choice);
  return format::printLines(root);
}

} // namespace shardc
