//===- SummaryBuilder.cpp - What the program moves and holds --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// summary.json, counted from the commands themselves, so that the table a user
// reads is the program that runs.
//===----------------------------------------------------------------------===//

#include "compiler/Artifact/ArtifactBuilder.h"
#include "compiler/Artifact/ProgramChecker.h"
#include "compiler/OptionTable.h"
#include "passes/CostModel/ArenaUse.h"
#include "passes/Differentiate/Optimizers.h"
#include "passes/Kernel/TargetOf.h"
#include "runtime/format/Work.h"

#include "dialects/Exec/FormatEnums.h"
#include "dialects/Exec/Memory.h"
#include "dialects/Fsdp/Groups.h"
#include "dialects/Fsdp/Recomputed.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace shardc {

/// Parameter elements of a group, without padding.
static int64_t countParameters(fsdp::GroupOp group, SymbolTable &symbols) {
  int64_t elements = 0;
  group.walk([&](fsdp::MemberOp member) {
    auto parameter = symbols.lookup<fsdp::ParameterOp>(member.getParameter());
    elements += cast<RankedTensorType>(parameter.getType()).getNumElements();
  });
  return elements;
}

/// Whether a command runs in a training step of one micro-batch.
static bool runsInStep(exec::CommandInterface command) {
  auto section = cast<exec::SectionOp>(command->getParentOp());
  return section.getRun() == exec::RunKind::training &&
         format::countRuns(exec::toFormat(section.getRepeat()),
                           /*microBatches=*/1) == 1;
}

/// Whether `state` has gradients of `group`.
static bool hasGradients(exec::StateOp state, fsdp::GroupOp group) {
  if (!state || state.getRole() != exec::Role::gradient)
    return false;
  auto segments = group.getBody().front().getOps<fsdp::SegmentOp>();
  return llvm::any_of(segments, [&](fsdp::SegmentOp segment) {
    return getSegmentNumber(segment) == state.getSegment();
  });
}

/// Whether a command is of the optimizer's part of a step.
static bool isUpdate(exec::CommandInterface command) {
  auto section = cast<exec::SectionOp>(command->getParentOp());
  return section.getName() == fsdp::stringifyPhase(fsdp::Phase::update);
}

/// Counts the collectives of forward and backward of one micro-batch and the
/// bytes that one rank receives (gathers) and sends (reductions) in them: a sum
/// over n ranks is one of parts and a gather of them.
static void countCollectives(exec::ProgramOp program,
                             ArrayRef<exec::CommandInterface> commands,
                             fsdp::GroupOp op, format::GroupSummary &group) {
  format::Mesh mesh = exec::getMesh(program->getParentOfType<ModuleOp>());
  for (exec::CommandInterface command : commands) {
    auto collective = dyn_cast<exec::CollectiveInterface>(*command);
    if (!collective || !runsInStep(command) || isUpdate(command))
      continue;
    int64_t members = mesh.countMembers(exec::getAxes(collective, mesh));
    auto others = [&](Value memory) {
      return exec::getSpanBytes(cast<MemRefType>(memory.getType())) *
             (members - 1) / members;
    };
    if (auto gather = dyn_cast<exec::AllGatherOp>(*command))
      if (gather.getGroup() == op.getSymName()) {
        ++group.gathers;
        group.gatherBytes += gather.getSlot() * (members - 1);
      }
    if (auto reduction = dyn_cast<exec::ReduceScatterOp>(*command))
      if (reduction.getGroup() == op.getSymName() && members > 1) {
        ++group.reduces;
        group.reduceBytes += others(reduction.getBuffer());
      }
    if (auto sum = dyn_cast<exec::AllReduceOp>(*command))
      if (hasGradients(sum.getBuffer().getDefiningOp<exec::StateOp>(), op)) {
        ++group.allReduces;
        group.allReduceBytes += 2 * others(sum.getBuffer());
      }
  }
}

/// What the optimizer's part gathers and multiplies.
static format::UpdateSummary countUpdate(exec::ProgramOp program,
                                         const format::Program &built) {
  format::UpdateSummary update;
  for (const format::Command &command : built.commands)
    if (built.sections[command.section].name ==
        fsdp::stringifyPhase(fsdp::Phase::update))
      update.operations +=
          workOf(command, built,
                 exec::getMesh(program->getParentOfType<ModuleOp>()))
              .callOperations;
  format::Mesh mesh = exec::getMesh(program->getParentOfType<ModuleOp>());
  for (exec::CommandInterface command : exec::getCommands(program)) {
    if (!isUpdate(command))
      continue;
    if (auto gather = dyn_cast<exec::AllGatherOp>(*command)) {
      auto collective = cast<exec::CollectiveInterface>(*command);
      ++update.gathers;
      update.gatherBytes +=
          gather.getSlot() *
          (mesh.countMembers(exec::getAxes(collective, mesh)) - 1);
    }
  }
  return update;
}

