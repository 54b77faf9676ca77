//===- Pipelines.cpp - The phases in order --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One function a phase. A sentence above each pass whose place matters.
//===----------------------------------------------------------------------===//

#include "compiler/Pipelines.h"

#include "passes/Differentiate/Passes.h"
#include "passes/Group/Passes.h"
#include "passes/Import/Passes.h"
#include "passes/Kernel/Passes.h"
#include "passes/Memory/Passes.h"
#include "passes/Precision/Passes.h"
#include "passes/Schedule/Passes.h"
#include "passes/Shard/Passes.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace shardc {

void addImportPasses(OpPassManager &manager) {
  OpPassManager &functions = manager.nest<func::FuncOp>();
  // Before folding, which then computes parts.
  functions.addPass(createSplitComplexPass());
  // Folding first: a folded position table belongs to no module's region.
  functions.addPass(createFoldConstantsPass());
  // On the flat program: it follows uses, which regions would hide.
  functions.addPass(createBoundInputsPass());
  functions.addPass(createFindShiftedTargetsPass());
  functions.addPass(createBuildModuleTreePass());
}

static void addImport(OpPassManager &manager, const Options &) {
  addImportPasses(manager);
  manager.addPass(createVerifyImportedPass());
}

static void addGroup(OpPassManager &manager, const Options &options) {
  // Before groups: their policies follow the parameters' own dtype.
  NarrowMastersPassOptions masters;
  masters.masterDtype = options.masterDtype;
  masters.rounding = options.rounding;
  manager.addPass(createNarrowMastersPass(masters));
  AssignGroupsPassOptions groups;
  groups.worldSize = options.worldSize;
  groups.replicate = options.replicate;
  groups.wrap = options.wrap;
  groups.paramDtype = options.paramDtype;
  groups.reduceDtype = options.reduceDtype;
  groups.reshard = options.reshard;
  groups.recompute = options.recompute;
  groups.pipelineStage = options.pipelineStage;
  groups.rules = options.moduleRules;
  groups.explain = options.explainGroups;
  manager.addPass(createAssignGroupsPass(groups));
  // After grouping: with one rank statistics are nobody else's.
  ChooseBatchNormStatisticsPassOptions statistics;
  statistics.stats = options.batchNormStats;
  manager.addPass(createChooseBatchNormStatisticsPass(statistics));
  // After grouping: only a member of a group has a dtype to keep.
  manager.addPass(createKeepBatchNormF32Pass());
  ApplyParameterRulesPassOptions parameters;
  parameters.rules = options.paramGroups;
  manager.addPass(createApplyParameterRulesPass(parameters));
  // After rules, which may freeze a parameter.
  manager.addPass(createKeepChangedParametersPass());
  ApplyBufferRulesPassOptions buffers;
  buffers.rules = options.bufferRules;
  manager.addPass(createApplyBufferRulesPass(buffers));
  // After rules, which may name an optimizer.
  ChooseOptimizersPassOptions optimizers;
  optimizers.optimizer = options.optimizer;
  manager.addPass(createChooseOptimizersPass(optimizers));
  manager.addPass(createVerifyGroupedPass());
}

static void addPrecision(OpPassManager &manager, const Options &) {
  manager.addPass(createApplyPrecisionPass());
  // While it is known which conversions follow a dtype.
  manager.addPass(createSaturateExtremesPass());
  // After all dtypes: it reads what `other` has become.
  manager.addPass(createResolveConversionsPass());
  manager.addPass(createVerifyPrecisionPass());
}

static void addShard(OpPassManager &manager, const Options &options) {
  LayoutGroupsPassOptions layout;
  layout.gradientDtype = options.gradientDtype;
  manager.addPass(createLayoutGroupsPass(layout));
  // Before unshards are inserted: a group's first use is a place in one block.
  manager.addNestedPass<func::FuncOp>(createInlineModulesPass());
  manager.addPass(createInsertUnshardsPass());
  manager.addPass(createVerifyShardedPass());
}

