//===- Planning.cpp - From an export to plans -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// All phases but the last, which makes machine code, on copies of the model.
//===----------------------------------------------------------------------===//

#include "compiler/Planning.h"

#include "compiler/Artifact/ArtifactBuilder.h"
#include "compiler/Diagnostics.h"
#include "compiler/ModelInput.h"
#include "compiler/Pipelines.h"
#include "compiler/Pt2/SymbolBindings.h"
#include "compiler/RepeatedLayers.h"
#include "compiler/Translation/TranslateExportedProgram.h"
#include "dialects/Aten/Aten.h"
#include "dialects/Exec/Layout.h"
#include "dialects/Exec/Memory.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Functions.h"
#include "dialects/Fsdp/Recomputed.h"
#include "passes/CostModel/Machines.h"
#include "passes/Group/RootGroup.h"
#include "passes/Group/Rules.h"
#include "passes/Memory/StateTable.h"
#include "runtime/format/Quantities.h"
#include "runtime/format/Terminal.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace shardc {

/// Those of the step's forward and backward.
static double countOperations(ModuleOp module) {
  double operations = 0;
  auto step = functions::find(module, functions::step);
  if (!step)
    return operations;
  for (Operation &op : step.getBody().front()) {
    auto begin = dyn_cast<fsdp::BeginOp>(op);
    if (begin && begin.getPhase() == fsdp::Phase::update)
      break;
    if (isa<aten::LinearOp, aten::LinearBackwardInputOp,
            aten::LinearBackwardWeightOp, aten::MatmulOp, aten::GroupedMmOp,
            aten::GroupedMmBackwardMat2Op, aten::ConvolutionOp,
            aten::ConvolutionBackwardInputOp, aten::ConvolutionBackwardWeightOp,
            aten::ScaledDotProductAttentionOp,
            aten::ScaledDotProductAttentionBackwardOp>(op))
      operations +=
          static_cast<double>(cast<aten::CostOpInterface>(op).getFlops());
  }
  return operations;
}

/// "bf16"; nothing for no type.
static std::string wordOf(Type type) {
  std::string word;
  llvm::raw_string_ostream stream(word);
  if (type)
    stream << type;
  return word;
}

/// By path, of modules that are not kept.
static std::map<std::string, std::string> listRecomputed(ModuleOp module) {
  std::map<std::string, std::string> recomputed;
  if (auto forms =
          module->getAttrOfType<DictionaryAttr>(recompute::formsAttribute))
    for (NamedAttribute form : forms)
      if (StringRef word = cast<StringAttr>(form.getValue());
          word != recompute::none)
        recomputed[form.getName().str()] = word.str();
  return recomputed;
}

/// The groups in the order of the program, with the modules that name them.
static std::vector<PlannedUnit> listUnits(ModuleOp module) {
  llvm::MapVector<StringRef, llvm::SetVector<StringRef>> modules;
  llvm::StringMap<fsdp::PolicyAttr> policies;
  for (auto group : module.getOps<fsdp::GroupOp>()) {
    modules[group.getSymName()];
    policies[group.getSymName()] = group.getPolicy();
  }
  module.walk<WalkOrder::PreOrder>([&](fsdp::ModuleOp call) {
    if (std::optional<StringRef> group = call.getGroup())
      modules[*group].insert(call.getPath());
  });
  const std::map<std::string, std::string> recomputed = listRecomputed(module);
  std::vector<PlannedUnit> units;
  for (const auto &[group, paths] : modules) {
    llvm::SetVector<StringRef> forms;
    for (StringRef path : paths) {
      const auto found = recomputed.find(path.str());
      forms.insert(found == recomputed.end() ? StringRef(recompute::none)
                                             : StringRef(found->second));
    }
    if (forms.empty())
      forms.insert(recompute::none);
    fsdp::PolicyAttr policy = policies.lookup(group);
    units.push_back({group.str(),
                     {paths.begin(), paths.end()},
                     llvm::join(forms, ", "),
                     wordOf(policy.getParam()),
                     wordOf(policy.getReduce()),
                     wordOf(policy.getOutput()),
                     policy.getCastInputs()});
  }
  return units;
}