/// The bytes in use at the command at which most are, by purpose; nothing
/// without workspaces.
static std::map<std::string, int64_t>
findPeakBytes(const format::Program &program) {
  const bool hasWorkspaces =
      llvm::any_of(program.commands, [](const format::Command &command) {
        return command.workspace.has_value();
      });
  if (!hasWorkspaces)
    return {};
  const ArenaPeak peak =
      findPeak(findArenaUse(program), program.commands.size());
  std::map<std::string, int64_t> bytes;
  for (auto [purpose, sum] : llvm::zip_equal(arenaPurposes, peak.byPurpose))
    if (sum != 0 || purpose == "workspace")
      bytes[std::string(purpose)] = sum;
  return bytes;
}

static format::OptimizerSummary buildOptimizer(const Options &options) {
  format::OptimizerSummary optimizer;
  optimizer.kind = options.optimizer;
  optimizer.attributes["weight_decay"] = options.weightDecay;
  if (!options.paramGroups.empty())
    optimizer.attributes["param_groups"] = options.paramGroups;
  if (options.clipGradNorm > 0)
    optimizer.attributes["clip_grad_norm"] = options.clipGradNorm;
  if (options.lossScale != "1")
    optimizer.attributes["loss_scale"] = options.lossScale;
  if (options.skipNonFinite)
    optimizer.attributes["skip_non_finite"] = true;
  if (options.clipGradValue > 0)
    optimizer.attributes["clip_grad_value"] = options.clipGradValue;
  for (auto [name, isSet] : {std::pair("nesterov", options.nesterov),
                             {"amsgrad", options.amsgrad},
                             {"maximize", options.maximize}})
    if (isSet)
      optimizer.attributes[name] = true;
  if (!options.stateDtype.empty())
    optimizer.attributes["state_dtype"] = options.stateDtype;
  if (options.rounding != "nearest")
    optimizer.attributes["rounding"] = options.rounding;
  OptimizerOptions own;
  own.name = options.optimizer;
  own.momentum = options.momentum;
  own.beta2 = options.beta2;
  if (options.dampening != 0)
    optimizer.attributes["dampening"] = options.dampening;
  const format::Attributes values = {
      {"momentum", own.getMomentum()},
      {"adjust_lr_fn", options.adjustLearningRate},
      {"beta1", options.beta1},
      {"beta2", own.getBeta2()},
      {"epsilon", options.epsilon}};
  for (const auto &[name, value] : values)
    if (own.kind()->takes(name))
      optimizer.attributes[name] = value;
  return optimizer;
}

/// All options under the names of their flags. A string is empty, and a number
/// is missing, where the option was not given and another decides.
static format::Attributes buildOptions(const Options &options) {
  format::Attributes all = {{"fuse", options.fuse},
                            {"evaluation", options.evaluation},
                            {"target", options.target},
                            {"chips", llvm::join(options.chips, ",")},
                            {"gpu_format", options.gpuFormat},
                            {"cpu", options.cpu}};
  for (const OptionEntry &entry : optionTable()) {
    const bool isText =
        std::holds_alternative<std::string Options::*>(entry.member);
    if (!isText && !hasValue(entry, options))
      continue;
    std::string name(entry.flag.substr(2));
    std::replace(name.begin(), name.end(), '-', '_');
    std::visit([&](auto member) { all[name] = options.*member; }, entry.member);
  }
  return all;
}

format::Summary buildSummary(ModuleOp module, const format::Program &built,
                             const Options &options) {
  SymbolTable symbols(module);
  auto program = *module.getOps<exec::ProgramOp>().begin();
  format::Summary summary;
  summary.arenaBytes = *program.getArena();
  summary.reuseWaits = static_cast<int64_t>(program.getReuseWaits());
  for (auto state : module.getOps<exec::StateOp>())
    summary.persistentBytes[state.getKind().str()] +=
        exec::getSpanBytes(state.getMemory().getType());
  summary.peakBytes = findPeakBytes(built);
  const SmallVector<exec::CommandInterface> commands =
      exec::getCommands(program);
  for (auto op : module.getOps<fsdp::GroupOp>()) {
    format::GroupSummary group;
    group.name = op.getSymName().str();
    group.parameters = countParameters(op, symbols);
    group.reshard = op.describeReshard();
    countCollectives(program, commands, op, group);
    summary.groups.push_back(std::move(group));
  }
  if (std::optional<recompute::Cost> cost = recompute::getCost(module))
    summary.recomputed = {cost->operators, cost->operations,
                          cost->callOperations, cost->bytes};
  summary.optimizer = buildOptimizer(options);
  summary.update = countUpdate(program, built);
  summary.options = buildOptions(options);
  return summary;
}

format::Artifact buildArtifact(ModuleOp module, const Options &options) {
  format::Artifact artifact;
  artifact.manifest.producer = "shardc " SHARDC_VERSION;
  artifact.manifest.model = module.getName().value_or("model").str();
  artifact.manifest.mesh = exec::getMesh(module);
  artifact.manifest.target.kind = options.target;
  artifact.manifest.target.cpu = targetOf(module)->processor;
  artifact.parameters = buildParameters(module);
  artifact.program = buildProgram(module);
  assert(isCorrect(checkProgram(artifact.program, artifact.manifest.mesh)));
  artifact.summary = buildSummary(module, artifact.program, options);
  return artifact;
}

} // namespace shardc