static void addDifferentiate(OpPassManager &manager, const Options &options) {
  // While the step is a forward alone.
  if (options.evaluation)
    manager.addPass(createAddEvaluationPass());
  // After evaluation, which looks for operators of the model.
  manager.addNestedPass<func::FuncOp>(createSynchronizeBatchNormPass());
  // After norms, whose sums over ranks are no values of one rank.
  manager.addPass(createSynchronizeBuffersPass());
  DecomposeOperatorsPassOptions decompose;
  decompose.asPyTorch = options.runtime == "fsdp2";
  decompose.groupedMm = options.target == format::cudaTarget;
  manager.addNestedPass<func::FuncOp>(createDecomposeOperatorsPass(decompose));
  DifferentiatePassOptions backward;
  backward.lossScale = options.lossScale;
  backward.reduceOnce = options.gradientSync == "last";
  manager.addPass(createDifferentiatePass(backward));
  // Dead gradients are dropped before anything counts or widens them.
  manager.addNestedPass<func::FuncOp>(createCSEPass());
  WidenWeightGradientsPassOptions gradients;
  gradients.narrow = options.runtime == "fsdp2";
  manager.addNestedPass<func::FuncOp>(
      createWidenWeightGradientsPass(gradients));
  InsertOptimizerPassOptions optimizer;
  optimizer.optimizer = options.optimizer;
  optimizer.momentum = options.momentum;
  optimizer.beta1 = options.beta1;
  optimizer.beta2 = options.beta2;
  optimizer.epsilon = options.epsilon;
  optimizer.dampening = options.dampening;
  optimizer.nesterov = options.nesterov;
  optimizer.amsgrad = options.amsgrad;
  optimizer.adjustLearningRate = options.adjustLearningRate;
  optimizer.maximize = options.maximize;
  optimizer.stateDtype = options.stateDtype;
  optimizer.rounding = options.rounding;
  optimizer.clipGradValue = options.clipGradValue;
  optimizer.weightDecay = options.weightDecay;
  optimizer.clipGradNorm = options.clipGradNorm;
  optimizer.lossScale = options.lossScale;
  optimizer.skipNonFinite = options.skipNonFinite;
  manager.addPass(createInsertOptimizerPass(optimizer));
  if (options.batchNormStats == "broadcast")
    manager.addPass(createBroadcastStatisticsPass());
  manager.addPass(createVerifyTrainingStepPass());
}

static void addSchedule(OpPassManager &manager, const Options &options) {
  // First: what is computed again needs parameters.
  manager.addPass(createRematerializeActivationsPass());
  manager.addPass(createRematerializeGathersPass());
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(createSplitCollectivesPass());
  HoistAllGathersPassOptions prefetch;
  prefetch.distance =
      static_cast<unsigned>(std::atoll(options.prefetch.c_str()));
  functions.addPass(createHoistAllGathersPass(prefetch));
  // After all gathers: a whole group dies after its last use of the final
  // order.
  functions.addPass(createInsertReshardsPass());
  manager.addPass(createVerifyScheduledPass());
}

static void addKernel(OpPassManager &manager, const Options &options) {
  // Not earlier: programs of the phases before can be executed as they are.
  manager.addPass(createRequireInputsPass());
  SetTargetPassOptions target;
  target.target =
      options.target == format::cudaTarget ? options.gpu : options.cpu;
  manager.addPass(createSetTargetPass(target));
  OpPassManager &functions = manager.nest<func::FuncOp>();
  // First: what follows knows real numbers alone.
  functions.addPass(createExpandComplexPass());
  functions.addPass(createWidenIntegersPass());
  functions.addPass(createJoinSlicesPass());
  // Before library calls are selected: both change or make operators that are
  // one.
  functions.addPass(createPadClassesPass());
  functions.addPass(createSortScattersPass());
  functions.addPass(createSelectLibrariesPass());
  // Before anything is built: what libraries left must have a kernel.
  functions.addPass(createRequireKernelsPass());
  functions.addPass(createFormKernelsPass());
  FuseKernelsPassOptions fusion;
  fusion.withinOperators = options.runtime == "fsdp2";
  if (options.fuse || fusion.withinOperators)
    functions.addPass(createFuseKernelsPass(fusion));
  // After fusion: a kernel that reads through a view may have been merged away.
  functions.addPass(createMaterializeViewsPass());
  // After fusion, a nest has its final loops; with layouts, where they walk.
  functions.addPass(createSplitReductionsPass());
  functions.addPass(createVerifyKernelsPass());
}

static void addMemory(OpPassManager &manager, const Options &options) {
  LowerToCommandsPassOptions commands;
  commands.copies = options.runtime == "fsdp2";
  manager.addPass(createLowerToCommandsPass(commands));
  OutlineKernelsPassOptions outline;
  outline.keepKernels = options.keepKernels || options.verifyEach == "execute";
  manager.addPass(createOutlineKernelsPass(outline));
  // Before buffers get places, which calls then get memory among.
  manager.addPass(createAddWorkspacesPass());
  manager.addPass(createPlaceBuffersPass());
  manager.addPass(createInsertEventsPass());
  manager.addPass(createVerifyProgramPass());
}

ArrayRef<Phase> getPhases() {
  static constexpr Phase phases[] = {{"import", addImport},
                                     {"group", addGroup},
                                     {"precision", addPrecision},
                                     {"shard", addShard},
                                     {"differentiate", addDifferentiate},
                                     {"schedule", addSchedule},
                                     {"kernel", addKernel},
                                     {"memory", addMemory}};
  return phases;
}

LogicalResult runPhases(ModuleOp module, const Options &options,
                        StringRef last) {
  PassManager manager(module.getContext());
  for (const Phase &phase : getPhases()) {
    phase.addPasses(manager, options);
    if (phase.name == last)
      break;
  }
  return manager.run(module);
}

} // namespace shardc
