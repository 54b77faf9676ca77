//===- KernelLoops.cpp - Launches as functions ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Private tensors are allocas inside the parallel loop, or memory that the
// threads of a block share. Only the additions that
// carry a reduction may be reassociated (fastmath<reassoc>), which lets the
// vectorizer keep partial sums; the loops' sizes are constants of the
// iteration, so that the order is the same however a launch is split.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Emission/KernelLoops.h"

#include "passes/Kernel/Emission/LaunchWriter.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace shardc::kernel {

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
  for (auto [tensor, storage] : llvm::enumerate(problem.storages)) {
    if (storage.kind != TensorStorage::Kind::Constant)
      continue;
    memref::GlobalOp global =
        findOrCreateGlobal(kernels, location, storage.constant);
    buffers[static_cast<int>(tensor)] = memref::GetGlobalOp::create(
        builder, location, global.getType(), global.getSymName());
  }
}

void LaunchWriter::allocatePrivates() {
  for (const ScheduledStage &scheduled : launch.stages)
    for (const StageAccess &access :
         schedule.merged.stages[scheduled.stage].accesses) {
      if (!isPrivate(access.tensor) || buffers.contains(access.tensor))
        continue;
      const TensorPlacement &placement = schedule.placements[access.tensor];
      const int64_t elements =
          placement.ofThread ? placement.ofThread : placement.elements;
      Type element = problem.storages[access.tensor].element;
      buffers[access.tensor] =
          isOfThread(access.tensor)
              ? memref::AllocaOp::create(builder, location,
                                         MemRefType::get(elements, element))
                    .getResult()
              : allocateShared(elements, element);
    }
}

void LaunchWriter::readLaunchCounters(Value iteration) {
  auto sizes = llvm::to_vector(launch.sizes);
  for (const BlockedLoop &loop : launch.blocked)
    sizes.push_back(loop.count());
  if (sizes.size() == 1)
    launchCounters.push_back(iteration);
  else if (!sizes.empty())
    llvm::append_range(launchCounters, affine::AffineDelinearizeIndexOp::create(
                                           builder, location, iteration, sizes)
                                           .getResults());
  ArrayRef<Value> blocks =
      ArrayRef(launchCounters).take_back(launch.blocked.size());
  for (auto [loop, block] : llvm::zip_equal(launch.blocked, blocks))
    readBlock(loop, block);
  launchCounters.truncate(launch.sizes.size());
}

