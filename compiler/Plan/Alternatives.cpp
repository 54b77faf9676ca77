//===- Alternatives.cpp - What other choices would give -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Nine steps at most.
//===----------------------------------------------------------------------===//

#include "compiler/Plan/Alternatives.h"

#include "compiler/Plan/PlanReport.h"
#include "compiler/Plan/Table.h"
#include "runtime/format/Mesh.h"

#include <algorithm>
#include <tuple>

namespace shardc {

/// What of `alternative` differs from `options`, as flags.
static std::string changeOf(const Alternative &alternative,
                            const Options &options) {
  std::string flags;
  if (alternative.reshard != options.reshard)
    flags += " --reshard " + alternative.reshard;
  if (alternative.recompute != options.recompute)
    flags += " --recompute " + alternative.recompute;
  return flags.empty() ? flags : flags.substr(1);
}

/// The options with each pair of policies.
static std::vector<Options> pairsOfPolicies(const Options &options) {
  std::vector<Options> pairs;
  for (const char *reshard : {"default", "never", "always"})
    for (const char *recompute : {"none", "selective", "full"}) {
      pairs.push_back(options);
      pairs.back().reshard = reshard;
      pairs.back().recompute = recompute;
    }
  return pairs;
}

static Alternative toAlternative(const Options &options,
                                 const format::Artifact &artifact,
                                 const format::Machine &machine,
                                 int64_t microBatches) {
  const PlanReport report = reportPlan(artifact, machine, microBatches);
  return {options.reshard, options.recompute, report.memory.bytes,
          report.memory.fits(), report.time.seconds};
}

std::vector<Alternative> findAlternatives(const Options &options,
                                          const format::Machine &machine,
                                          int64_t microBatches,
                                          const StepCompiler &compile) {
  std::vector<Alternative> found;
  for (const Options &pair : pairsOfPolicies(options)) {
    const std::optional<format::Artifact> artifact = compile(pair);
    if (!artifact)
      continue;
    Alternative alternative =
        toAlternative(pair, *artifact, machine, microBatches);
    alternative.isAsked = changeOf(alternative, options).empty();
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

std::optional<std::string>
findChangeThatFits(const std::vector<Alternative> &alternatives,
                   const Options &options, const format::Machine &machine,
                   int64_t microBatches, const StepCompiler &compile) {
  if (alternatives.empty())
    return std::nullopt;
  if (alternatives.front().fits)
    return changeOf(alternatives.front(), options);
  const Alternative &least =
      *std::min_element(alternatives.begin(), alternatives.end(),
                        [](const Alternative &a, const Alternative &b) {
                          return a.bytes < b.bytes;
                        });
  Options wider = options;
  wider.reshard = least.reshard;
  wider.recompute = least.recompute;
  constexpr int64_t mostTimes = 64;
  for (int64_t times = 2; times <= mostTimes; times *= 2) {
    wider.worldSize = options.worldSize * times;
    if (wider.worldSize > format::mostRanks)
      break;
    const std::optional<format::Artifact> artifact = compile(wider);
    if (artifact &&
        reportPlan(*artifact, machine, microBatches).memory.fits()) {
      const std::string change = changeOf(least, options);
      return "--world-size " + std::to_string(wider.worldSize) +
             (change.empty() ? "" : " " + change);
    }
  }
  return std::nullopt;
}

std::string printAlternatives(const std::vector<Alternative> &alternatives) {
  Table table;
  table.add({"alternative", "memory of a rank", "fits", "a step"});
  for (const Alternative &each : alternatives)
    table.add({(each.isAsked ? "> --reshard " : "  --reshard ") + each.reshard +
                   " --recompute " + each.recompute,

               printBytes(each.bytes), each.fits ? "yes" : "no",
               printSeconds(each.seconds)});
  return "\n" + table.print();
}

} // namespace shardc
