//===- AutoPlan.cpp - --reshard auto, --recompute auto, --prefetch auto ---===//
// SPDX-License-Identifier: Apache-2.0
//
// A few compilations around a search.
//===----------------------------------------------------------------------===//

#include "compiler/AutoPlan.h"

#include "compiler/OptionTable.h"
#include "compiler/Plan/Quantities.h"
#include "compiler/Plan/StepGraphBuilder.h"
#include "passes/CostModel/CollectiveTime.h"
#include "passes/CostModel/CommandTime.h"
#include "passes/CostModel/PlanSearch.h"
#include "passes/Group/Rules.h"

#include <algorithm>
#include <iostream>
#include <limits>
#include <map>
#include <regex>
#include <set>

namespace shardc {

static constexpr std::string_view autoWord = "auto";

bool isAuto(const Options &options) {
  return options.reshard == autoWord || options.recompute == autoWord ||
         options.prefetch == autoWord;
}

namespace {

/// One search for a model.
class PlanChooser {
public:
  PlanChooser(PlanCompiler &compiler, const PlanRequest &request,
              AutoPlan &chosen)
      : compiler(compiler), request(request), options(request.options),
        machine(request.machine), microBatches(request.microBatches),
        budget(request.budgetBytes), chosen(chosen) {}

  int run();

private:
  PlanCompiler &compiler;
  const PlanRequest &request;
  const Options &options;
  const format::Machine &machine;
  const int64_t microBatches;
  const int64_t budget;
  AutoPlan &chosen;
  std::map<RecomputeForm, PlannedStep> steps;
  StepGraph graph;
  SearchLimits limits;
  /// By group: keys that the user's rules say.
  std::map<std::string, std::set<std::string>> ruled;
  /// Plans whose steps were compiled, and what the last one takes beyond its
  /// forecast.
  std::vector<StepPlan> compiled;
  int64_t excess = 0;
  /// The best of them.
  std::optional<PlanReport> best;
  StepPlan bestPlan;