/// What a rank keeps between steps, by kind, of a module with the optimizer.
static std::vector<MemoryPart> listStates(ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  const StateTable table(builder, module);
  llvm::MapVector<StringRef, int64_t> bytes;
  for (exec::StateOp state : table.getStates())
    bytes[state.getKey() ? *state.getKey()
                         : exec::stringifyRole(state.getRole())] +=
        exec::getSpanBytes(cast<MemRefType>(state.getMemory().getType()));
  std::vector<MemoryPart> parts;
  for (const auto &[kind, sum] : bytes)
    parts.push_back({kind.str(), sum});
  return parts;
}

/// Policies with bf16 in place of f16: as many bytes, and as fast on GPUs. What
/// shardc compiles for f16 multiplies in f32, which PyTorch does not.
static void takeHalfAsBf16(ModuleOp module) {
  Type half = Float16Type::get(module.getContext());
  Type other = BFloat16Type::get(module.getContext());
  auto replace = [&](Type type) { return type == half ? other : type; };
  for (auto group : module.getOps<fsdp::GroupOp>()) {
    fsdp::PolicyAttr policy = group.getPolicy();
    group.setPolicyAttr(fsdp::PolicyAttr::get(
        module.getContext(), replace(policy.getParam()),
        replace(policy.getReduce()), replace(policy.getOutput()),
        policy.getCastInputs()));
  }
}

/// The dtypes that a group was asked to have, where bf16 stands for f16.
static std::string dtypesOf(const GroupPlan &group, const PlannedUnit &unit) {
  const std::string other = "bf16";
  std::string dtypes = group.dtypes;
  if (unit.paramDtype == "f16")
    if (const size_t at = dtypes.find(other); at != std::string::npos)
      dtypes.replace(at, other.size(), unit.paramDtype);
  return dtypes;
}

PlanReport reportStep(const PlannedStep &step, const format::Machine &machine,
                      int64_t microBatches) {
  PlanReport report = reportPlan(step.artifact, machine, microBatches,
                                 step.operations, step.runtime);
  if (step.samples && report.time.unit == "samples")
    report.time.unitsOfStep =
        *step.samples * microBatches * report.mesh.ranks();
  for (GroupPlan &group : report.groups)
    for (const PlannedUnit &unit : step.units)
      if (unit.group == group.name) {
        group.recompute = unit.recompute;
        group.dtypes = dtypesOf(group, unit);
      }
  return report;
}

/// --reshard default as PyTorch means it: of all groups the root's is kept.
static void keepRoot(Options &options) {
  auto [rules, problem] = parseRules(options.moduleRules, moduleRuleKeys());
  if (!problem.empty())
    return; // The compilation says it.
  options.reshard = "always";
  for (Rule &rule : rules)
    if (rule.pattern.empty()) {
      rule.settings.try_emplace("reshard_after_forward", "never");
      options.moduleRules = printRules(rules);
      return;
    }
  rules.push_back({"", {{"reshard_after_forward", "never"}}});
  options.moduleRules = printRules(rules);
}

struct PlanCompiler::State {
  State() : diagnostics(context) {}

  MLIRContext context;
  DiagnosticPrinter diagnostics;
  std::string path;
  InputOptions input;
  std::optional<ModelInput> model;
  /// Of a step that could not be compiled, what is known of it.
  std::vector<MemoryPart> known;

  /// Reads the model at `path` for these sizes.
  bool read(const InputOptions &options) {
    std::optional<ModelInput> found =
        readModel(path, options, /*keepOutputs=*/false, context, diagnostics);
    if (!found)
      return false;
    model = std::move(found);
    input = options;
    return true;
  }

  /// What a rank keeps of a model whose graph cannot be translated, without
  /// groups, which modules of the graph would make.
  std::vector<MemoryPart> listStatesAlone(Options options) {
    ScopedDiagnosticHandler silence(&context,
                                    [](Diagnostic &) { return success(); });
    context.setRemarkEngine(nullptr);
    const StatusOr<pt2::ExportedModel> found = pt2::readArchive(path);
    if (!found.ok())
      return {};
    FailureOr<OwningOpRef<ModuleOp>> module =
        translateState(*found, "state", context);
    if (failed(module))
      return {};
    options.wrap.clear();
    options.recompute = "none";
    options.reshard = "always";
    options.moduleRules.clear();
    options.bufferRules.clear();
    options.evaluation = false;
    for (const Phase &phase : getPhases()) {
      PassManager manager(&context);
      phase.addPasses(manager, options);
      if (failed(manager.run(**module)))
        return {};
      if (phase.name == "differentiate")
        break;
    }
    return listStates(**module);
  }

