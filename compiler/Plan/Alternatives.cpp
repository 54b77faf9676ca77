//===- Alternatives.cpp - What other choices would give -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Ten steps at most.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/Alternatives.h"

#include "compiler/Plan/Table.h"
#include "compiler/Pt2/SymbolBindings.h"
#include "runtime/format/Mesh.h"

#include <algorithm>
#include <tuple>

namespace shardc {

/// What of `changed` differs from `options`, as flags.
static std::string changeOf(const Options &changed, const Options &options) {
  std::string flags;
  if (changed.worldSize != options.worldSize)
    flags += " --world-size " + std::to_string(changed.worldSize);
  if (changed.input.bindings != options.input.bindings)
    flags += " --micro-batch " +
             std::to_string(changed.input.bindings.at(pt2::anyBatch));
  if (changed.stateDtype != options.stateDtype)
    flags += " --state-dtype " + changed.stateDtype;
  if (changed.reshard != options.reshard)
    flags += " --reshard " + changed.reshard;
  if (changed.recompute != options.recompute)
    flags += " --recompute " + changed.recompute;
  return flags.empty() ? flags : flags.substr(1);
}

/// The options of each alternative, and what to call it.
static std::vector<std::pair<std::string, Options>>
listAlternatives(const Options &options,
                 const std::vector<std::string> &rootModules) {
  std::vector<std::pair<std::string, Options>> list;
  for (const char *reshard : {"default", "never", "always"})
    for (const char *recompute : {"none", "selective", "full"}) {
      Options pair = options;
      pair.reshard = reshard;
      pair.recompute = recompute;
      list.emplace_back("--reshard " + pair.reshard + " --recompute " +
                            pair.recompute,
                        std::move(pair));
    }
  if (rootModules.empty())
    return list;
  Options split = options;
  for (const std::string &module : rootModules)
    split.wrap += "," + module;
  list.emplace_back("--wrap '" + split.wrap + "'", std::move(split));
  return list;
}

std::vector<Alternative>
findAlternatives(const Options &options,
                 const std::vector<std::string> &rootModules,
                 const StepPlanner &plan) {
  std::vector<Alternative> found;
  for (const auto &[flags, changed] : listAlternatives(options, rootModules)) {
    const StatusOr<PlanReport> report = plan(changed);
    if (!report.ok())
      continue;
    Alternative alternative = {flags, report->memory.bytes,
                               report->memory.fits(), report->time.seconds};
    alternative.isAsked =
        changed.wrap == options.wrap && changeOf(changed, options).empty();
    auto same =
        std::find_if(found.begin(), found.end(), [&](const Alternative &other) {
          return other.bytes == alternative.bytes &&
                 other.seconds == alternative.seconds;
        });
    if (same == found.end())
      found.push_back(std::move(alternative));
    else if (alternative.isAsked)
      *same = std::move(alternative);
  }
  std::sort(found.begin(), found.end(),
            [](const Alternative &a, const Alternative &b) {
              return std::tuple(!a.fits, a.seconds, a.bytes) <
                     std::tuple(!b.fits, b.seconds, b.bytes);
            });
  return found;
}

/// The options with changes that take less memory, the smallest change first.
static std::vector<Options> smallerSteps(const Options &options) {
  std::vector<Options> steps;
  auto add = [&](const std::string &reshard, const std::string &recompute) {
    Options changed = options;
    changed.reshard = reshard;
    changed.recompute = recompute;
    if (!changeOf(changed, options).empty())
      steps.push_back(std::move(changed));
  };
  const bool mayRecompute = options.recompute == "none";
  if (mayRecompute)
    add(options.reshard, "selective");
  add("always", options.recompute);
  if (mayRecompute)
    add("always", "selective");
  add(options.reshard, "full");
  add("always", "full");
  return steps;
}

/// The same of options that change what is computed: smaller micro-batches,
/// then states of the optimizer in bf16.
static std::vector<Options> narrowerSteps(Options options) {
  std::vector<Options> steps;
  const auto batch = options.input.bindings.find(pt2::anyBatch);
  while (batch != options.input.bindings.end() && batch->second > 1) {
    batch->second = (batch->second + 1) / 2;
    steps.push_back(options);
  }
  if (options.optimizer != "sgd" && options.stateDtype.empty()) {
    options.stateDtype = "bf16";
    steps.push_back(std::move(options));
  }
  return steps;
}

std::optional<std::string> findChangeThatFits(const Options &options,
                                              const StepPlanner &plan) {
  auto fits = [&](const Options &changed) {
    const StatusOr<PlanReport> report = plan(changed);
    return report.ok() && report->memory.fits();
  };
  Options wider = options;
  for (const Options &step : smallerSteps(options)) {
    if (fits(step))
      return changeOf(step, options);
    wider = step;
  }
  for (const Options &step : narrowerSteps(wider))
    if (fits(step))
      return changeOf(step, options);
  constexpr int64_t maxTimes = 64;
  for (int64_t times = 2; times <= maxTimes; times *= 2) {
    wider.worldSize = options.worldSize * times;
    if (wider.worldSize > format::maxRanks)
      break;
    if (fits(wider))
      return changeOf(wider, options);
  }
  return std::nullopt;
}

std::string printAlternatives(const std::vector<Alternative> &alternatives) {
  Table table(/*left=*/4);
  table.add({"step time", "memory per rank", "", "fits", "  alternative"});
  for (const Alternative &each : alternatives)
    table.add({printSeconds(each.seconds), printCount(each.bytes),
               printBytes(each.bytes), each.fits ? "yes" : "no",
               (each.isAsked ? "> " : "  ") + each.flags});
  return "\n" + table.print() + "> is what was asked for\n";
}

} // namespace shardc
