//===- ThreadVectors.cpp - What a thread reads and stores at a time -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Accesses of up to 16 bytes where neighbouring iterations touch neighbouring
// elements, and the elements of each lane.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Emission/LaunchWriter.h"

#include "dialects/Aten/ElementBytes.h"
#include "passes/Kernel/Schedule/ThreadSchedule.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace shardc::kernel {

/// What the lanes of a vector read along `loop`, whose counter is at its first:
/// by vectors, once where all lanes read the same, or else lane by lane.
void LaunchWriter::readLanes(int loop, int64_t count) {
  lanes.clear();
  if (count == 1)
    return;
  for (const StageAccess &access : stage().accesses) {
    const bool isStored =
        problem.storages[access.tensor].kind != TensorStorage::Kind::Iota;
    if (access.isWrite || !isStored)
      continue;
    SmallVector<Value> values;
    if (access.strides[loop] == 0)
      values.assign(count, load(access));
    else if (isVector(access, loop, count))
      values = loadVector(access, count);
    if (!values.empty())
      lanes[&access] = values;
  }
}

/// Whether `count` neighbours along `loop` are one access. What a thread has
/// for itself is in registers, which have no vectors.
bool LaunchWriter::isVector(const StageAccess &access, int loop,
                            int64_t count) const {
  return !isOfThread(access.tensor) &&
         isVectorAccess(schedule, stage(), access, loop, count);
}

/// Elements of one vector; a wider one is several.
int64_t LaunchWriter::vectorElements(const StageAccess &access,
                                     int64_t count) const {
  return std::min(count,
                  16 / schedule.merged.tensors[access.tensor].elementBytes);
}

/// A vector lies at a multiple of its bytes.
static llvm::MaybeAlign alignmentOf(VectorType type) {
  return llvm::MaybeAlign(type.getNumElements() *
                          getElementBytes(type.getElementType()));
}

SmallVector<Value> LaunchWriter::loadVector(const StageAccess &access,
                                            int64_t count) {
  SmallVector<Value> values;
  const int64_t each = vectorElements(access, count);
  auto type = VectorType::get(each, problem.storages[access.tensor].element);
  Value index = accessIndex(access);
  requireAlignment(access, each);
  for (int64_t first = 0; first < count; first += each) {
    Value vector =
        vector::LoadOp::create(builder, location, type, buffers[access.tensor],
                               elementIndex(first, {1}, {index}),
                               /*nontemporal=*/false, alignmentOf(type));
    for (int64_t lane = 0; lane < each; ++lane)
      values.push_back(
          vector::ExtractOp::create(builder, location, vector, lane));
  }
  return values;
}

void LaunchWriter::storeVector(ArrayRef<Value> values,
                               const StageAccess &access) {
  const auto count = static_cast<int64_t>(values.size());
  const int64_t each = vectorElements(access, count);
  auto type = VectorType::get(each, values.front().getType());
  Value index = accessIndex(access);
  requireAlignment(access, each);
  for (int64_t first = 0; first < count; first += each) {
    Value vector = vector::FromElementsOp::create(builder, location, type,
                                                  values.slice(first, each));
    vector::StoreOp::create(builder, location, vector, buffers[access.tensor],
                            elementIndex(first, {1}, {index}),
                            /*nontemporal=*/false, alignmentOf(type));
  }
}

/// The operand's address must be a multiple of a vector's bytes.
void LaunchWriter::requireAlignment(const StageAccess &access,
                                    int64_t elements) {
  auto argument = dyn_cast<BlockArgument>(buffers[access.tensor]);
  if (!argument)
    return;
  const int64_t bytes =
      elements * schedule.merged.tensors[access.tensor].elementBytes;
  auto known = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                      alignmentName);
  if (!known || known.getInt() < bytes)
    function.setArgAttr(argument.getArgNumber(), alignmentName,
                        builder.getI64IntegerAttr(bytes));
}

/// Moves the counter of `loop` by `lane`, from the place of the first lane.
void LaunchWriter::moveToLane(int loop, Value first, int64_t number) {
  lane = number;
  countLoop(loop, elementIndex(number, {1}, {first}));
}

//===----------------------------------------------------------------------===//
// Several steps at a time
//===----------------------------------------------------------------------===//

/// How many values a step of `count` iterations reads ahead of an access, 1
/// where all are the same. 0: each is read where it is needed.
int64_t LaunchWriter::valuesAhead(const StageAccess &access,
                                  int64_t count) const {
  const int loop = current->innerLoops.back();
  const bool isStored =
      problem.storages[access.tensor].kind != TensorStorage::Kind::Iota;
  if (access.isWrite || !isStored || isOfThread(access.tensor) ||
      tiles.contains(&access))
    return 0;
  if (count == 1 || access.strides[loop] == 0)
    return 1;
  return isVector(access, loop, count) ? count : 0;
}

/// Operations of an iteration, about; of a function of `math`, those that it is
/// expanded to.
static int64_t operationsOf(const StageBody &code) {
  constexpr int64_t ofFunction = 32;
  int64_t operations = 0;
  if (code.body)
    for (Operation &op : *code.body)
      operations += isa<math::MathDialect>(op.getDialect()) ? ofFunction : 1;
  return operations;
}