  std::optional<PlannedStep> compile(Options options,
                                     const format::Machine &machine,
                                     bool isShort = false) {
    options.target = machine.target;
    if (options.runtime == "fsdp2" && options.reshard == "default" &&
        !options.pipelineStage)
      keepRoot(options);
    if (options.input.bindings != input.bindings && !read(options.input))
      return std::nullopt;
    OwningOpRef<ModuleOp> module = model->module->clone();
    PlannedStep step;
    known.clear();
    bool hasOptimizer = false;
    step.runtime = options.runtime;
    const auto batch = options.input.bindings.find(pt2::anyBatch);
    if (batch != options.input.bindings.end())
      step.samples = batch->second;
    for (const Phase &phase : getPhases()) {
      PassManager manager(&context);
      phase.addPasses(manager, options);
      if (failed(manager.run(*module))) {
        if (hasOptimizer)
          known = listStates(*module);
        return std::nullopt;
      }
      hasOptimizer |= phase.name == "differentiate";
      if (phase.name == "group") {
        step.units = listUnits(*module);
        step.recomputed = listRecomputed(*module);
        step.rootModules = modulesOfRoot(*module);
        if (options.runtime == "fsdp2")
          takeHalfAsBf16(*module);
        if (isShort)
          step.repeated = takeOutLayers(*module);
      }
      // While products are operators.
      if (phase.name == "schedule")
        step.operations = countOperations(*module);
    }
    step.artifact = buildArtifact(*module, options);
    return step;
  }

  StatusOr<PlannedStep> tryToCompile(const Options &options,
                                     const format::Machine &machine,
                                     bool isShort) {
    Status failure;
    ScopedDiagnosticHandler silence(&context, [&](Diagnostic &diagnostic) {
      if (failure.ok() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
        failure = statusOf(diagnostic);
      return success();
    });
    context.setRemarkEngine(nullptr);
    diagnostics.divert(&failure);
    std::optional<PlannedStep> step = compile(options, machine, isShort);
    diagnostics.divert(nullptr);
    if (step)
      return std::move(*step);
    return failure.ok() ? Status(ErrorCode::E0001, "cannot be compiled")
                        : failure;
  }
};

/// What can be said of a step that could not be compiled.
static void printKnown(const std::vector<MemoryPart> &parts,
                       const format::Machine &machine) {
  std::string text;
  int64_t sum = 0;
  for (const MemoryPart &part : parts)
    sum += part.bytes;
  for (const MemoryPart &part : parts) {
    if (part.bytes <= sum / 1000)
      continue;
    text +=
        (text.empty() ? "" : ", ") + part.name + " " + printBytes(part.bytes);
  }
  if (!text.empty())
    llvm::errs() << "shardc: " << colored(MessageKind::Remark, "remark:")
                 << " a rank keeps " << printBytes(sum)
                 << " between steps, of the "
                 << printBytes(static_cast<int64_t>(machine.memory.bytes.value))
                 << " of " << machine.name << ": " << text
                 << "; activations and time are not known\n";
}

PlanCompiler::PlanCompiler() : state(std::make_unique<State>()) {}
PlanCompiler::~PlanCompiler() = default;

int PlanCompiler::read(const std::string &input, const Options &options) {
  enableRemarks(state->context, options.remarks);
  state->path = input;
  if (state->read(options.input))
    return 0;
  const int result = exitCodeOr(state->diagnostics, exitCode(ErrorCode::E0108));
  const StatusOr<format::Machine> machine =
      findMachine(options.machine, options.runtime);
  if (machine.ok() && result == exitCode(ErrorCode::E0130))
    printKnown(state->listStatesAlone(options), *machine);
  return result;
}

int PlanCompiler::compile(const Options &options,
                          const format::Machine &machine, PlannedStep &step) {
  std::optional<PlannedStep> compiled = state->compile(options, machine);
  if (!compiled) {
    printKnown(state->known, machine);
    return exitCodeOr(state->diagnostics, 70);
  }
  step = std::move(*compiled);
  return 0;
}

StatusOr<PlannedStep>
PlanCompiler::tryToCompile(const Options &options,
                           const format::Machine &machine) {
  return state->tryToCompile(options, machine, /*isShort=*/false);
}

StatusOr<PlannedStep>
PlanCompiler::tryToCompileShort(const Options &options,
                                const format::Machine &machine) {
  return state->tryToCompile(options, machine, /*isShort=*/true);
}

} // namespace shardc
