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
#include "dialects/Fsdp/Recomputed.h"

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

/// Whether a command runs in a training step of one micro-batch.
static bool runsInStep(exec::CommandInterface command) {
  auto section = cast<exec::SectionOp>(command->getParentOp());
  return section.getRun() == exec::RunKind::training &&
         format::countRuns(static_cast<format::Repeat>(section.getRepeat()),
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
static void countCollectives(exec::ProgramOp program, fsdp::GroupOp op,
                             format::PlanGroup &group) {
  format::Mesh mesh = exec::getMesh(program->getParentOfType<ModuleOp>());
  for (exec::CommandInterface command : exec::getCommands(program)) {
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
static format::PlanUpdate countUpdate(exec::ProgramOp program) {
  format::PlanUpdate update;
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
    auto call = dyn_cast<exec::CallOp>(*command);
    if (!call || call.getCall() != "matmul")
      continue;
    auto elements = [](Value memory) {
      return cast<MemRefType>(memory.getType()).getNumElements();
    };
    auto product = cast<MemRefType>(call.getOutputs()[0].getType());
    int64_t depth = elements(call.getInputs()[0]) / product.getDimSize(0);
    update.operations += 2 * product.getNumElements() * depth;
  }
  return update;
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
  OptimizerOptions own;
  own.name = options.optimizer;
  own.momentum = options.momentum;
  own.beta2 = options.beta2;
  if (own.name == "sgd" || own.name == "muon")
    optimizer.attributes["momentum"] = own.getMomentum();
  if (own.name == "muon")
    optimizer.attributes["adjust_lr_fn"] = options.adjustLearningRate;
  if (own.name == "sgd") {
    if (options.dampening != 0)
      optimizer.attributes["dampening"] = options.dampening;
    return optimizer;
  }
  optimizer.attributes["beta1"] = options.beta1;
  optimizer.attributes["beta2"] = own.getBeta2();
  if (own.name != "lion")
    optimizer.attributes["epsilon"] = options.epsilon;
  return optimizer;
}

static format::Attributes buildOptions(const Options &options) {
  return {{"world_size", options.worldSize},
          {"replicate", options.replicate},
          {"wrap", options.wrap},
          {"module_rules", options.moduleRules},
          {"param_dtype", options.paramDtype},   // Empty: the exported one.
          {"master_dtype", options.masterDtype}, // Empty: the exported one.
          {"reduce_dtype", options.reduceDtype}, // Empty: the exported one.
          {"reshard", options.reshard},
          {"recompute", options.recompute},
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
    group.reshard = op.describeReshard();
    countCollectives(program, op, group);
    plan.groups.push_back(std::move(group));
  }
  if (std::optional<recompute::Cost> cost = recompute::getCost(module))
    plan.recomputed = {cost->operators, cost->operations, cost->bytes};
  plan.optimizer = buildOptimizer(options);
  plan.update = countUpdate(program);
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
