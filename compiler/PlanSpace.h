//===- PlanSpace.h - What a plan may be, for one way to group -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The groups that --wrap makes of a model, measured: the graph that plans are
// forecast on, what each group may choose, and the options that a plan comes
// to. Options with `auto` are what may be chosen; others are fixed.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PLANSPACE_H
#define SHARDC_COMPILER_PLANSPACE_H

#include "compiler/Options.h"
#include "compiler/Plan/GraphMerging.h"
#include "compiler/Planning.h"
#include "passes/CostModel/PlanSearch.h"

#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardc {

inline constexpr std::string_view autoWord = "auto";

class PlanSpace {
public:
  /// `options` say how to group; `machine` outlives this.
  PlanSpace(Options options, const format::Machine &machine,
            int64_t microBatches)
      : options(std::move(options)), machine(&machine),
        microBatches(microBatches) {}

  /// Compiles a step for each form of recomputation that may be chosen, and
  /// measures its groups. Returns 0, or the exit code of what is wrong with the
  /// model, which the compilation has printed, or of `failure`: E0803, a model
  /// whose steps cannot be compared.
  int measure(PlanCompiler &compiler, Status &failure);
  /// The same without a word; whether it could.
  bool tryToMeasure(PlanCompiler &compiler);

  /// The same model with `count` blocks to a group, in place of the entry
  /// `blocks` of --wrap: merged from what was measured, or measured itself
  /// where that is not possible. Nothing where rules make the blocks of a group
  /// differ, or steps cannot be compared.
  std::optional<PlanSpace> withBlocksJoined(size_t count,
                                            PlanCompiler &compiler) const;

  /// Modules whose parameters are in the root's group, if there are others.
  std::vector<std::string> splittableModules() const;
  /// How many blocks the entry `blocks` has made groups of.
  size_t countBlocks() const { return blocks().size(); }

  /// Whether the name of the group or of one of its modules matches.
  bool matches(const StepUnit &unit, const std::regex &pattern) const;

  const StepGraph &getGraph() const { return graph; }
  const SearchLimits &getLimits() const { return limits; }
  const std::string &getWrap() const { return options.wrap; }
  /// Steps that were compiled.
  int64_t countCompiled() const { return compiled; }

  /// The options of a plan, without `auto`: the most common word of each kind,
  /// and rules behind the user's for other groups.
  Options optionsOf(const StepPlan &plan) const;
  /// Plans that people choose, by name, where they differ.
  std::vector<std::pair<std::string, StepPlan>>
  handPlans(int64_t budgetBytes) const;

private:
  Options options;
  const format::Machine *machine;
  int64_t microBatches;
  int64_t compiled = 0;
  /// As it was measured, and with what may be chosen.
  StepGraph measured, graph;
  SearchLimits limits;
  /// Of the graph, and the root's.
  std::vector<PlannedUnit> units;
  std::vector<std::string> rootModules;
  format::Mesh mesh;
  /// That were compiled.
  std::vector<RecomputeForm> forms;
  /// By group: keys that the user's rules say.
  std::map<std::string, std::set<std::string>> ruled;

  using Steps = std::map<RecomputeForm, PlannedStep>;
  Options uniformOptions(RecomputeForm form) const;
  bool takeSteps(Steps steps);
  std::optional<Steps> compileShort(PlanCompiler &compiler);

  std::vector<std::string> blocks() const;
  std::string wrapOfJoined(size_t count) const;
  CollectiveTime timeOf(TransferKind kind, int64_t bytes) const;
  const PlannedUnit &unitOf(const std::string &group) const;
  std::vector<std::map<std::string, size_t>> rulesOfUnits() const;
  void findRules();
  ReshardChoice reshardChoice(const StepUnit &unit,
                              const std::string &word) const;
  std::vector<ReshardChoice> reshardChoices(const StepUnit &unit) const;
  bool isKeptByDefault(const StepUnit &unit) const;
  std::string wordOf(const StepUnit &unit) const;
  void setChoices();
  void keepDefault(StepPlan &plan) const;
};

/// The words of --reshard, --recompute, --prefetch and, where `asked` has
/// `auto`, --wrap, and the rules.
std::string flagsOf(const Options &options, const Options &asked);

} // namespace shardc

#endif // SHARDC_COMPILER_PLANSPACE_H