  int compileForms(bool isShort);
  int measure();
  void findRules();
  ReshardChoice reshardChoice(const StepUnit &unit,
                              const std::string &word) const;
  std::vector<ReshardChoice> reshardChoices(const StepUnit &unit) const;
  bool isKeptByDefault(const StepUnit &unit) const;
  std::string wordOf(const StepUnit &unit) const;
  void setChoices();
  std::vector<std::pair<std::string, StepPlan>> handPlans() const;
  int compilePlan(const StepPlan &plan);
  int tryHandPlans();
  StepForecast corrected(const StepPlan &plan) const;
  StepForecast leastForecast(const StepPlan &plan) const;
  void compare();
  void keepDefault(StepPlan &plan) const;
  void explain();
  Options optionsOf(const StepPlan &plan) const;
  int checkNames() const;
  int prepare();
  bool isBetter(const PlanReport &report) const;
  std::string describePersistent() const;
  std::string describeParts(const format::Artifact &artifact) const;
  int failWith(const Status &status) const {
    chosen.failure = status;
    return exitCode(status.code());
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// The graph and its choices
//===----------------------------------------------------------------------===//

/// One step with each form, or the one that was asked for; all of them reshard
/// every group that has no rule of its own. Equal layers are left out of short
/// ones.
int PlanChooser::compileForms(bool isShort) {
  std::vector<RecomputeForm> forms = {RecomputeForm::None};
  if (options.recompute == autoWord)
    forms = {RecomputeForm::None, RecomputeForm::Selective,
             RecomputeForm::Full};
  for (const RecomputeForm form : forms) {
    Options uniform = options;
    if (options.recompute == autoWord)
      uniform.recompute = recomputeForms[static_cast<size_t>(form)];
    uniform.reshard = "always";
    if (options.prefetch == autoWord)
      uniform.prefetch = "1";
    ++chosen.choice.compiled;
    if (isShort) {
      StatusOr<PlannedStep> step = compiler.tryToCompileShort(uniform, machine);
      if (!step.ok())
        return 1;
      steps[form] = std::move(*step);
    } else if (int result = compiler.compile(uniform, machine, steps[form])) {
      return result;
    }
  }
  return 0;
}

int PlanChooser::measure() {
  std::map<RecomputeForm, const format::Artifact *> artifacts;
  for (const auto &[form, step] : steps)
    artifacts[form] = &step.artifact;
  std::optional<StepGraph> built = buildStepGraph(
      artifacts, steps.begin()->second.units, steps.begin()->second.repeated,
      machine, microBatches, options.runtime);
  if (!built)
    return failWith(
        Status(ErrorCode::E0803,
               "auto cannot plan this model: forward and backward do not "
               "come to its groups in one order, whatever is "
               "recomputed")
            .setHelp("say --reshard, --recompute and --prefetch"));
  graph = std::move(*built);
  return 0;
}

/// Which keys rules of the user's say, by group.
void PlanChooser::findRules() {
  const std::vector<PlannedUnit> &units = steps.begin()->second.units;
  std::vector<std::vector<std::string>> names;
  for (const PlannedUnit &unit : units)
    names.push_back(unit.modules.empty() ? std::vector<std::string>{""}
                                         : unit.modules);
  // The steps have been compiled with these rules.
  const RuleSelection selection = selectRules(
      names, parseRules(options.moduleRules, moduleRuleKeys()).rules);
  for (size_t i = 0; i < units.size(); ++i)
    for (const auto &[key, rule] : selection.chosen[i])
      ruled[units[i].group].insert(key);
}

/// What `word` of --reshard, which is not "default", means for a unit whose
/// only choice is to reshard.
ReshardChoice PlanChooser::reshardChoice(const StepUnit &unit,
                                         const std::string &word) const {
  if (!unit.backward || word == "always")
    return unit.reshardChoices.front();
  if (word == "never")
    return {word, unit.gatheredBytes, std::nullopt};
  const int64_t ranks = std::atoll(word.c_str());
  const CollectiveTime again =
      collectiveTime(format::CommandKind::AllGather, unit.gatheredBytes,
                     placesOf(format::shardMesh(ranks), {0}, machine), machine);
  return {word, unit.gatheredBytes / ranks,
          Transfer{again.seconds, again.level},
          /*isPartial=*/true};
}

/// To keep it, to free it, and to keep it among the ranks of a node.
std::vector<ReshardChoice>
PlanChooser::reshardChoices(const StepUnit &unit) const {
  if (!unit.backward || unit.gatheredBytes == 0)
    return {unit.reshardChoices.front()};
  std::vector<ReshardChoice> choices = {reshardChoice(unit, "never"),
                                        reshardChoice(unit, "always")};
  const int64_t shards = options.worldSize / options.replicate;
  for (const format::NetworkLevel &level : machine.levels)
    if (level.ranks > 1 && level.ranks < shards && shards % level.ranks == 0)
      choices.push_back(reshardChoice(unit, std::to_string(level.ranks)));
  return choices;
}

/// Whether --reshard default keeps the unit: the one that forward uses last, in
/// PyTorch the root's.
bool PlanChooser::isKeptByDefault(const StepUnit &unit) const {
  if (options.runtime != "fsdp2")
    return std::all_of(graph.units.begin(), graph.units.end(),
                       [&](const StepUnit &other) {
                         return other.forwardEnd <= unit.forwardEnd;
                       });
  const std::vector<PlannedUnit> &units = steps.begin()->second.units;
  return std::any_of(units.begin(), units.end(), [&](const PlannedUnit &each) {
    return each.group == unit.group && each.modules.empty();
  });
}

/// What --reshard means for the unit.
std::string PlanChooser::wordOf(const StepUnit &unit) const {
  if (options.reshard != "default")
    return options.reshard;
  return isKeptByDefault(unit) || options.pipelineStage ? "never" : "always";
}

/// The root's own operators are never computed again.
void PlanChooser::setChoices() {
  findRules();
  std::set<std::string> roots;
  for (const PlannedUnit &unit : steps.begin()->second.units)
    if (unit.modules.empty())
      roots.insert(unit.group);
  for (StepUnit &unit : graph.units) {
    if (options.recompute == autoWord && !roots.contains(unit.group) &&
        !ruled[unit.group].contains("recompute"))
      dropUselessForms(unit);
    else
      unit.formChoices.resize(1);
    if (options.reshard == autoWord &&
        !ruled[unit.group].contains("reshard_after_forward"))
      unit.reshardChoices = reshardChoices(unit);
    else if (options.reshard != autoWord)
      unit.reshardChoices = {reshardChoice(unit, wordOf(unit))};
  }
  limits.prefetchChoices = {1, 2, 3};
  if (options.prefetch != autoWord)
    limits.prefetchChoices = {
        static_cast<size_t>(std::atoll(options.prefetch.c_str()))};
}

//===----------------------------------------------------------------------===//
// Plans as options
//===----------------------------------------------------------------------===//

/// The word that most units have, the first of several; without any, `other`.
static std::string mostCommon(const std::vector<std::string> &words,
                              const std::string &other) {
  std::map<std::string, size_t> counts;
  std::string most = other;
  for (const std::string &word : words)
    if (++counts[word] > counts[most])
      most = word;
  return most;
}

Options PlanChooser::optionsOf(const StepPlan &plan) const {
  const std::vector<PlannedUnit> &units = steps.begin()->second.units;
  auto ruledKeys = [&](const std::string &group) {
    const auto found = ruled.find(group);
    return found == ruled.end() ? std::set<std::string>() : found->second;
  };
  auto modulesOf = [&](const std::string &group) {
    for (const PlannedUnit &unit : units)
      if (unit.group == group)
        return unit.modules;
    return std::vector<std::string>();
  };
  Options found = options;
  if (options.prefetch == autoWord)
    found.prefetch = std::to_string(plan.prefetch);
  std::vector<Rule> rules =
      parseRules(options.moduleRules, moduleRuleKeys()).rules;
  // Of the words of units that the plan decides on, the most common one is that
  // of all groups, and the others get rules behind the user's.
  auto decide = [&](std::string &all, const std::string &key, auto isDecided,
                    auto wordOf) {
    if (all != autoWord)
      return;
    std::vector<std::string> words;
    std::vector<size_t> decided;
    for (size_t i = 0; i < graph.units.size(); ++i)
      if (isDecided(graph.units[i])) {
        decided.push_back(i);
        words.push_back(wordOf(i));
      }
    all = mostCommon(words, wordOf(0));
    std::map<std::string, std::vector<std::string>> others;
    for (const size_t i : decided) {
      if (wordOf(i) == all)
        continue;
      const std::vector<std::string> modules = modulesOf(graph.units[i].group);
      std::vector<std::string> &its = others[wordOf(i)];
      if (modules.empty()) // The root's name is empty.
        rules.push_back({"", {{key, wordOf(i)}}});
      its.insert(its.end(), modules.begin(), modules.end());
    }
    for (const auto &[word, modules] : others)
      if (!modules.empty())
        rules.push_back({patternOfNames(modules), {{key, word}}});
  };
  decide(
      found.recompute, "recompute",
      [&](const StepUnit &unit) {
        return !modulesOf(unit.group).empty() &&
               !ruledKeys(unit.group).contains("recompute");
      },
      [&](size_t i) {
        return std::string(recomputeForms[static_cast<size_t>(
            graph.units[i].formChoices[plan.units[i].form])]);
      });
  decide(
      found.reshard, "reshard_after_forward",
      [](const StepUnit &unit) { return unit.reshardChoices.size() > 1; },
      [&](size_t i) {
        return graph.units[i].reshardChoices[plan.units[i].reshard].word;
      });
  found.moduleRules = printRules(rules);
  return found;
}

/// The words of --reshard, --recompute and --prefetch, and the rules.
static std::string flagsOf(const Options &options) {
  std::string flags;
  for (const auto &[flag, value] : {std::pair("--reshard", options.reshard),
                                    {"--recompute", options.recompute},
                                    {"--prefetch", options.prefetch}})
    flags += (flags.empty() ? "" : " ") + std::string(flag) + " " + value;
  if (!options.moduleRules.empty())
    flags += " --module-rules '" + options.moduleRules + "'";
  return flags;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// The plans that people choose, by name, where they differ.
std::vector<std::pair<std::string, StepPlan>> PlanChooser::handPlans() const {
  std::vector<std::pair<std::string, StepPlan>> plans;
  auto add = [&](const std::string &name, const StepPlan &plan) {
    if (std::none_of(plans.begin(), plans.end(),
                     [&](const auto &other) { return other.second == plan; }))
      plans.emplace_back(name, plan);
  };
  const size_t prefetch = limits.prefetchChoices.front();
  for (const auto &[form, step] : steps)
    for (const std::string word : {"never", "default", "always"}) {
      StepPlan plan =
          uniformPlan(graph, form, word == "never" ? word : "always", prefetch);
      if (word == "default")
        keepDefault(plan);
      std::string name = options.reshard == autoWord ? word : "";
      if (options.recompute == autoWord)
        name += (name.empty() ? "" : ", ") +
                std::string(recomputeForms[static_cast<size_t>(form)]);
      add(name.empty() ? "prefetch " + std::to_string(prefetch) : name, plan);
    }
  add("greedy", greedyPlan(graph, budget, prefetch));
  return plans;
}

/// The forecast of a plan, corrected by what the compiled step takes beyond the
/// forecast of its own.
StepForecast PlanChooser::corrected(const StepPlan &plan) const {
  const StepForecast own = forecast(graph, bestPlan);
  StepForecast its = forecast(graph, plan);
  its.seconds *= best->time.seconds / own.seconds;
  its.bytes += best->memory.bytes - own.bytes;
  return its;
}

/// The forecast, or the corrected one where that is less: either may be right.
StepForecast PlanChooser::leastForecast(const StepPlan &plan) const {
  const StepForecast its = forecast(graph, plan);
  const StepForecast other = best ? corrected(plan) : its;
  return {std::min(its.seconds, other.seconds),
          std::min(its.bytes, other.bytes)};
}

/// What was found and the plans that people choose, under the same forecast.
void PlanChooser::compare() {
  auto add = [&](const std::string &name, const StepPlan &plan) {
    const StepForecast its = corrected(plan);
    chosen.choice.compared.push_back(
        {name, its.seconds, its.bytes, its.bytes <= budget});
  };
  add("auto", bestPlan);
  for (const auto &[name, plan] : handPlans())
    if (plan != bestPlan)
      add(name, plan);
}

/// Every decision about the groups that were asked about, the others as they
/// are.
void PlanChooser::explain() {
  if (request.why.empty())
    return;
  const std::regex pattern(request.why);
  const StepForecast chosenForecast = corrected(bestPlan);
  for (size_t i = 0; i < graph.units.size(); ++i) {
    const StepUnit &unit = graph.units[i];
    if (!std::regex_match(unit.group, pattern))
      continue;
    for (size_t form = 0; form < unit.formChoices.size(); ++form)
      for (size_t reshard = 0; reshard < unit.reshardChoices.size();
           ++reshard) {
        StepPlan plan = bestPlan;
        plan.units[i] = {form, reshard};
        const StepForecast other = corrected(plan);
        chosen.choice.explained.push_back(
            {unit.group, unit.reshardChoices[reshard].word,
             std::string(
                 recomputeForms[static_cast<size_t>(unit.formChoices[form])]),
             plan == bestPlan, other.seconds - chosenForecast.seconds,
             other.bytes - chosenForecast.bytes, other.bytes <= budget});
      }
  }
}

/// What --reshard default does not reshard.
void PlanChooser::keepDefault(StepPlan &plan) const {
  for (size_t i = 0; i < graph.units.size(); ++i) {
    const std::vector<ReshardChoice> &choices = graph.units[i].reshardChoices;
    for (size_t j = 0; isKeptByDefault(graph.units[i]) && j < choices.size();
         ++j)
      if (choices[j].word == "never")
        plan.units[i].reshard = j;
  }
}

/// What every plan needs, by kind. The groups that were left out of short steps
/// are in no part of theirs.
std::string PlanChooser::describePersistent() const {
  if (!steps.begin()->second.repeated.empty()) {
    const StatusOr<PlannedStep> whole = compiler.tryToCompile(
        optionsOf(uniformPlan(graph, RecomputeForm::None, "always")), machine);
    if (whole.ok())
      return describeParts(whole->artifact);
  }
  return describeParts(steps.begin()->second.artifact);
}

std::string PlanChooser::describeParts(const format::Artifact &artifact) const {
  std::string text;
  for (const MemoryPart &part : reportPlan(artifact, machine, microBatches,
                                           std::nullopt, options.runtime)
                                    .memory.parts)
    if (part.isPersistent && part.bytes > graph.persistentBytes / 1000)
      text +=
          (text.empty() ? "" : ", ") + part.name + " " + printBytes(part.bytes);
  return text;
}

/// Whether there is a group to explain, if one was asked about.
int PlanChooser::checkNames() const {
  const std::regex pattern(request.why);
  std::string names;
  for (const StepUnit &unit : graph.units) {
    if (request.why.empty() || std::regex_match(unit.group, pattern))
      return 0;
    names += (names.empty() ? "" : ", ") + unit.group;
  }
  return failWith(
      Status(ErrorCode::E0202, "--why: no group matches '" + request.why + "'")
          .addNote("groups are " + names));
}

int PlanChooser::prepare() {
  // What is wrong with the model is said of all of it.
  if (compileForms(/*isShort=*/true) != 0)
    if (int result = compileForms(/*isShort=*/false))
      return result;
  if (int result = measure())
    return result;
  setChoices();
  if (budget < graph.persistentBytes)
    return failWith(Status(ErrorCode::E0802,
                           "the memory budget of " + printBytes(budget) +
                               " is " +
                               printBytes(graph.persistentBytes - budget) +
                               " below what every plan needs beside its arena")
                        .addNote("they are " + describePersistent()));
  chosen.choice.budget = budget;
  return checkNames();
}

/// Whether `report` is better than what was compiled before.
bool PlanChooser::isBetter(const PlanReport &report) const {
  const bool fits = report.memory.bytes <= budget;
  if (!best || fits != chosen.choice.fits)
    return !best || fits;
  return fits ? report.time.seconds < best->time.seconds
              : report.memory.bytes < best->memory.bytes;
}

/// Compiles a plan and takes it if it is the best so far.
int PlanChooser::compilePlan(const StepPlan &plan) {
  const Options its = optionsOf(plan);
  PlannedStep step;
  if (int result = compiler.compile(its, machine, step))
    return result;
  compiled.push_back(plan);
  ++chosen.choice.compiled;
  const PlanReport report = reportStep(step, machine, microBatches);
  const StepForecast expected = forecast(graph, plan);
  excess = report.memory.bytes - expected.bytes;
  if (!isBetter(report))
    return 0;
  best = report;
  bestPlan = plan;
  chosen.options = its;
  chosen.step = std::move(step);
  chosen.choice.flags = flagsOf(its);
  chosen.choice.fits = report.memory.bytes <= budget;
  chosen.choice.forecastSeconds = expected.seconds;
  return 0;
}

/// Compiles plans that people choose as long as nothing fits, or one of them
/// should be faster than what was found: forecasts are not exact for all
/// models.
int PlanChooser::tryHandPlans() {
  std::vector<std::pair<std::string, StepPlan>> plans = handPlans();
  std::vector<std::pair<StepForecast, StepPlan>> sorted;
  for (const auto &[name, plan] : plans)
    if (std::find(compiled.begin(), compiled.end(), plan) == compiled.end())
      sorted.emplace_back(leastForecast(plan), plan);
  const bool anyFits = chosen.choice.fits;
  std::sort(sorted.begin(), sorted.end(), [&](const auto &a, const auto &b) {
    return anyFits ? a.first.seconds < b.first.seconds
                   : a.first.bytes < b.first.bytes;
  });
  constexpr double clearly = 0.99;
  constexpr int most = 4;
  int tried = 0;
  for (const auto &[its, plan] : sorted) {
    const bool isWorthIt =
        !chosen.choice.fits ||
        (its.bytes <= budget && its.seconds < clearly * best->time.seconds);
    if (tried == most || !isWorthIt)
      continue;
    ++tried;
    if (int result = compilePlan(plan))
      return result;
  }
  return 0;
}

int PlanChooser::run() {
  if (int result = prepare())
    return result;
  double bound = std::numeric_limits<double>::infinity();
  constexpr int rounds = 3;
  // What a compilation has to promise once a plan fits.
  constexpr double faster = 0.997;
  for (int round = 0; round < rounds; ++round) {
    const PlanSearchResult found = searchPlan(graph, budget - excess, limits);
    chosen.choice.forecasts += static_cast<int64_t>(found.forecasts);
    // Of all budgets that were searched, which differ by the excess.
    bound = std::min(bound, found.boundSeconds);
    if (std::find(compiled.begin(), compiled.end(), found.plan) !=
        compiled.end())
      break;
    if (chosen.choice.fits &&
        found.forecast.seconds > faster * forecast(graph, bestPlan).seconds)
      break;
    if (int result = compilePlan(found.plan))
      return result;
  }
  if (int result = tryHandPlans())
    return result;
  // What is told is corrected, so that the chosen plan's is the compiled step.
  chosen.choice.boundSeconds = std::min(bound, chosen.choice.forecastSeconds) *
                               best->time.seconds /
                               chosen.choice.forecastSeconds;
  chosen.choice.forecastSeconds = best->time.seconds;
  compare();
  explain();
  return 0;
}

int choosePlan(PlanCompiler &compiler, const PlanRequest &request,
               AutoPlan &chosen) {
  return PlanChooser(compiler, request, chosen).run();
}

int64_t budgetOf(const Options &options, const format::Machine &machine) {
  return parseBytes(options.memoryBudget)
      .value_or(static_cast<int64_t>(machine.memory.bytes.value) /
                ranksOnProcessor(machine, options.worldSize));
}

} // namespace shardc
