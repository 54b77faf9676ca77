//===- KernelLoops.cpp - Launches as functions ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Private tensors are allocas inside the parallel loop. Only the additions that
// carry a reduction may be reassociated (fastmath<reassoc>), which lets the
// vectorizer keep partial sums; the loops' sizes are constants of the
// iteration, so that the order is the same however a launch is split.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/KernelLoops.h"

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

namespace {

/// Builds the body of one launch.
class LaunchWriter {
public:
  LaunchWriter(OpBuilder &builder, Location location,
               const KernelProblem &problem, const KernelSchedule &schedule,
               const Launch &launch)
      : builder(builder), location(location), problem(problem),
        schedule(schedule), launch(launch) {}

  void write(ModuleOp kernels, func::FuncOp function, ArrayRef<int> tensors);

private:
  void bindConstants(ModuleOp kernels);
  void allocatePrivates();
  void readLaunchCounters(Value iteration);
  void writeStage(const ScheduledStage &scheduled);
  void writeLoops(ArrayRef<int> loops, function_ref<void()> inside);
  SmallVector<Value> writeReduction(ArrayRef<int> loops);
  SmallVector<Value> writeSerialReduction(ArrayRef<int> loops,
                                          ValueRange carried);
  SmallVector<Value> writeLaneReduction(ArrayRef<int> loops);
  void writeLanes(ArrayRef<Value> lanes, int loop, Value chunk, int64_t count);
  SmallVector<Value> startLanes();
  Value startOfFurtherLanes(Operation *combiner, Value start);
  void combineLanes(Operation *combiner, Value lanes);
  Value writeLoop(int64_t size);
  void writeBlockReduction(ArrayRef<int> reduced, ArrayRef<int> after);
  void writeScan(ArrayRef<int> loops);
  void writeScatter();
  Value held(Value index, int64_t size);
  void readInputs(IRMapping &values);
  SmallVector<Value> writeBody(ValueRange carried);
  void writeOperation(Operation *op, IRMapping &values);
  void countLoop(int loop, Value counter);
  Value loopEnd(int loop);
  SmallVector<Value> startValues();
  ArrayRef<StageAccess> writes() const;
  void storeAll(ValueRange values);

  Value constantIndex(int64_t value) {
    return arith::ConstantIndexOp::create(builder, location, value);
  }
  Value constant(TypedAttr value) {
    return arith::ConstantOp::create(builder, location, value);
  }
  Value elementIndex(int64_t offset, ArrayRef<int64_t> strides,
                     ArrayRef<Value> counters);
  Value accessIndex(const StageAccess &access);
  Value gather(tensor::ExtractOp extract, const IRMapping &values);
  Value readElement(int tensor, Value index);
  Value load(const StageAccess &access);
  void store(Value value, const StageAccess &access);
  bool isPrivate(int tensor) const {
    return problem.storages[tensor].kind == TensorStorage::Kind::Temporary &&
           schedule.placements[tensor].isPrivate;
  }
  const Stage &stage() const { return schedule.merged.stages[current->stage]; }
  const StageBody &code() const { return problem.bodies[current->stage]; }

  OpBuilder &builder;
  Location location;
  const KernelProblem &problem;
  const KernelSchedule &schedule;
  const Launch &launch;

  /// The memref of each tensor of this launch.
  DenseMap<int, Value> buffers;
  /// Counters of the launch's loops, and where its block starts and ends.
  SmallVector<Value> launchCounters;
  Value blockStart, blockEnd;

  // The stage that is being written: counters by loop, over the whole tensor
  // and, for the blocked loop, from the block's start.
  const ScheduledStage *current = nullptr;
  SmallVector<Value> counters;
  Value blockCounter;
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
      auto type = MemRefType::get(schedule.placements[access.tensor].elements,
                                  problem.storages[access.tensor].element);
      buffers[access.tensor] =
          memref::AllocaOp::create(builder, location, type);
    }
}

