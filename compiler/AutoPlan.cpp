//===- AutoPlan.cpp - What auto stands for --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A few compilations around a search for each way to group.
//===----------------------------------------------------------------------===//

#include "compiler/AutoPlan.h"

#include "compiler/OptionTable.h"
#include "compiler/PlanSpace.h"
#include "passes/CostModel/CommandTime.h"
#include "runtime/format/Quantities.h"

#include <algorithm>
#include <limits>
#include <regex>
#include <set>
#include <tuple>

namespace shardc {

bool isAuto(const Options &options) {
  return options.wrap == autoWord || options.reshard == autoWord ||
         options.recompute == autoWord || options.prefetch == autoWord;
}

namespace {

/// --wrap, and what a plan of such groups takes.
using GroupsForecast = std::pair<std::string, StepForecast>;

/// One search among the plans of a space.
class PlanChooser {
public:
  PlanChooser(PlanCompiler &compiler, const PlanRequest &request,
              PlanSpace space)
      : compiler(compiler), request(request), machine(request.machine),
        microBatches(request.microBatches), budget(request.budgetBytes),
        space(std::move(space)) {}

  /// What was found, or why nothing can be.
  AutoPlan chosen;

  /// Whether there is a group to explain, if one was asked about.
  int checkNames();
  /// Finds a plan. Returns 0 or an exit code.
  int search();
  /// Says what else there would have been: compiled plans of other groups, and
  /// `forecasts` of further ones.
  void finish(std::vector<GroupsForecast> forecasts,
              const std::vector<GroupsForecast> &compiledGroups);
  /// The plan that was found, as one of other groups.
  GroupsForecast describe() const {
    return {space.getWrap(), {best->time.seconds, best->memory.bytes}};
  }

  bool isBetterThan(const PlanChooser &other) const {
    return !other.best || isBetter(*best, *other.best);
  }

private:
  PlanCompiler &compiler;
  const PlanRequest &request;
  const format::Machine &machine;
  const int64_t microBatches;
  const int64_t budget;
  const PlanSpace space;
  double bound = std::numeric_limits<double>::infinity();
  /// Plans whose steps were compiled, and what the last one takes beyond its
  /// forecast.
  std::vector<StepPlan> compiled;
  int64_t excess = 0;
  /// The best of them.
  std::optional<PlanReport> best;
  StepPlan bestPlan;