/// How many steps read ahead of a stage whose iterations are for themselves: as
/// many as bring two vectors of the widest access on their way, and have room
/// in registers. 1 where there is nothing to gain, or so much to compute that
/// loads have the time: ptxas computes lanes side by side, and would run out of
/// registers.
int64_t LaunchWriter::stepsAhead(const Share &share,
                                 ArrayRef<int> reduced) const {
  constexpr int64_t wantedBytes = 32, mostBytes = 128, mostSteps = 8;
  constexpr int64_t muchWork = 512;
  if (!reduced.empty() || stage().scatters || stage().scans ||
      share.iterations == 1 || operationsOf(code()) * share.vector > muchWork)
    return 1;
  int64_t bytes = 0, widest = 0;
  for (const StageAccess &access : stage().accesses) {
    const int64_t ofAccess =
        valuesAhead(access, share.vector) *
        schedule.merged.tensors[access.tensor].elementBytes;
    bytes += ofAccess;
    widest = std::max(widest, ofAccess);
  }
  return bytes == 0 ? 1
                    : std::min({share.steps, mostSteps, wantedBytes / widest,
                                mostBytes / bytes});
}

/// Reads what a step that `exists` reads ahead; zeros where it does not.
void LaunchWriter::readAhead(Value exists, int64_t count) {
  SmallVector<const StageAccess *> accesses;
  SmallVector<Type> types;
  for (const StageAccess &access : stage().accesses)
    if (const int64_t values = valuesAhead(access, count)) {
      accesses.push_back(&access);
      types.append(values, problem.storages[access.tensor].element);
    }
  auto read = [&] {
    SmallVector<Value> values;
    for (const StageAccess *access : accesses)
      if (valuesAhead(*access, count) == 1)
        values.push_back(load(*access));
      else
        llvm::append_range(values, loadVector(*access, count));
    return values;
  };
  SmallVector<Value> values;
  if (exists) {
    auto branch = scf::IfOp::create(builder, location, types, exists,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getElseRegion().front());
    auto zeros = llvm::map_to_vector(types, [&](Type type) -> Value {
      return constant(builder.getZeroAttr(type));
    });
    scf::YieldOp::create(builder, location, zeros);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    scf::YieldOp::create(builder, location, read());
    values = llvm::to_vector_of<Value>(branch.getResults());
  } else {
    values = read();
  }
  lanes.clear();
  ArrayRef<Value> rest(values);
  for (const StageAccess *access : accesses) {
    const int64_t found = valuesAhead(*access, count);
    lanes[access] = SmallVector<Value>(rest.take_front(found));
    if (found == 1)
      lanes[access].assign(count, rest.front());
    rest = rest.drop_front(found);
  }
}

/// Steps `first`, …: what all of them read, then what each computes and stores.
/// What a store might change is not read early by anyone else.
void LaunchWriter::writeAhead(const Share &share, Value first, int64_t count) {
  struct Step {
    Value exists;
    SmallVector<Value> counters, digits;
    decltype(lanes) read;
  };
  SmallVector<Step> steps;
  const int64_t begin = step;
  for (int64_t i = 0; i < count; ++i, ++step) {
    Value exists = beginStep(share, elementIndex(i, {1}, {first}));
    lane = 0;
    lanes.clear();
    readAhead(exists, share.vector);
    steps.push_back({exists, counters, digits, lanes});
  }
  step = begin;
  for (Step &each : steps) {
    counters = each.counters;
    digits = each.digits;
    lanes = std::move(each.read);
    const int last = share.loops.back();
    Value firstLane = digits[last];
    writeIf(each.exists, [&] {
      SmallVector<SmallVector<Value>> results;
      for (int64_t i = 0; i < share.vector; ++i) {
        moveToLane(last, firstLane, i);
        results.push_back(writeBody(startValues()));
      }
      storeLanes(results, last, firstLane, Value());
    });
    lanes.clear();
    ++step;
  }
}

/// All steps, `together` at a time, so that several loads are on their way.
void LaunchWriter::writeStepsAhead(const Share &share, int64_t together) {
  step = 0;
  int64_t written = 0;
  if (!keepsSteps() && share.steps >= 2 * together) {
    OpBuilder::InsertionGuard guard(builder);
    Value turn = writeLoop(share.steps / together);
    writeAhead(share, elementIndex(0, {together}, {turn}), together);
    written = share.steps / together * together;
  }
  for (; written < share.steps; written += together)
    writeAhead(share, constantIndex(written),
               std::min(together, share.steps - written));
  step = 0;
  lane = 0;
}

/// Stores one result for each lane; what each thread has a copy of, it stores,
/// the rest where `isWriter` holds.
void LaunchWriter::storeLanes(ArrayRef<SmallVector<Value>> results, int loop,
                              Value first, Value isWriter) {
  const auto count = static_cast<int64_t>(results.size());
  for (auto [number, access] : llvm::enumerate(writes())) {
    SmallVector<Value> values;
    for (const SmallVector<Value> &lane : results)
      values.push_back(lane[number]);
    writeIf(isOfThread(access.tensor) ? Value() : isWriter, [&] {
      if (loop >= 0)
        moveToLane(loop, first, 0);
      if (isVector(access, loop, count))
        return storeVector(values, access);
      for (int64_t i = 0; i < count; ++i) {
        if (loop >= 0)
          moveToLane(loop, first, i);
        store(values[i], access);
      }
    });
  }
}

} // namespace shardc::kernel
