//===- KernelLoops.cpp - Launches as functions ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Private tensors are allocas inside the parallel loop, or memory that the
// threads of a block share. Only the additions that carry a reduction may be
// reassociated (fastmath<reassoc>), which lets the vectorizer keep partial
// sums; the loops' sizes are constants of the iteration, so that the order is
// the same however a launch is split.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Emission/KernelLoops.h"

#include "passes/Kernel/Emission/StageLoops.h"
#include "passes/Kernel/Emission/ThreadLoops.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace shardc::kernel {

namespace {
/// Builds the body of one launch.
class LaunchWriter {
public:
  explicit LaunchWriter(LaunchState &state) : state(state) {}

  void write(ModuleOp kernels, ArrayRef<int> tensors);

private:
  void bindConstants(ModuleOp kernels);
  Value beginIteration();
  void allocatePrivates();
  void readLaunchCounters(Value iteration);
  void readBlock(const BlockedLoop &loop, Value block);

  LaunchState &state;
  StageElements elements{state};
  StageLoops serial{state, elements};
  ThreadGroup group{state};
  ThreadLoops threads{state, elements, serial, group};
};
} // namespace

//===----------------------------------------------------------------------===//
// Buffers and counters
//===----------------------------------------------------------------------===//

/// Constant tensors become globals of the module, one for each content.
static memref::GlobalOp findOrCreateGlobal(ModuleOp kernels, Location location,
                                           DenseElementsAttr elements) {
  auto flat = elements.reshape(RankedTensorType::get(
      elements.getNumElements(), elements.getElementType()));
  int64_t count = 0;
  for (auto global : kernels.getOps<memref::GlobalOp>()) {
    if (global.getInitialValueAttr() == flat)
      return global;
    ++count;
  }
  OpBuilder builder = OpBuilder::atBlockBegin(kernels.getBody());
  auto type = MemRefType::get(flat.getType().getShape(),
                              flat.getType().getElementType());
  return memref::GlobalOp::create(
      builder, location, "constant_" + std::to_string(count),
      builder.getStringAttr("private"), type, flat, /*constant=*/true,
      /*alignment=*/IntegerAttr());
}

void LaunchWriter::bindConstants(ModuleOp kernels) {
  for (auto [tensor, storage] : llvm::enumerate(state.problem.storages)) {
    if (storage.kind != TensorStorage::Kind::Constant)
      continue;
    memref::GlobalOp global =
        findOrCreateGlobal(kernels, state.location, storage.constant);
    state.buffers[static_cast<int>(tensor)] = state.create<memref::GetGlobalOp>(
        global.getType(), global.getSymName());
  }
}

void LaunchWriter::allocatePrivates() {
  for (const ScheduledStage &scheduled : state.launch.stages)
    for (const StageAccess &access :
         state.schedule.merged.stages[scheduled.stage].accesses) {
      if (!state.isPrivate(access.tensor) ||
          state.buffers.contains(access.tensor))
        continue;
      const TensorPlacement &placement =
          state.schedule.placements[access.tensor];
      const int64_t elements =
          placement.ofThread ? placement.ofThread : placement.elements;
      Type element = state.problem.storages[access.tensor].element;
      state.buffers[access.tensor] =
          state.isOfThread(access.tensor)
              ? state
                    .create<memref::AllocaOp>(
                        MemRefType::get(elements, element))
                    .getResult()
              : group.allocateShared(elements, element);
    }
}

void LaunchWriter::readLaunchCounters(Value iteration) {
  auto sizes = llvm::to_vector(state.launch.sizes);
  for (const BlockedLoop &loop : state.launch.blocked)
    sizes.push_back(loop.count());
  if (sizes.size() == 1)
    state.launchCounters.push_back(iteration);
  else if (!sizes.empty())
    llvm::append_range(
        state.launchCounters,
        state.create<affine::AffineDelinearizeIndexOp>(iteration, sizes)
            .getResults());
  ArrayRef<Value> blocks =
      ArrayRef(state.launchCounters).take_back(state.launch.blocked.size());
  for (auto [loop, block] : llvm::zip_equal(state.launch.blocked, blocks))
    readBlock(loop, block);
  state.launchCounters.truncate(state.launch.sizes.size());
}