  const StepGraph &graph() const { return space.getGraph(); }
  int checkBudget();
  int compilePlan(const StepPlan &plan);
  int tryHandPlans();
  StepForecast corrected(StepForecast its) const;
  StepForecast corrected(const StepPlan &plan) const;
  StepForecast minForecast(const StepPlan &plan) const;
  void explain();
  bool isBetter(const PlanReport &a, const PlanReport &b) const;
  std::string describePersistent() const;
  int failWith(const Status &status) {
    chosen.failure = status;
    return exitCode(status.code());
  }
};

} // namespace

/// The forecast of a plan, corrected by what the compiled step takes beyond the
/// forecast of its own.
StepForecast PlanChooser::corrected(StepForecast its) const {
  const StepForecast own = forecast(graph(), bestPlan);
  its.seconds *= best->time.seconds / own.seconds;
  its.bytes += best->memory.bytes - own.bytes;
  return its;
}

StepForecast PlanChooser::corrected(const StepPlan &plan) const {
  return corrected(forecast(graph(), plan));
}

/// The forecast, or the corrected one where that is less: either may be right.
StepForecast PlanChooser::minForecast(const StepPlan &plan) const {
  const StepForecast its = forecast(graph(), plan);
  const StepForecast other = best ? corrected(plan) : its;
  return {std::min(its.seconds, other.seconds),
          std::min(its.bytes, other.bytes)};
}

/// Every decision about the groups that were asked about, the others as they
/// are.
void PlanChooser::explain() {
  if (request.why.empty())
    return;
  const std::regex pattern(request.why);
  const StepForecast chosenForecast = corrected(bestPlan);
  for (size_t i = 0; i < graph().units.size(); ++i) {
    const StepUnit &unit = graph().units[i];
    if (!space.matches(unit, pattern))
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

/// What every plan needs, by kind.
std::string PlanChooser::describePersistent() const {
  const StatusOr<PlannedStep> step = compiler.tryToCompile(
      space.optionsOf(uniformPlan(graph(), RecomputeForm::None, "always")),
      machine);
  std::string text;
  if (!step.ok())
    return text;
  for (const MemoryPart &part :
       reportStep(*step, machine, microBatches).memory.parts)
    if (part.isPersistent && part.bytes > graph().persistentBytes / 1000)
      text +=
          (text.empty() ? "" : ", ") + part.name + " " + printBytes(part.bytes);
  return text;
}

int PlanChooser::checkNames() {
  const std::regex pattern(request.why);
  std::string names;
  for (const StepUnit &unit : graph().units) {
    if (request.why.empty() || space.matches(unit, pattern))
      return 0;
    names += (names.empty() ? "" : ", ") + shortGroupName(unit.group);
  }
  return failWith(Status(ErrorCode::E0202,
                         "--why: '" + request.why +
                             "' matches no group, and no module in a group")
                      .addNote("groups are " + names));
}

int PlanChooser::checkBudget() {
  if (budget >= graph().persistentBytes)
    return 0;
  return failWith(
      Status(ErrorCode::E0802, "the memory budget of " + printBytes(budget) +
                                   " is too small: every plan needs " +
                                   printBytes(graph().persistentBytes) +
                                   " in addition to activations and gathered "
                                   "parameters")
          .addNote("that is " + describePersistent()));
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// Faster, if both fit.
bool PlanChooser::isBetter(const PlanReport &a, const PlanReport &b) const {
  const bool fits = a.memory.bytes <= budget;
  if (fits != (b.memory.bytes <= budget))
    return fits;
  return fits ? a.time.seconds < b.time.seconds
              : a.memory.bytes < b.memory.bytes;
}

/// Compiles a plan and takes it if it is the best so far.
int PlanChooser::compilePlan(const StepPlan &plan) {
  const Options its = space.optionsOf(plan);
  PlannedStep step;
  if (int result = compiler.compile(its, machine, step))
    return result;
  compiled.push_back(plan);
  ++chosen.choice.compiled;
  const PlanReport report = reportStep(step, machine, microBatches);
  const StepForecast expected = forecast(graph(), plan);
  excess = report.memory.bytes - expected.bytes;
  if (best && !isBetter(report, *best))
    return 0;
  best = report;
  bestPlan = plan;
  chosen.options = its;
  chosen.step = std::move(step);
  chosen.choice.flags = flagsOf(its, request.options);
  chosen.choice.fits = report.memory.bytes <= budget;
  chosen.choice.forecastSeconds = expected.seconds;
  return 0;
}

/// Compiles plans that people choose as long as nothing fits, or one of them
/// should be faster than what was found: forecasts are not exact for all
/// models.
int PlanChooser::tryHandPlans() {
  std::vector<std::pair<std::string, StepPlan>> plans = space.handPlans(budget);
  std::vector<std::pair<StepForecast, StepPlan>> sorted;
  for (const auto &[name, plan] : plans)
    if (std::find(compiled.begin(), compiled.end(), plan) == compiled.end())
      sorted.emplace_back(minForecast(plan), plan);
  const bool anyFits = chosen.choice.fits;
  std::sort(sorted.begin(), sorted.end(), [&](const auto &a, const auto &b) {
    return anyFits ? a.first.seconds < b.first.seconds
                   : a.first.bytes < b.first.bytes;
  });
  constexpr double clearly = 0.99;
  constexpr int max = 4;
  int tried = 0;
  for (const auto &[its, plan] : sorted) {
    const bool isWorthIt =
        !chosen.choice.fits ||
        (its.bytes <= budget && its.seconds < clearly * best->time.seconds);
    if (tried == max || !isWorthIt)
      continue;
    ++tried;
    if (int result = compilePlan(plan))
      return result;
  }
  return 0;
}

int PlanChooser::search() {
  if (int result = checkBudget())
    return result;
  chosen.choice.budget = budget;
  constexpr int rounds = 3;
  // What a compilation has to promise once a plan fits.
  constexpr double faster = 0.997;
  for (int round = 0; round < rounds; ++round) {
    const PlanSearchResult found =
        searchPlan(graph(), budget - excess, space.getLimits());
    chosen.choice.forecasts += static_cast<int64_t>(found.forecasts);
    // Of all budgets that were searched, which differ by the excess.
    bound = std::min(bound, found.boundSeconds);
    if (std::find(compiled.begin(), compiled.end(), found.plan) !=
        compiled.end())
      break;
    if (chosen.choice.fits &&
        found.forecast.seconds > faster * forecast(graph(), bestPlan).seconds)
      break;
    if (int result = compilePlan(found.plan))
      return result;
  }
  return tryHandPlans();
}

/// What is told of these groups is corrected, so that the chosen plan's is the
/// compiled step. Of other groups, the fastest.
void PlanChooser::finish(std::vector<GroupsForecast> forecasts,
                         const std::vector<GroupsForecast> &compiledGroups) {
  PlanChoice &choice = chosen.choice;
  choice.boundSeconds = std::min(bound, choice.forecastSeconds) *
                        best->time.seconds / choice.forecastSeconds;
  choice.forecastSeconds = best->time.seconds;
  auto add = [&](const std::string &name, const StepForecast &its) {
    choice.compared.push_back(
        {name, its.seconds, its.bytes, its.bytes <= budget});
  };
  add("auto", corrected(bestPlan));
  std::set<std::string> named = {space.getWrap()};
  auto addGroups = [&](const GroupsForecast &groups) {
    if (named.insert(groups.first).second)
      add("--wrap '" + groups.first + "'", groups.second);
  };
  std::for_each(compiledGroups.begin(), compiledGroups.end(), addGroups);
  choice.compiledRows = choice.compared.size();
  auto rankOf = [&](const GroupsForecast &groups) {
    return std::tuple(groups.second.bytes > budget, groups.second.seconds,
                      groups.first);
  };
  std::sort(forecasts.begin(), forecasts.end(),
            [&](const GroupsForecast &a, const GroupsForecast &b) {
              return rankOf(a) < rankOf(b);
            });
  constexpr size_t max = 5;
  forecasts.resize(std::min(forecasts.size(), max));
  std::for_each(forecasts.begin(), forecasts.end(), addGroups);
  for (const auto &[name, plan] : space.handPlans(budget))
    if (plan != bestPlan)
      add(name, corrected(plan));
  explain();
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

namespace {

/// The groups that --wrap auto chooses of, with their best plans by forecast.
class GroupChooser {
public:
  GroupChooser(PlanCompiler &compiler, const PlanRequest &request)
      : compiler(compiler), request(request) {}

  /// Those of `blocks`, and others.
  void search(const PlanSpace &blocks);

  /// By --wrap.
  std::vector<GroupsForecast> forecasts;
  /// The best of the others.
  std::optional<PlanSpace> best;
  int64_t forecastPlans = 0, compiled = 0;

private:
  PlanCompiler &compiler;
  const PlanRequest &request;
  PlanSearchResult bestFound;

  std::optional<PlanSpace> splitRoot(const PlanSpace &blocks);
  bool isBetter(const PlanSearchResult &a, const PlanSearchResult &b) const;
  PlanSearchResult forecastBest(const PlanSpace &groups);
  void consider(const PlanSpace &groups);
  void considerJoined(const PlanSpace &single);
};

} // namespace

/// The groups of blocks with the root's modules wrapped too.
std::optional<PlanSpace> GroupChooser::splitRoot(const PlanSpace &blocks) {
  Options options = request.options;
  options.wrap = blocks.getWrap();
  const std::vector<std::string> modules = blocks.splittableModules();
  for (const std::string &module : modules)
    options.wrap += "," + module;
  PlanSpace groups(options, request.machine, request.microBatches);
  if (modules.empty() || !groups.tryToMeasure(compiler))
    return std::nullopt;
  compiled += groups.countCompiled();
  return groups;
}

bool GroupChooser::isBetter(const PlanSearchResult &a,
                            const PlanSearchResult &b) const {
  if (a.fits != b.fits)
    return a.fits;
  return a.fits ? a.forecast.seconds < b.forecast.seconds
                : a.forecast.bytes < b.forecast.bytes;
}

PlanSearchResult GroupChooser::forecastBest(const PlanSpace &groups) {
  PlanSearchResult found =
      searchPlan(groups.getGraph(), request.budgetBytes, groups.getLimits());
  forecastPlans += static_cast<int64_t>(found.forecasts);
  forecasts.emplace_back(groups.getWrap(), found.forecast);
  return found;
}

void GroupChooser::consider(const PlanSpace &groups) {
  PlanSearchResult found = forecastBest(groups);
  if (best && !isBetter(found, bestFound))
    return;
  best = groups;
  bestFound = std::move(found);
}

/// 2, 3, 4, 6, 8, 12, … blocks to a group, up to all of them.
void GroupChooser::considerJoined(const PlanSpace &single) {
  auto join = [&](size_t count) {
    if (const std::optional<PlanSpace> joined =
            single.withBlocksJoined(count, compiler)) {
      compiled += joined->countCompiled();
      consider(*joined);
    }
  };
  const size_t blocks = single.countBlocks();
  for (size_t count = 2; count / 2 < blocks; count *= 2) {
    join(count);
    if (count < blocks && count + count / 2 < 2 * blocks)
      join(count + count / 2);
  }
}

void GroupChooser::search(const PlanSpace &blocks) {
  forecastBest(blocks);
  considerJoined(blocks);
  if (const std::optional<PlanSpace> split = splitRoot(blocks)) {
    consider(*split);
    considerJoined(*split);
  }
}

/// Forecasts of joined groups are of merged measurements, so both single blocks
/// and the best of the others are compiled.
static int chooseGroups(PlanCompiler &compiler, const PlanRequest &request,
                        const PlanSpace &blocks, AutoPlan &chosen) {
  GroupChooser groups(compiler, request);
  groups.search(blocks);
  PlanChooser single(compiler, request, blocks);
  if (int result = single.search()) {
    chosen.failure = single.chosen.failure;
    return result;
  }
  int64_t compiled = groups.compiled + blocks.countCompiled();
  int64_t forecasts = groups.forecastPlans;
  auto count = [&](const PlanChooser &chooser) {
    compiled += chooser.chosen.choice.compiled;
    forecasts += chooser.chosen.choice.forecasts;
  };
  count(single);
  PlanChooser *better = &single;
  std::vector<GroupsForecast> others;
  std::optional<PlanChooser> other;
  if (groups.best) {
    other.emplace(compiler, request, *groups.best);
    const bool isFound = other->search() == 0;
    count(*other);
    if (isFound && other->isBetterThan(single)) {
      better = &*other;
      others.push_back(single.describe());
    } else if (isFound) {
      others.push_back(other->describe());
    }
  }
  if (int result = better->checkNames()) {
    chosen.failure = better->chosen.failure;
    return result;
  }
  better->finish(groups.forecasts, others);
  chosen = std::move(better->chosen);
  chosen.choice.compiled = compiled;
  chosen.choice.forecasts = forecasts;
  return 0;
}

int choosePlan(PlanCompiler &compiler, const PlanRequest &request,
               AutoPlan &chosen) {
  Options options = request.options;
  const bool isWrapAuto = options.wrap == autoWord;
  if (isWrapAuto)
    options.wrap = "blocks";
  PlanSpace space(options, request.machine, request.microBatches);
  if (int result = space.measure(compiler, chosen.failure))
    return result;
  if (isWrapAuto)
    return chooseGroups(compiler, request, space, chosen);
  const int64_t compiled = space.countCompiled();
  PlanChooser chooser(compiler, request, std::move(space));
  int result = chooser.checkNames();
  if (result == 0)
    result = chooser.search();
  if (result == 0)
    chooser.finish({}, {});
  chosen = std::move(chooser.chosen);
  chosen.choice.compiled += compiled;
  return result;
}

int64_t budgetOf(const Options &options, const format::Machine &machine) {
  return parseBytes(options.memoryBudget)
      .value_or(static_cast<int64_t>(machine.memory.bytes.value) /
                ranksOnProcessor(machine, options.worldSize));
}

} // namespace shardc