void LaunchWriter::readLaunchCounters(Value iteration) {
  auto sizes = llvm::to_vector(launch.sizes);
  if (launch.block)
    sizes.push_back(launch.blocks());
  if (sizes.size() == 1)
    launchCounters.push_back(iteration);
  else if (!sizes.empty())
    llvm::append_range(launchCounters, affine::AffineDelinearizeIndexOp::create(
                                           builder, location, iteration, sizes)
                                           .getResults());
  if (!launch.block)
    return;
  AffineExpr d0 = builder.getAffineDimExpr(0);
  Value block = launchCounters.pop_back_val();
  blockStart = affine::AffineApplyOp::create(
      builder, location, AffineMap::get(1, 0, d0 * launch.block), block);
  if (launch.blockedSize % launch.block == 0) {
    blockEnd = constantIndex(launch.block);
    return;
  }
  AffineExpr rest =
      builder.getAffineConstantExpr(launch.blockedSize) - d0 * launch.block;
  AffineMap smaller =
      AffineMap::get(1, 0, {builder.getAffineConstantExpr(launch.block), rest},
                     builder.getContext());
  blockEnd = affine::AffineMinOp::create(builder, location, smaller, block);
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
/// count, and the blocked loop counts from its block's start.
Value LaunchWriter::accessIndex(const StageAccess &access) {
  if (!isPrivate(access.tensor))
    return elementIndex(access.offset, access.strides, counters);
  const TensorPlacement &placement = schedule.placements[access.tensor];
  SmallVector<int64_t> strides;
  SmallVector<Value> inside(counters);
  for (int64_t stride : access.strides)
    strides.push_back(placement.privateStride(stride));
  for (int loop : current->launchLoops)
    strides[loop] = 0;
  if (current->blockedLoop >= 0)
    inside[current->blockedLoop] = blockCounter;
  return elementIndex(placement.privateOffset(access.offset), strides, inside);
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
// Stages
//===----------------------------------------------------------------------===//

ArrayRef<StageAccess> LaunchWriter::writes() const {
  ArrayRef<StageAccess> accesses = stage().accesses;
  return accesses.drop_while(
      [](const StageAccess &access) { return !access.isWrite; });
}

void LaunchWriter::storeAll(ValueRange values) {
  for (auto [value, access] : llvm::zip_equal(values, writes()))
    store(value, access);
}

SmallVector<Value> LaunchWriter::startValues() {
  return llvm::map_to_vector(code().starts,
                             [&](TypedAttr start) { return constant(start); });
}

void LaunchWriter::countLoop(int loop, Value counter) {
  counters[loop] = counter;
  if (loop != current->blockedLoop)
    return;
  blockCounter = counter;
  counters[loop] = elementIndex(0, {1, 1}, {blockStart, counter});
}

Value LaunchWriter::loopEnd(int loop) {
  return loop == current->blockedLoop ? blockEnd
                                      : constantIndex(stage().sizes[loop]);
}

/// A loop of `size` iterations, inside which the builder writes on; returns its
/// counter.
Value LaunchWriter::writeLoop(int64_t size) {
  auto loop = scf::ForOp::create(builder, location, constantIndex(0),
                                 constantIndex(size), constantIndex(1));
  builder.setInsertionPointToStart(loop.getBody());
  return loop.getInductionVar();
}

/// `loops` around what `inside` writes.
void LaunchWriter::writeLoops(ArrayRef<int> loops,
                              function_ref<void()> inside) {
  if (loops.empty())
    return inside();
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, location, constantIndex(0),
                                 loopEnd(loops.front()), constantIndex(1));
  builder.setInsertionPointToStart(loop.getBody());
  countLoop(loops.front(), loop.getInductionVar());
  writeLoops(loops.drop_front(), inside);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The operation that combines output `number` of a reduction with the value of
/// one iteration, or null when the body is more than that.
static Operation *combinerOf(const StageBody &code, unsigned number) {
  Block &body = *code.body;
  Value carried = body.getArgument(code.inputs.size() + number);
  Operation *combiner =
      body.getTerminator()->getOperand(number).getDefiningOp();
  bool isSimple =
      combiner && combiner->getBlock() == &body &&
      combiner->getNumOperands() == 2 &&
      llvm::is_contained(combiner->getOperands(), carried) &&
      carried.hasOneUse() &&
      isa<arith::AddFOp, arith::AddIOp, arith::MaxNumFOp, arith::MinNumFOp,
          arith::MaximumFOp, arith::MinimumFOp, arith::MulFOp>(combiner);
  return isSimple ? combiner : nullptr;
}

static constexpr int64_t laneCount = 16;

SmallVector<Value> LaunchWriter::writeReduction(ArrayRef<int> loops) {
  bool hasLanes =
      !loops.empty() && stage().sizes[loops.back()] >= 2 * laneCount;
  for (unsigned i = 0; i < writes().size() && hasLanes; ++i)
    hasLanes = combinerOf(code(), i) != nullptr;
  return hasLanes ? writeLaneReduction(loops)
                  : writeSerialReduction(loops, startValues());
}

/// Short loops, which carry their values in registers.
SmallVector<Value> LaunchWriter::writeSerialReduction(ArrayRef<int> loops,
                                                      ValueRange carried) {
  if (loops.empty())
    return writeBody(carried);
  OpBuilder::InsertionGuard guard(builder);
  auto loop =
      scf::ForOp::create(builder, location, constantIndex(0),
                         loopEnd(loops.front()), constantIndex(1), carried);
  builder.setInsertionPointToStart(loop.getBody());
  countLoop(loops.front(), loop.getInductionVar());
  SmallVector<Value> next =
      writeSerialReduction(loops.drop_front(), loop.getRegionIterArgs());
  scf::YieldOp::create(builder, location, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

/// Iterations chunk * 16 + [0, count) of `loop`, each into its lane.
void LaunchWriter::writeLanes(ArrayRef<Value> lanes, int loop, Value chunk,
                              int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  Value lane = writeLoop(count);
  counters[loop] = elementIndex(0, {laneCount, 1}, {chunk, lane});
  SmallVector<Value> carried;
  for (Value values : lanes)
    carried.push_back(memref::LoadOp::create(builder, location, values, lane));
  for (auto [value, values] : llvm::zip_equal(writeBody(carried), lanes))
    memref::StoreOp::create(builder, location, value, values, lane);
}

/// Lanes 0 and 8, 1 and 9, …; then 0 and 4, …, until lane 0 holds all.
void LaunchWriter::combineLanes(Operation *combiner, Value lanes) {
  for (int64_t half = laneCount / 2; half > 0; half /= 2) {
    OpBuilder::InsertionGuard guard(builder);
    Value lane = writeLoop(half);
    Value other = elementIndex(half, {1}, lane);
    Value low = memref::LoadOp::create(builder, location, lanes, lane);
    Value high = memref::LoadOp::create(builder, location, lanes, other);
    Operation *combined = builder.clone(*combiner);
    combined->setOperands({low, high});
    memref::StoreOp::create(builder, location, combined->getResult(0), lanes,
                            lane);
  }
}

/// What 15 of the lanes start with. The reduction's start counts once, unless
/// combining it with itself changes nothing.
Value LaunchWriter::startOfFurtherLanes(Operation *combiner, Value start) {
  if (!isa<arith::AddFOp, arith::AddIOp, arith::MulFOp>(combiner))
    return start;
  return arith::ConstantOp::create(builder, location,
                                   *arith::getNeutralElement(combiner));
}

/// One buffer of lanes an output.
SmallVector<Value> LaunchWriter::startLanes() {
  SmallVector<Value> lanes;
  for (auto [number, start] : llvm::enumerate(startValues())) {
    auto type = MemRefType::get(laneCount, start.getType());
    Value memory = memref::AllocaOp::create(builder, location, type);
    lanes.push_back(memory);
    Value further = startOfFurtherLanes(combinerOf(code(), number), start);
    {
      OpBuilder::InsertionGuard guard(builder);
      Value lane = writeLoop(laneCount);
      memref::StoreOp::create(builder, location, further, memory, lane);
    }
    memref::StoreOp::create(builder, location, start, memory, constantIndex(0));
  }
  return lanes;
}

SmallVector<Value> LaunchWriter::writeLaneReduction(ArrayRef<int> loops) {
  SmallVector<Value> lanes = startLanes();
  int last = loops.back();
  int64_t chunks = stage().sizes[last] / laneCount;
  int64_t rest = stage().sizes[last] % laneCount;
  writeLoops(loops.drop_back(), [&] {
    {
      OpBuilder::InsertionGuard guard(builder);
      Value chunk = writeLoop(chunks);
      writeLanes(lanes, last, chunk, laneCount);
    }
    if (rest != 0)
      writeLanes(lanes, last, constantIndex(chunks), rest);
  });
  SmallVector<Value> results;
  for (auto [number, memory] : llvm::enumerate(lanes)) {
    combineLanes(combinerOf(code(), number), memory);
    results.push_back(
        memref::LoadOp::create(builder, location, memory, constantIndex(0)));
  }
  return results;
}

/// Sums of a block of neighbours, which stay in the output while `reduced`
/// loops run outside the loops `after`.
void LaunchWriter::writeBlockReduction(ArrayRef<int> reduced,
                                       ArrayRef<int> after) {
  writeLoops(after, [&] { storeAll(startValues()); });
  SmallVector<int> loops(reduced);
  llvm::append_range(loops, after);
  writeLoops(loops, [&] {
    SmallVector<Value> sums;
    for (const StageAccess &access : writes())
      sums.push_back(load(access));
    storeAll(writeBody(sums));
  });
}

/// A loop that carries its values in registers and stores them each time.
void LaunchWriter::writeScan(ArrayRef<int> loops) {
  if (loops.empty()) // A dimension of one element.
    return storeAll(writeBody(startValues()));
  int scanned = loops.front();
  OpBuilder::InsertionGuard guard(builder);
  auto loop =
      scf::ForOp::create(builder, location, constantIndex(0), loopEnd(scanned),
                         constantIndex(1), startValues());
  builder.setInsertionPointToStart(loop.getBody());
  countLoop(scanned, loop.getInductionVar());
  SmallVector<Value> next = writeBody(loop.getRegionIterArgs());
  storeAll(next);
  scf::YieldOp::create(builder, location, next);
}

/// Changes the element of one iteration.
void LaunchWriter::writeScatter() {
  Block &body = *code().body;
  SmallVector<Operation *> independent, dependent;
  cast<exec::ScatterOp>(body.getParentOp()).partition(independent, dependent);
  IRMapping values;
  readInputs(values);
  for (Operation *op : independent)
    writeOperation(op, values);
  auto valueOf = [&](Value value) {
    auto outside = value.getDefiningOp<arith::ConstantOp>();
    return outside && !values.contains(value) ? constant(outside.getValue())
                                              : values.lookup(value);
  };
  // The computed indices stand behind the loops' counters.
  StageAccess access = writes().front();
  SmallVector<Value> loops(counters);
  Operation *yield = body.getTerminator();
  for (auto [value, index] :
       llvm::zip(yield->getOperands().drop_back(), access.computed)) {
    access.strides.push_back(index.stride);
    counters.push_back(held(valueOf(value), index.size));
  }
  values.map(body.getArguments().back(), load(access));
  for (Operation *op : dependent)
    writeOperation(op, values);
  store(valueOf(yield->getOperands().back()), access);
  counters = loops;
}

void LaunchWriter::writeStage(const ScheduledStage &scheduled) {
  current = &scheduled;
  counters.assign(stage().sizes.size(), Value());
  for (auto [loop, counter] :
       llvm::zip_equal(scheduled.launchLoops, launchCounters))
    counters[loop] = counter;
  ArrayRef<int> loops = scheduled.innerLoops;
  if (stage().scatters)
    return writeLoops(loops, [&] { writeScatter(); });
  auto isReduced = [&](int loop) { return stage().reduced[loop]; };
  ArrayRef<int> before = loops.take_until(isReduced);
  ArrayRef<int> reduced = loops.drop_front(before.size()).take_while(isReduced);
  ArrayRef<int> after = loops.drop_front(before.size() + reduced.size());
  writeLoops(before, [&] {
    if (stage().scans)
      writeScan(reduced);
    else if (after.empty())
      storeAll(writeReduction(reduced));
    else
      writeBlockReduction(reduced, after);
  });
}

void LaunchWriter::write(ModuleOp kernels, func::FuncOp function,
                         ArrayRef<int> tensors) {
  Block &entry = *function.addEntryBlock();
  for (auto [tensor, argument] : llvm::zip(tensors, entry.getArguments()))
    buffers[tensor] = argument;
  builder.setInsertionPointToStart(&entry);
  bindConstants(kernels);
  unsigned begin = tensors.size();
  auto loop =
      scf::ParallelOp::create(builder, location, entry.getArgument(begin),
                              entry.getArgument(begin + 1), constantIndex(1));
  func::ReturnOp::create(builder, location);
  builder.setInsertionPointToStart(loop.getBody());
  allocatePrivates();
  readLaunchCounters(loop.getInductionVars().front());
  for (const ScheduledStage &scheduled : launch.stages)
    writeStage(scheduled);
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
  types.append(2, builder.getIndexType());
  auto function = func::FuncOp::create(builder, location, name,
                                       builder.getFunctionType(types, {}));
  function->setAttr("exec.extent", builder.getI64IntegerAttr(launch.extent()));
  for (auto [number, access] : llvm::enumerate(accesses))
    if (access != exec::Access::read)
      function.setArgAttr(number, "exec.access",
                          builder.getStringAttr(exec::stringifyAccess(access)));
  LaunchWriter(builder, location, problem, schedule, launch)
      .write(kernels, function, tensors);
  tidy(function);
  return function;
}

} // namespace shardc::kernel
