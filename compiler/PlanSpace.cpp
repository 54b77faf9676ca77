//===- PlanSpace.cpp - What a plan may be, for one way to group -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A few compilations, then plain data.
//===----------------------------------------------------------------------===//

#include "compiler/PlanSpace.h"

#include "compiler/Plan/StepGraphBuilder.h"
#include "passes/CostModel/CommandTime.h"
#include "passes/Group/Rules.h"
#include "passes/Group/Wrapping.h"

#include <algorithm>
#include <cstdlib>

namespace shardc {

static constexpr std::string_view blocksEntry = "blocks";

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

/// All groups are resharded that have no rule of their own.
Options PlanSpace::uniformOptions(RecomputeForm form) const {
  Options uniform = options;
  if (options.recompute == autoWord)
    uniform.recompute = recomputeForms[static_cast<size_t>(form)];
  uniform.reshard = "always";
  if (options.prefetch == autoWord)
    uniform.prefetch = "1";
  return uniform;
}

/// Equal layers are left out of short steps.
std::optional<PlanSpace::Steps>
PlanSpace::compileShort(PlanCompiler &compiler) {
  forms = {RecomputeForm::None};
  if (options.recompute == autoWord)
    forms = {RecomputeForm::None, RecomputeForm::Selective,
             RecomputeForm::Full};
  Steps steps;
  for (const RecomputeForm form : forms) {
    ++compiled;
    StatusOr<PlannedStep> step =
        compiler.tryToCompileShort(uniformOptions(form), *machine);
    if (!step.ok())
      return std::nullopt;
    steps[form] = std::move(*step);
  }
  return steps;
}

bool PlanSpace::takeSteps(Steps steps) {
  std::map<RecomputeForm, const format::Artifact *> artifacts;
  for (const auto &[form, step] : steps)
    artifacts[form] = &step.artifact;
  const PlannedStep &first = steps.begin()->second;
  std::optional<StepGraph> built =
      buildStepGraph(artifacts, first.units, first.repeated, *machine,
                     microBatches, options.runtime);
  if (!built)
    return false;
  measured = std::move(*built);
  units = first.units;
  rootModules = first.rootModules;
  mesh = first.artifact.manifest.mesh;
  findRules();
  setChoices();
  return true;
}

int PlanSpace::measure(PlanCompiler &compiler, Status &failure) {
  std::optional<Steps> steps = compileShort(compiler);
  // What is wrong with the model is said of all of it.
  if (!steps) {
    steps.emplace();
    for (const RecomputeForm form : forms) {
      ++compiled;
      if (int result =
              compiler.compile(uniformOptions(form), *machine, (*steps)[form]))
        return result;
    }
  }
  if (takeSteps(std::move(*steps)))
    return 0;
  failure = Status(ErrorCode::E0803,
                   "auto cannot plan this model: with every recompute policy, "
                   "forward and backward use its groups in inconsistent "
                   "orders")
                .setHelp("set --reshard, --recompute and --prefetch");
  return exitCode(failure.code());
}

bool PlanSpace::tryToMeasure(PlanCompiler &compiler) {
  std::optional<Steps> steps = compileShort(compiler);
  return steps && takeSteps(std::move(*steps));
}

//===----------------------------------------------------------------------===//
// Other groups
//===----------------------------------------------------------------------===//

const PlannedUnit &PlanSpace::unitOf(const std::string &group) const {
  return *std::find_if(
      units.begin(), units.end(),
      [&](const PlannedUnit &unit) { return unit.group == group; });
}

bool PlanSpace::matches(const StepUnit &unit, const std::regex &pattern) const {
  std::vector<std::string> names = unitOf(unit.group).modules;
  names.push_back(unit.group);
  return std::any_of(names.begin(), names.end(), [&](const std::string &name) {
    return std::regex_match(name, pattern);
  });
}

/// Groups that one module has alone, in the order of forward, of those that no
/// other entry of --wrap names.
std::vector<std::string> PlanSpace::blocks() const {
  const std::vector<std::string> entries = splitPatterns(options.wrap);
  std::vector<std::string> found;
  if (std::find(entries.begin(), entries.end(), blocksEntry) == entries.end())
    return found;
  for (const StepUnit &unit : graph.units)
    if (const std::vector<std::string> &modules = unitOf(unit.group).modules;
        modules.size() == 1 && std::find(entries.begin(), entries.end(),
                                         modules.front()) == entries.end())
      found.push_back(modules.front());
  return found;
}

std::vector<std::string> PlanSpace::splittableModules() const {
  return units.size() > 1 ? rootModules : std::vector<std::string>();
}

/// On the communicators of all ranks of a replica, and of all replicas. Before
/// a gather parameters are cast or copied, by a command of its own.
CollectiveTime PlanSpace::timeOf(TransferKind kind, int64_t bytes) const {
  const bool isOverReplicas = kind == TransferKind::SumOverReplicas;
  std::vector<int64_t> axes;
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
    if ((mesh.axes[axis].name == "replicate") == isOverReplicas)
      axes.push_back(static_cast<int64_t>(axis));
  if (axes.empty())
    return {};
  const format::CommandKind command =
      kind == TransferKind::Gather      ? format::CommandKind::AllGather
      : kind == TransferKind::Reduction ? format::CommandKind::ReduceScatter
                                        : format::CommandKind::AllReduce;
  CollectiveTime its =
      collectiveTime(command, bytes, placesOf(mesh, axes, *machine), *machine);
  if (its.seconds > 0 && kind == TransferKind::Gather)
    its.seconds += machine->processor.commandSeconds.value;
  return its;
}

/// --wrap with `count` blocks to a group.
std::string PlanSpace::wrapOfJoined(size_t count) const {
  std::string wrap;
  for (const std::string &entry : splitPatterns(options.wrap)) {
    wrap += (wrap.empty() ? "" : ",") + entry;
    if (entry == blocksEntry)
      wrap += ":" + std::to_string(count);
  }
  return wrap;
}

std::optional<PlanSpace>
PlanSpace::withBlocksJoined(size_t count, PlanCompiler &compiler) const {
  const std::vector<std::map<std::string, size_t>> rules = rulesOfUnits();
  auto numberOf = [&](const std::string &module) {
    return std::find_if(units.begin(), units.end(),
                        [&](const PlannedUnit &unit) {
                          return unit.modules == std::vector{module};
                        }) -
           units.begin();
  };
  PlanSpace other = *this;
  std::vector<MergedGroups> rows;
  for (const WrappedModules &modules : joinBlocks(blocks(), count)) {
    PlannedUnit joined = units[numberOf(modules.front())];
    joined.modules = modules;
    MergedGroups row;
    for (const std::string &module : modules) {
      if (rules[numberOf(module)] != rules[numberOf(modules.front())])
        return std::nullopt;
      row.push_back(units[numberOf(module)].group);
    }
    joined.group = nameOf(row);
    std::erase_if(other.units, [&](const PlannedUnit &unit) {
      return std::find(row.begin(), row.end(), unit.group) != row.end();
    });
    other.units.push_back(std::move(joined));
    rows.push_back(std::move(row));
  }
  // Neighbours by their calls, of which there may be none.
  if (std::all_of(rows.begin(), rows.end(),
                  [](const MergedGroups &row) { return row.size() == 1; }))
    return std::nullopt;
  std::optional<StepGraph> merged =
      mergeUnits(measured, rows, [this](TransferKind kind, int64_t bytes) {
        return timeOf(kind, bytes);
      });
  other.options.wrap = wrapOfJoined(count);
  other.compiled = 0;
  if (!merged)
    return other.tryToMeasure(compiler) ? std::optional(other) : std::nullopt;
  other.measured = std::move(*merged);
  other.findRules();
  other.setChoices();
  return other;
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// By unit and key, the number of the user's rule that holds for it. Steps have
/// been compiled with these rules.
std::vector<std::map<std::string, size_t>> PlanSpace::rulesOfUnits() const {
  std::vector<std::vector<std::string>> names;
  for (const PlannedUnit &unit : units)
    names.push_back(unit.modules.empty() ? std::vector<std::string>{""}
                                         : unit.modules);
  return selectRules(names,
                     parseRules(options.moduleRules, moduleRuleKeys()).rules)
      .chosen;
}

void PlanSpace::findRules() {
  ruled.clear();
  const std::vector<std::map<std::string, size_t>> rules = rulesOfUnits();
  for (size_t i = 0; i < units.size(); ++i)
    for (const auto &[key, rule] : rules[i])
      ruled[units[i].group].insert(key);
}

/// What `word` of --reshard, which is not "default", means for a unit whose
/// only choice is to reshard.
ReshardChoice PlanSpace::reshardChoice(const StepUnit &unit,
                                       const std::string &word) const {
  if (!unit.backward || word == "always")
    return unit.reshardChoices.front();
  if (word == "never")
    return {word, unit.gather.bytes, std::nullopt};
  const int64_t ranks = std::atoll(word.c_str());
  const CollectiveTime again = collectiveTime(
      format::CommandKind::AllGather, unit.gather.bytes,
      placesOf(format::shardMesh(ranks), {0}, *machine), *machine);
  return {word, unit.gather.bytes / ranks,
          Transfer{again.seconds, again.level, unit.gather.bytes},
          /*isPartial=*/true};
}

/// To keep it, to free it, and to keep it among the ranks of a node.
std::vector<ReshardChoice>
PlanSpace::reshardChoices(const StepUnit &unit) const {
  if (!unit.backward || unit.gather.bytes == 0)
    return {unit.reshardChoices.front()};
  std::vector<ReshardChoice> choices = {reshardChoice(unit, "never"),
                                        reshardChoice(unit, "always")};
  const int64_t shards = options.worldSize / options.replicate;
  for (const format::NetworkLevel &level : machine->levels)
    if (level.ranks > 1 && level.ranks < shards && shards % level.ranks == 0)
      choices.push_back(reshardChoice(unit, std::to_string(level.ranks)));
  return choices;
}

/// Whether --reshard default keeps the unit: the one that forward uses last, in
/// PyTorch the root's.
bool PlanSpace::isKeptByDefault(const StepUnit &unit) const {
  if (options.runtime != "fsdp2")
    return std::all_of(graph.units.begin(), graph.units.end(),
                       [&](const StepUnit &other) {
                         return other.forwardEnd <= unit.forwardEnd;
                       });
  return std::any_of(units.begin(), units.end(), [&](const PlannedUnit &each) {
    return each.group == unit.group && each.modules.empty();
  });
}

/// What --reshard means for the unit.
std::string PlanSpace::wordOf(const StepUnit &unit) const {
  if (options.reshard != "default")
    return options.reshard;
  return isKeptByDefault(unit) || options.pipelineStage ? "never" : "always";
}

/// The root's own operators are never computed again.
void PlanSpace::setChoices() {
  graph = measured;
  std::set<std::string> roots;
  for (const PlannedUnit &unit : units)
    if (unit.modules.empty())
      roots.insert(unit.group);
  for (StepUnit &unit : graph.units) {
    unit.formChoices = forms;
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
  std::string max = other;
  for (const std::string &word : words)
    if (++counts[word] > counts[max])
      max = word;
  return max;
}

Options PlanSpace::optionsOf(const StepPlan &plan) const {
  auto ruledKeys = [&](const std::string &group) {
    const auto found = ruled.find(group);
    return found == ruled.end() ? std::set<std::string>() : found->second;
  };
  auto modulesOf = [&](const std::string &group) {
    return unitOf(group).modules;
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
  // Rules are for modules: what they leave of a group was planned to be kept.
  if (options.recompute == autoWord && found.recompute != "none")
    for (const PlannedUnit &unit : units)
      if (unit.modules.size() > 1 &&
          ruledKeys(unit.group).contains("recompute"))
        rules.insert(rules.begin(),
                     {patternOfNames(unit.modules), {{"recompute", "none"}}});
  found.moduleRules = printRules(rules);
  return found;
}

std::string flagsOf(const Options &options, const Options &asked) {
  std::string flags;
  if (asked.wrap == autoWord)
    flags = "--wrap '" + options.wrap + "'";
  for (const auto &[flag, value] : {std::pair("--reshard", options.reshard),
                                    {"--recompute", options.recompute},
                                    {"--prefetch", options.prefetch}})
    flags += (flags.empty() ? "" : " ") + std::string(flag) + " " + value;
  if (!options.moduleRules.empty())
    flags += " --module-rules '" + options.moduleRules + "'";
  return flags;
}

/// What --reshard default does not reshard.
void PlanSpace::keepDefault(StepPlan &plan) const {
  for (size_t i = 0; i < graph.units.size(); ++i) {
    const std::vector<ReshardChoice> &choices = graph.units[i].reshardChoices;
    for (size_t j = 0; isKeptByDefault(graph.units[i]) && j < choices.size();
         ++j)
      if (choices[j].word == "never")
        plan.units[i].reshard = j;
  }
}

std::vector<std::pair<std::string, StepPlan>>
PlanSpace::handPlans(int64_t budgetBytes) const {
  std::vector<std::pair<std::string, StepPlan>> plans;
  auto add = [&](const std::string &name, const StepPlan &plan) {
    if (std::none_of(plans.begin(), plans.end(),
                     [&](const auto &other) { return other.second == plan; }))
      plans.emplace_back(name, plan);
  };
  const size_t prefetch = limits.prefetchChoices.front();
  for (const RecomputeForm form : forms)
    for (const std::string word : {"never", "default", "always"}) {
      StepPlan plan =
          uniformPlan(graph, form, word == "never" ? word : "always", prefetch);
      if (word == "default")
        keepDefault(plan);
      std::string name = options.reshard == autoWord ? "reshard " + word : "";
      if (options.recompute == autoWord)
        name += (name.empty() ? "recompute " : ", recompute ") +
                std::string(recomputeForms[static_cast<size_t>(form)]);
      add(name.empty() ? "prefetch " + std::to_string(prefetch) : name, plan);
    }
  add("greedy", greedyPlan(graph, budgetBytes, prefetch));
  return plans;
}

} // namespace shardc
