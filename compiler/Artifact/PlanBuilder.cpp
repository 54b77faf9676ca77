//===- PlanBuilder.cpp - What the program moves and holds -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// plan.json, counted from the commands themselves, so that the table a user
// reads is the program that runs.
//===----------------------------------------------------------------------===//

#include "compiler/Artifact/ArtifactBuilder.h"
#include "compiler/Artifact/ProgramChecker.h"
#include "passes/Differentiate/Optimizers.h"
#include "passes/Kernel/TargetOf.h"

#include "dialects/Exec/Memory.h"
#include "dialects/Fsdp/Groups.h"

#include "llvm/ADT/MapVector.h"

#include <numeric>

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

/// Counts the collectives of one micro-batch and the bytes that one rank
/// receives (gathers) and sends (reductions) in them.
static void countCollectives(exec::ProgramOp program, int64_t shards,
                             StringRef name, format::PlanGroup &group) {
  for (exec::CommandInterface op : exec::getCommands(program)) {
    auto section = cast<exec::SectionOp>(op->getParentOp());
    if (section.getRun() == exec::RunKind::evaluation)
      continue;
    if (auto gather = dyn_cast<exec::AllGatherOp>(*op))
      if (gather.getGroup() == name) {
        ++group.gathers;
        group.gatherBytes += gather.getSlot() * (shards - 1);
      }
    if (auto reduction = dyn_cast<exec::ReduceScatterOp>(*op))
      if (reduction.getGroup() == name && shards > 1) {
        ++group.reduces;
        group.reduceBytes +=
            exec::getSpanBytes(reduction.getBuffer().getType()) / shards *
            (shards - 1);
      }
  }
}

/// What a command uses a buffer for.
static StringRef purposeOf(Value buffer, exec::CommandInterface command) {
  auto call = dyn_cast<exec::CallOp>(*command);
  if (call && call.getWorkspace() == buffer)
    return "workspace";
  if (isa<exec::AllGatherOp>(*command))
    return "gathered";
  return isa<exec::ReduceScatterOp>(*command) ? "reduced" : "activations";
}

namespace {
/// A buffer from its first use to its last, in list order.
struct BufferUse {
  size_t first = 0, last = 0;
  int64_t bytes = 0;
  std::string purpose = "activations";
};
} // namespace

/// The bytes in use at the command at which most are, by purpose; nothing
/// without workspaces.
static std::map<std::string, int64_t> findPeak(exec::ProgramOp program) {
  llvm::MapVector<Value, BufferUse> uses;
  SmallVector<exec::CommandInterface> commands = exec::getCommands(program);
  bool hasWorkspaces = false;
  for (auto [number, command] : llvm::enumerate(commands))
    for (const exec::OperandAccess &operand : exec::getAccesses(command)) {
      Value whole = exec::getPlace(operand.memory).whole;
      if (!whole.getDefiningOp<exec::BufferOp>())
        continue;
      auto [found, isNew] = uses.try_emplace(whole);
      BufferUse &use = found->second;
      if (isNew)
        use.first = number;
      use.last = number;
      use.bytes = exec::getSpanBytes(cast<MemRefType>(whole.getType()));
      if (StringRef purpose = purposeOf(whole, command);
          purpose != "activations")
        use.purpose = purpose.str();
      hasWorkspaces |= use.purpose == "workspace";
    }
  if (!hasWorkspaces)
    return {};
  std::vector<int64_t> change(commands.size() + 1);
  for (const auto &[buffer, use] : uses) {
    change[use.first] += use.bytes;
    change[use.last + 1] -= use.bytes;
  }
  std::partial_sum(change.begin(), change.end(), change.begin());
  size_t peak = llvm::max_element(change) - change.begin();
  std::map<std::string, int64_t> bytes = {{"workspace", 0}};
  for (const auto &[buffer, use] : uses)
    if (use.first <= peak && peak <= use.last)
      bytes[use.purpose] += use.bytes;
  return bytes;
}

static format::PlanOptimizer buildOptimizer(const Options &options) {
  format::PlanOptimizer optimizer;
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
  if (options.optimizer == "sgd") {
    optimizer.attributes["momentum"] = options.momentum;
    if (options.dampening != 0)
      optimizer.attributes["dampening"] = options.dampening;
    return optimizer;
  }
  optimizer.attributes["beta1"] = options.beta1;
  OptimizerOptions betas;
  betas.name = options.optimizer;
  betas.beta2 = options.beta2;
  optimizer.attributes["beta2"] = betas.getBeta2();
  if (options.optimizer != "lion")
    optimizer.attributes["epsilon"] = options.epsilon;
  return optimizer;
}

static format::Attributes buildOptions(const Options &options) {
  return {{"world_size", options.worldSize},
          {"wrap", options.wrap},
          {"module_rules", options.moduleRules},
          {"param_dtype", options.paramDtype},   // Empty: the exported one.
          {"master_dtype", options.masterDtype}, // Empty: the exported one.
          {"reduce_dtype", options.reduceDtype}, // Empty: the exported one.
          {"reshard", options.reshard},
          {"prefetch", options.prefetch},
          {"fuse", options.fuse},
          {"evaluation", options.evaluation},
          {"target", options.target},
          {"cpu", options.cpu}};
}

format::Plan buildPlan(ModuleOp module, const Options &options) {
  SymbolTable symbols(module);
  auto program = *module.getOps<exec::ProgramOp>().begin();
  format::Plan plan;
  plan.arenaBytes = *program.getArena();
  plan.reuseWaits = static_cast<int64_t>(program.getReuseWaits());
  for (auto state : module.getOps<exec::StateOp>())
    plan.persistentBytes[state.getKind().str()] +=
        exec::getSpanBytes(state.getMemory().getType());
  plan.peakBytes = findPeak(program);
  for (auto op : module.getOps<fsdp::GroupOp>()) {
    format::PlanGroup group;
    group.name = op.getSymName().str();
    group.parameters = countParameters(op, symbols);
    group.reshard = fsdp::stringifyReshard(op.getReshard()).str();
    countCollectives(program, getShards(module), op.getSymName(), group);
    plan.groups.push_back(std::move(group));
  }
  plan.optimizer = buildOptimizer(options);
  plan.options = buildOptions(options);
  return plan;
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
  assert(isRight(checkProgram(artifact.program, artifact.manifest.mesh)));
  artifact.plan = buildPlan(module, options);
  return artifact;
}

} // namespace shardc