/// Where block number `block` of a loop starts, and how many iterations it has.
void LaunchWriter::readBlock(const BlockedLoop &loop, Value block) {
  AffineExpr d0 = state.builder.getAffineDimExpr(0);
  state.blockStarts.push_back(state.create<affine::AffineApplyOp>(
      AffineMap::get(1, 0, d0 * loop.block), block));
  if (loop.isEven()) {
    state.blockEnds.push_back(state.constantIndex(loop.block));
    return;
  }
  AffineExpr whole = state.builder.getAffineConstantExpr(loop.block);
  AffineExpr rest =
      state.builder.getAffineConstantExpr(loop.size) - d0 * loop.block;
  AffineMap smaller =
      AffineMap::get(1, 0, {whole, rest}, state.builder.getContext());
  state.blockEnds.push_back(state.create<affine::AffineMinOp>(smaller, block));
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// The iteration that is run, inside of which the builder writes on: of a loop
/// over a processor's share, or of this thread's group.
Value LaunchWriter::beginIteration() {
  if (state.schedule.hasBlocks)
    return group.beginThread();
  ArrayRef<BlockArgument> range = state.function.getArguments().take_back(2);
  auto loop =
      state.create<scf::ParallelOp>(ValueRange{range[0]}, ValueRange{range[1]},
                                    ValueRange{state.constantIndex(1)});
  state.builder.setInsertionPointToStart(loop.getBody());
  return loop.getInductionVars().front();
}

void LaunchWriter::write(ModuleOp kernels, ArrayRef<int> tensors) {
  Block &entry = *state.function.addEntryBlock();
  for (auto [tensor, argument] : llvm::zip(tensors, entry.getArguments()))
    state.buffers[tensor] = argument;
  state.builder.setInsertionPointToStart(&entry);
  state.create<func::ReturnOp>();
  state.builder.setInsertionPointToStart(&entry);
  bindConstants(kernels);
  Value iteration = beginIteration();
  allocatePrivates();
  readLaunchCounters(iteration);
  for (const ScheduledStage &scheduled : state.launch.stages)
    state.schedule.hasBlocks ? threads.writeStage(scheduled)
                             : serial.writeStage(scheduled);
}

/// One constant and one index expression of each kind.
static void tidy(func::FuncOp function) {
  (void)applyPatternsGreedily(function,
                              RewritePatternSet(function.getContext()));
  IRRewriter rewriter(function.getContext());
  DominanceInfo dominance(function);
  eliminateCommonSubExpressions(rewriter, dominance, function);
}

func::FuncOp createLaunchFunction(ModuleOp kernels, Location location,
                                  StringRef name, const KernelProblem &problem,
                                  const KernelSchedule &schedule,
                                  const Launch &launch, ArrayRef<int> tensors,
                                  ArrayRef<exec::Access> accesses) {
  OpBuilder builder = OpBuilder::atBlockEnd(kernels.getBody());
  SmallVector<Type> types;
  for (int tensor : tensors)
    types.push_back(MemRefType::get(schedule.merged.tensors[tensor].elements,
                                    problem.storages[tensor].element));
  if (!schedule.hasBlocks)
    types.append(2, builder.getIndexType());
  auto function = func::FuncOp::create(builder, location, name,
                                       builder.getFunctionType(types, {}));
  function->setAttr("exec.extent",
                    builder.getI64IntegerAttr(launch.gridBlocks()));
  if (schedule.hasBlocks)
    function->setAttr("exec.threads",
                      builder.getI64IntegerAttr(launch.blockThreads()));
  for (auto [number, access] : llvm::enumerate(accesses))
    if (access != exec::Access::read)
      function.setArgAttr(number, "exec.access",
                          builder.getStringAttr(exec::stringifyAccess(access)));
  LaunchState state(builder, function, problem, schedule, launch);
  LaunchWriter(state).write(kernels, tensors);
  tidy(function);
  return function;
}

} // namespace shardc::kernel
