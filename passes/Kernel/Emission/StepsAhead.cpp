//===- StepsAhead.cpp - Several steps at a time ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Loads of several steps come before what is computed from the first of them,
// so that they are on their way at once.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Emission/StepsAhead.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace shardc::kernel {

/// How many values a step of `count` iterations reads ahead of an access, 1
/// where all are the same. 0: each is read where it is needed.
int64_t StepsAhead::valuesAhead(const StageAccess &access,
                                int64_t count) const {
  const int loop = state.current->innerLoops.back();
  const bool isStored =
      state.problem.storages[access.tensor].kind != TensorStorage::Kind::Iota;
  if (access.isWrite || !isStored || state.isOfThread(access.tensor) ||
      state.tiles.contains(&access))
    return 0;
  if (count == 1 || access.strides[loop] == 0)
    return 1;
  return vectors.isVector(access, loop, count) ? count : 0;
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
int64_t StepsAhead::stepsAhead(const ThreadShare &share,
                               ArrayRef<int> reduced) const {
  constexpr int64_t wantedBytes = 32, maxBytes = 128, maxSteps = 8;
  constexpr int64_t muchWork = 512;
  if (!reduced.empty() || state.stage().scatters || state.stage().scans ||
      share.iterations == 1 ||
      operationsOf(state.code()) * share.vector > muchWork)
    return 1;
  int64_t bytes = 0, widest = 0;
  for (const StageAccess &access : state.stage().accesses) {
    const int64_t ofAccess =
        valuesAhead(access, share.vector) *
        state.schedule.merged.tensors[access.tensor].elementBytes;
    bytes += ofAccess;
    widest = std::max(widest, ofAccess);
  }
  return bytes == 0 ? 1
                    : std::min({share.steps, maxSteps, wantedBytes / widest,
                                maxBytes / bytes});
}

/// Reads what a step that `exists` reads ahead; zeros where it does not.
void StepsAhead::readAhead(Value exists, int64_t count) {
  SmallVector<const StageAccess *> accesses;
  SmallVector<Type> types;
  for (const StageAccess &access : state.stage().accesses)
    if (const int64_t values = valuesAhead(access, count)) {
      accesses.push_back(&access);
      types.append(values, state.problem.storages[access.tensor].element);
    }
  auto read = [&] {
    SmallVector<Value> values;
    for (const StageAccess *access : accesses)
      if (valuesAhead(*access, count) == 1)
        values.push_back(elements.load(*access));
      else
        llvm::append_range(values, vectors.loadVector(*access, count));
    return values;
  };
  SmallVector<Value> values;
  if (exists) {
    auto branch = state.create<scf::IfOp>(types, exists,
                                          /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(state.builder);
    state.builder.setInsertionPointToStart(&branch.getElseRegion().front());
    auto zeros = llvm::map_to_vector(types, [&](Type type) -> Value {
      return state.constant(state.builder.getZeroAttr(type));
    });
    state.create<scf::YieldOp>(zeros);
    state.builder.setInsertionPointToStart(&branch.getThenRegion().front());
    state.create<scf::YieldOp>(read());
    values = llvm::to_vector_of<Value>(branch.getResults());
  } else {
    values = read();
  }
  state.lanes.clear();
  ArrayRef<Value> rest(values);
  for (const StageAccess *access : accesses) {
    const int64_t found = valuesAhead(*access, count);
    state.lanes[access] = SmallVector<Value>(rest.take_front(found));
    if (found == 1)
      state.lanes[access].assign(count, rest.front());
    rest = rest.drop_front(found);
  }
}

/// Steps `first`, …: what all of them read, then what each computes and stores.
/// What a store might change is not read early by anyone else.
void StepsAhead::writeAhead(const ThreadShare &share, Value first,
                            int64_t count) {
  struct Step {
    Value exists;
    SmallVector<Value> counters, digits;
    decltype(state.lanes) read;
  };
  SmallVector<Step> steps;
  const int64_t begin = state.step;
  for (int64_t i = 0; i < count; ++i, ++state.step) {
    Value exists = shares.beginStep(share, state.elementIndex(i, {1}, {first}));
    state.lane = 0;
    state.lanes.clear();
    readAhead(exists, share.vector);
    steps.push_back({exists, state.counters, state.digits, state.lanes});
  }
  state.step = begin;
  for (Step &each : steps) {
    state.counters = each.counters;
    state.digits = each.digits;
    state.lanes = std::move(each.read);
    const int last = share.loops.back();
    Value firstLane = state.digits[last];
    state.writeIf(each.exists, [&] {
      SmallVector<SmallVector<Value>> results;
      for (int64_t i = 0; i < share.vector; ++i) {
        vectors.moveToLane(last, firstLane, i);
        results.push_back(elements.writeBody(elements.startValues()));
      }
      vectors.storeLanes(results, last, firstLane, Value());
    });
    state.lanes.clear();
    ++state.step;
  }
}

/// All steps, `together` at a time, so that several loads are on their way.
void StepsAhead::writeStepsAhead(const ThreadShare &share, int64_t together) {
  state.step = 0;
  int64_t written = 0;
  if (!shares.keepsSteps() && share.steps >= 2 * together) {
    OpBuilder::InsertionGuard guard(state.builder);
    Value turn = state.writeLoop(share.steps / together);
    writeAhead(share, state.elementIndex(0, {together}, {turn}), together);
    written = share.steps / together * together;
  }
  for (; written < share.steps; written += together)
    writeAhead(share, state.constantIndex(written),
               std::min(together, share.steps - written));
  state.step = 0;
  state.lane = 0;
}

} // namespace shardc::kernel
