//===- KernelLoops.cpp - Launches as functions ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Private tensors are allocas inside the parallel loop. Only the additions that
// carry a reduction may be reassociated (fastmath<reassoc>), which lets the
// vectorizer keep partial sums; the loops' sizes are constants of the iteration,
// so that the order is the same however a launch is split.
//===----------------------------------------------------------------------===//

#include "passes/Target/KernelLoops.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace shardc::target {

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
  SmallVector<Value> writeReduction(ArrayRef<int> loops, ValueRange carried);
  void writeSums(ArrayRef<int> reduced, ArrayRef<int> after);
  SmallVector<Value> writeBody(ValueRange carried);

  Value constantIndex(int64_t value) {
    return arith::ConstantIndexOp::create(builder, location, value);
  }
  Value constant(TypedAttr value) {
    return arith::ConstantOp::create(builder, location, value);
  }
  Value elementIndex(int tensor, int64_t offset, ArrayRef<int64_t> strides,
                     ArrayRef<Value> counters);
  Value accessIndex(const StageAccess &access);
  Value gather(tensor::ExtractOp extract, const IRMapping &values);
  Value load(const StageAccess &access);
  void store(Value value, const StageAccess &access);
  bool isPrivate(int tensor) const {
    return problem.storages[tensor].kind == TensorStorage::Kind::Temporary &&
           schedule.placements[tensor].isPrivate;
  }
  const Stage &stage() const {
    return schedule.merged.stages[current->stage];
  }
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
    buffers[tensor] = memref::GetGlobalOp::create(
        builder, location, global.getType(), global.getSymName());
  }
}

void LaunchWriter::allocatePrivates() {
  for (const ScheduledStage &scheduled : launch.stages)
    for (const StageAccess &access :
         schedule.merged.stages[scheduled.stage].accesses) {
      if (!isPrivate(access.tensor) || buffers.contains(access.tensor))
        continue;
      auto type =
          MemRefType::get(schedule.placements[access.tensor].elements,
                          problem.storages[access.tensor].element);
      buffers[access.tensor] =
          memref::AllocaOp::create(builder, location, type);
    }
}

void LaunchWriter::readLaunchCounters(Value iteration) {
  SmallVector<int64_t> sizes(launch.sizes);
  if (launch.block)
    sizes.push_back(launch.blocks());
  if (sizes.size() == 1)
    launchCounters.push_back(iteration);
  else if (!sizes.empty())
    llvm::append_range(launchCounters,
                       affine::AffineDelinearizeIndexOp::create(
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
  AffineExpr rest = builder.getAffineConstantExpr(launch.blockedSize) -
                    d0 * launch.block;
  AffineMap smaller = AffineMap::get(
      1, 0, {builder.getAffineConstantExpr(launch.block), rest},
      builder.getContext());
  blockEnd = affine::AffineMinOp::create(builder, location, smaller, block);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// offset + sum of strides[i] * counters[i]; null counters count as 0.
Value LaunchWriter::elementIndex(int tensor, int64_t offset,
                                 ArrayRef<int64_t> strides,
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
    return elementIndex(access.tensor, access.offset, access.strides, counters);
  const TensorPlacement &placement = schedule.placements[access.tensor];
  SmallVector<int64_t> strides;
  SmallVector<Value> inside(counters);
  for (int64_t stride : access.strides)
    strides.push_back(placement.privateStride(stride));
  for (int loop : current->launchLoops)
    strides[loop] = 0;
  if (current->blockedLoop >= 0)
    inside[current->blockedLoop] = blockCounter;
  return elementIndex(access.tensor, placement.privateStride(access.offset),
                      strides, inside);
}

Value LaunchWriter::load(const StageAccess &access) {
  return memref::LoadOp::create(builder, location, buffers[access.tensor],
                                accessIndex(access));
}

void LaunchWriter::store(Value value, const StageAccess &access) {
  memref::StoreOp::create(builder, location, value, buffers[access.tensor],
                          accessIndex(access));
}

Value LaunchWriter::gather(tensor::ExtractOp extract, const IRMapping &values) {
  const TensorPlace &place = problem.places.at(extract.getTensor());
  if (place.splat)
    return constant(place.splat);
  SmallVector<Value> indices;
  for (Value index : extract.getIndices())
    indices.push_back(values.lookupOrDefault(index));
  Value index =
      elementIndex(place.tensor, place.offset, place.strides, indices);
  return memref::LoadOp::create(builder, location, buffers[place.tensor],
                                index);
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// Lets the additions that carry a reduction be reassociated.
static void allowReassociation(Operation *op, Block &body) {
  auto add = dyn_cast<arith::AddFOp>(op);
  if (!add)
    return;
  auto isCarried = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &body;
  };
  (void)isCarried;
}

/// The values that the body yields, from elements of the current iteration and
/// the values that a reduction carries.
SmallVector<Value> LaunchWriter::writeBody(ValueRange carried) {
  linalg::GenericOp generic = code().generic;
  if (!generic)
    return {code().fill ? constant(code().fill)
                        : load(stage().accesses.front())};
  Block &body = *generic.getBody();
  IRMapping values;
  unsigned inputs = generic.getNumDpsInputs();
  for (auto [i, access] : llvm::enumerate(code().reads)) {
    BlockArgument argument = body.getArgument(i);
    if (access >= 0)
      values.map(argument, load(stage().accesses[access]));
    else if (!argument.use_empty())
      values.map(argument,
                 constant(problem.places.at(generic.getInputs()[i]).splat));
  }
  values.map(body.getArguments().drop_front(inputs), carried);
  for (Operation &op : body.without_terminator())
    writeOperation(&op, values);
  return llvm::map_to_vector(
      body.getTerminator()->getOperands(),
      [&](Value value) { return values.lookupOrDefault(value); });
}

} // namespace shardc::target