/// Where block number `block` of a loop starts, and how many iterations it has.
void LaunchWriter::readBlock(const BlockedLoop &loop, Value block) {
  AffineExpr d0 = builder.getAffineDimExpr(0);
  blockStarts.push_back(affine::AffineApplyOp::create(
      builder, location, AffineMap::get(1, 0, d0 * loop.block), block));
  if (loop.isEven()) {
    blockEnds.push_back(constantIndex(loop.block));
    return;
  }
  AffineExpr whole = builder.getAffineConstantExpr(loop.block);
  AffineExpr rest = builder.getAffineConstantExpr(loop.size) - d0 * loop.block;
  AffineMap smaller = AffineMap::get(1, 0, {whole, rest}, builder.getContext());
  blockEnds.push_back(
      affine::AffineMinOp::create(builder, location, smaller, block));
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// offset + sum of strides[i] * counters[i]; null counters count as 0.
Value LaunchWriter::elementIndex(int64_t offset, ArrayRef<int64_t> strides,
                                 ArrayRef<Value> steps) {
  SmallVector<OpFoldResult> operands;
  AffineExpr sum = builder.getAffineConstantExpr(offset);
  for (auto [stride, counter] : llvm::zip_equal(strides, steps)) {
    if (stride == 0 || !counter)
      continue;
    sum = sum + builder.getAffineDimExpr(operands.size()) * stride;
    operands.push_back(counter);
  }
  return getValueOrCreateConstantIndexOp(
      builder, location,
      affine::makeComposedFoldedAffineApply(
          builder, location, AffineMap::get(operands.size(), 0, sum),
          operands));
}

/// A private tensor is addressed inside the iteration: launch counters do not
/// count, and blocked loops count from their block's start.
Value LaunchWriter::accessIndex(const StageAccess &access) {
  if (!isPrivate(access.tensor))
    return elementIndex(access.offset, access.strides, counters);
  const TensorPlacement &placement = schedule.placements[access.tensor];
  if (placement.ofThread)
    return constantIndex(step * current->threads.vector + lane);
  SmallVector<int64_t> strides;
  SmallVector<Value> inside(counters);
  for (int64_t stride : access.strides)
    strides.push_back(placement.privateStride(stride));
  for (int loop : current->launchLoops)
    strides[loop] = 0;
  for (int loop : current->blockedLoops)
    inside[loop] = digits[loop];
  Value index =
      elementIndex(placement.privateOffset(access.offset), strides, inside);
  return isOfThread(access.tensor)
             ? index
             : inGroup(index, placement.elements,
                       problem.storages[access.tensor].element);
}

/// Element `index` of a tensor.
Value LaunchWriter::readElement(int tensor, Value index) {
  const TensorStorage &storage = problem.storages[tensor];
  if (storage.kind == TensorStorage::Kind::Iota)
    return arith::IndexCastOp::create(builder, location, storage.element,
                                      index);
  return memref::LoadOp::create(builder, location, buffers[tensor], index);
}

Value LaunchWriter::load(const StageAccess &access) {
  if (auto known = lanes.find(&access); known != lanes.end())
    return known->second[lane];
  if (auto tile = tiles.find(&access); tile != tiles.end())
    return memref::LoadOp::create(builder, location, tile->second,
                                  tileIndex(access));
  return readElement(access.tensor, accessIndex(access));
}

void LaunchWriter::store(Value value, const StageAccess &access) {
  memref::StoreOp::create(builder, location, value, buffers[access.tensor],
                          accessIndex(access));
}

/// `index`, inside of `size` elements.
Value LaunchWriter::held(Value index, int64_t size) {
  Value least =
      arith::MaxSIOp::create(builder, location, index, constantIndex(0));
  return arith::MinSIOp::create(builder, location, least,
                                constantIndex(size - 1));
}

Value LaunchWriter::gather(tensor::ExtractOp extract, const IRMapping &values) {
  const TensorPlace &place = problem.places.at(extract.getTensor());
  if (place.splat)
    return constant(place.splat);
  // What the data says must not lead out of the tensor, whatever it says: the
  // runtime checks the inputs, but it trusts the artifact's bounds for them.
  SmallVector<Value> indices;
  for (auto [index, size] : llvm::zip_equal(
           extract.getIndices(), extract.getTensor().getType().getShape()))
    indices.push_back(held(values.lookupOrDefault(index), size));
  return readElement(place.tensor,
                     elementIndex(place.offset, place.strides, indices));
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

void LaunchWriter::writeOperation(Operation *op, IRMapping &values) {
  for (Value operand : op->getOperands())
    if (auto outside = operand.getDefiningOp<arith::ConstantOp>();
        outside && !values.contains(operand))
      values.map(operand, constant(outside.getValue()));
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    int loop = code().loops[index.getDim()];
    values.map(index,
               loop < 0 ? constantIndex(0)
                        : counters[schedule.loopNumbers[current->stage][loop]]);
    return;
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    values.map(extract, gather(extract, values));
    return;
  }
  builder.clone(*op, values);
}

/// Maps the body's arguments to elements of the current iteration.
void LaunchWriter::readInputs(IRMapping &values) {
  for (auto [i, access] : llvm::enumerate(code().reads)) {
    BlockArgument argument = code().body->getArgument(i);
    if (access >= 0)
      values.map(argument, load(stage().accesses[access]));
    else if (!argument.use_empty())
      values.map(argument, constant(problem.places.at(code().inputs[i]).splat));
  }
}

/// The values that the body yields, from elements of the current iteration and
/// the values that a reduction carries.
SmallVector<Value> LaunchWriter::writeBody(ValueRange carried) {
  if (!code().body)
    return {code().fill ? constant(code().fill)
                        : load(stage().accesses.front())};
  Block &body = *code().body;
  IRMapping values;
  readInputs(values);
  for (auto [argument, value] :
       llvm::zip(body.getArguments().drop_front(code().inputs.size()), carried))
    values.map(argument, value);
  for (Operation &op : body.without_terminator())
    writeOperation(&op, values);
  SmallVector<Value> yielded;
  for (Value value : body.getTerminator()->getOperands()) {
    auto outside = value.getDefiningOp<arith::ConstantOp>();
    yielded.push_back(outside && !values.contains(value)
                          ? constant(outside.getValue())
                          : values.lookup(value));
  }
  return yielded;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// The iteration that is run, inside of which the builder writes on: of a loop
/// over a processor's share, or of this thread's group.
Value LaunchWriter::beginIteration() {
  if (schedule.hasBlocks)
    return beginThread();
  ArrayRef<BlockArgument> range = function.getArguments().take_back(2);
  auto loop = scf::ParallelOp::create(builder, location, ValueRange{range[0]},
                                      ValueRange{range[1]},
                                      ValueRange{constantIndex(1)});
  builder.setInsertionPointToStart(loop.getBody());
  return loop.getInductionVars().front();
}

void LaunchWriter::write(ModuleOp kernels, ArrayRef<int> tensors) {
  Block &entry = *function.addEntryBlock();
  for (auto [tensor, argument] : llvm::zip(tensors, entry.getArguments()))
    buffers[tensor] = argument;
  builder.setInsertionPointToStart(&entry);
  func::ReturnOp::create(builder, location);
  builder.setInsertionPointToStart(&entry);
  bindConstants(kernels);
  Value iteration = beginIteration();
  allocatePrivates();
  readLaunchCounters(iteration);
  for (const ScheduledStage &scheduled : launch.stages)
    schedule.hasBlocks ? writeThreadStage(scheduled) : writeStage(scheduled);
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
  LaunchWriter(builder, function, problem, schedule, launch)
      .write(kernels, tensors);
  tidy(function);
  return function;
}

} // namespace shardc::kernel
