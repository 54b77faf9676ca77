//===- Observation.cpp - What a program computes --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the interpreters and collects.
//===----------------------------------------------------------------------===//

#include "compiler/Observation.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Reference/RandomTensors.h"

#include <random>

using namespace mlir;

namespace shardc {

using reference::RankTensors;
using reference::ShardedState;
using reference::Tensor;

ArrayRef<ObservedRun> observedRuns() {
  static constexpr ObservedRun runs[] = {{1, 3}, {2, 1}};
  return runs;
}

ModuleOp findTensorProgram(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto functions = module.getOps<func::FuncOp>();
  return functions.empty() ? ModuleOp() : module;
}

static std::string nameOf(const Twine &what, const ObservedRun &run,
                          int64_t step) {
  return (what + " of step " + Twine(step) + " with seed " + Twine(run.seed))
      .str();
}

static bool hasGradients(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        return isa<fsdp::ReduceScatterOp, fsdp::ReduceScatterStartOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool hasUpdate(ModuleOp module) {
  return module.walk([](fsdp::WriteShardOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// What an update changes of a parameter.
static SmallVector<std::string> updatedKeys(const ShardedState &state) {
  SmallVector<std::string> keys = {ShardedState::parameterKey.str()};
  llvm::append_range(keys, state.getKeys());
  return keys;
}

/// After an update; `getKept` and `getNumber` have what it left.
static void observeUpdates(const ShardedState &state, const ObservedRun &run,
                           int64_t step,
                           function_ref<Tensor(StringRef, StringRef)> getKept,
                           function_ref<Tensor(StringRef)> getNumber,
                           Observation &observation) {
  for (const std::string &name : state.getNames())
    for (const std::string &key : updatedKeys(state))
      if (state.isTrained(name))
        observation[nameOf(key + " " + name, run, step)] = {getKept(key, name)};
  for (const std::string &name : state.getNumbers())
    observation[nameOf("number " + name, run, step)] = {getNumber(name)};
}

static void observeBuffers(const ShardedState &state, int64_t ranks,
                           const ObservedRun &run, int64_t step,
                           Observation &observation) {
  for (const std::string &name : state.getNames())
    for (int64_t rank = 0; state.isBuffer(name) && rank < ranks; ++rank)
      observation[nameOf("buffer " + name, run, step)].push_back(
          state.get(name, rank));
}

static LogicalResult observeRun(ModuleOp module, int64_t ranks,
                                const ObservedRun &run,
                                Observation &observation) {
  reference::Interpreter interpreter(module, ranks);
  ShardedState &state = interpreter.getState();
  reference::setRandomState(state, run.seed);
  state.seed = run.seed;
  auto function = *module.getOps<func::FuncOp>().begin();
  bool isTrained = hasUpdate(module), hasReductions = hasGradients(module);
  for (int64_t step = 1; step <= run.steps; ++step) {
    SmallVector<RankTensors> inputs = reference::randomInputs(
        function, ranks, run.seed * 100 + static_cast<uint64_t>(step));
    FailureOr<reference::Execution> execution = interpreter.accumulate(inputs);
    if (failed(execution))
      return failure();
    observation[nameOf("loss", run, step)] =
        execution->losses ? *execution->losses : execution->results.front();
    observeBuffers(state, ranks, run, step, observation);
    for (const std::string &name : state.getNames())
      if (hasReductions && state.isTrained(name))
        observation[nameOf("gradient " + name, run, step)] = {
            state.getKept(ShardedState::gradientKey, name)};
    if (!isTrained)
      break; // A second step would begin with the gradients of the first.
    if (failed(interpreter.update()))
      return failure();
    observeUpdates(
        state, run, step,
        [&](StringRef key, StringRef name) { return state.getKept(key, name); },
        [&](StringRef name) { return state.get(name); }, observation);
    if (!interpreter.hasEvaluation())
      continue;
    FailureOr<reference::Execution> evaluation = interpreter.evaluate(inputs);
    if (failed(evaluation))
      return failure();
    observation[nameOf("evaluation", run, step)] = *evaluation->losses;
  }
  return success();
}

FailureOr<Observation> observeTensors(ModuleOp module, int64_t ranks) {
  Observation observation;
  for (const ObservedRun &run : observedRuns())
    if (failed(observeRun(module, ranks, run, observation)))
      return failure();
  return observation;
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

static void observeLosses(const reference::ProgramExecution &program,
                          StringRef name, Observation &observation) {
  for (int64_t rank = 0; rank < program.getRanks(); ++rank)
    observation[name.str()].push_back(program.getLoss(rank));
}

/// After a step's only micro-batch.
static void observeMicroBatch(const reference::ProgramExecution &program,
                              const ShardedState &state, const ObservedRun &run,
                              int64_t step, Observation &observation) {
  int64_t ranks = program.getRanks();
  for (const std::string &name : state.getNames()) {
    for (int64_t rank = 0; state.isBuffer(name) && rank < ranks; ++rank)
      observation[nameOf("buffer " + name, run, step)].push_back(
          program.getBuffer(name, rank));
    if (state.isTrained(name))
      observation[nameOf("gradient " + name, run, step)] = {
          program.getKept(ShardedState::gradientKey, name)};
  }
  observeLosses(program, nameOf("loss", run, step), observation);
}

/// Runs the sections of a step or an evaluation of one micro-batch, and calls
/// `afterMicroBatch` before what comes after it.
static LogicalResult runSections(reference::ProgramExecution &program,
                                 format::Run run, ArrayRef<RankTensors> inputs,
                                 function_ref<void()> afterMicroBatch) {
  for (const format::SectionRun &one :
       format::runsOfSections(program.getSections(), /*microBatches=*/1, run)) {
    if (failed(program.run(one.section,
                           one.microBatch ? inputs : ArrayRef<RankTensors>())))
      return failure();
    if (one.microBatch)
      afterMicroBatch();
  }
  return success();
}

static LogicalResult observeCommandRun(ModuleOp module,
                                       std::optional<uint64_t> order,
                                       const ObservedRun &run,
                                       Observation &observation) {
  constexpr int64_t microBatches = 1;
  reference::ProgramExecution program(module, order);
  int64_t ranks = program.getRanks();
  ShardedState state(module, ranks);
  reference::setRandomState(state, run.seed);
  program.setState(state);
  for (int64_t step = 1; step <= run.steps; ++step) {
    for (int64_t rank = 0; rank < ranks; ++rank)
      program.setScalars(rank, {state.learningRate, microBatches, run.seed,
                                step - 1, /*slice=*/rank});
    SmallVector<RankTensors> inputs =
        reference::randomInputs(program.getInputs(), ranks,
                                run.seed * 100 + static_cast<uint64_t>(step));
    // An update may change what backward left, and sums losses over ranks.
    if (failed(runSections(program, format::Run::Training, inputs, [&] {
          observeMicroBatch(program, state, run, step, observation);
        })))
      return failure();
    observeUpdates(
        state, run, step,
        [&](StringRef key, StringRef name) {
          return program.getKept(key, name);
        },
        [&](StringRef name) { return program.getNumber(name); }, observation);
    if (failed(runSections(program, format::Run::Evaluation, inputs, [&] {
          observeLosses(program, nameOf("evaluation", run, step), observation);
        })))
      return failure();
  }
  return success();
}

FailureOr<Observation> observeCommands(ModuleOp module,
                                       std::optional<uint64_t> order) {
  Observation observation;
  for (const ObservedRun &run : observedRuns())
    if (failed(observeCommandRun(module, order, run, observation)))
      return failure();
  return observation;
}

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

FailureOr<DirectionalDerivative>
differentiateNumerically(ModuleOp module, int64_t ranks, uint64_t seed) {
  // Far enough from 1e-16 of the loss, and so near that hardly an activation
  // crosses the corner of relu on the way: at 1e-6 some of a ResNet do.
  constexpr double distance = 1e-8;
  reference::ExactArithmetic exact;
  DirectionalDerivative derivative;
  auto function = *module.getOps<func::FuncOp>().begin();
  SmallVector<RankTensors> inputs =
      reference::randomInputs(function, ranks, seed);
  // The sum of the ranks' losses with every parameter moved along its
  // direction.
  auto lossAt = [&](double step, bool collect) -> FailureOr<double> {
    reference::Interpreter interpreter(module, ranks);
    ShardedState &state = interpreter.getState();
    reference::setRandomState(state, seed);
    std::mt19937_64 engine(seed);
    std::map<std::string, std::vector<double>> directions;
    for (const std::string &name : state.getNames()) {
      if (!state.isTrained(name))
        continue;
      Tensor parameter = state.get(name);
      std::vector<double> &direction = directions[name];
      for (double &element : parameter.mutableFloats()) {
        direction.push_back(static_cast<double>(engine() >> 11) * 0x1p-52 - 1);
        element += step * direction.back();
      }
      state.set(name, parameter);
    }
    FailureOr<reference::Execution> execution = interpreter.accumulate(inputs);
    if (failed(execution))
      return failure();
    for (auto &[name, direction] : directions) {
      if (!collect)
        break;
      Tensor gradient = state.getKept(ShardedState::gradientKey, name);
      for (auto [slope, along] :
           llvm::zip_equal(gradient.floats(), direction)) {
        derivative.fromGradients += slope * along;
        derivative.magnitude += std::abs(slope * along);
      }
    }
    const RankTensors &losses =
        execution->losses ? *execution->losses : execution->results.front();
    double sum = 0;
    for (const Tensor &loss : losses)
      sum += loss.floats()[0];
    return sum;
  };
  FailureOr<double> middle = lossAt(0, /*collect=*/true);
  FailureOr<double> before = lossAt(-distance, /*collect=*/false);
  FailureOr<double> after = lossAt(distance, /*collect=*/false);
  if (failed(middle) || failed(before) || failed(after))
    return failure();
  derivative.loss = std::abs(*middle);
  derivative.fromLosses = (*after - *before) / (2 * distance);
  return derivative;
}

} // namespace shardc
