//===- Verify.cpp - A compiled step against the unsharded reference -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compiles both sides, runs both, and compares step by step.
//===----------------------------------------------------------------------===//

#include "tools/verify/Verify.h"

#include "dialects/Reference/RandomTensors.h"
#include "dialects/Reference/TensorBytes.h"
#include "runtime/format/Validator.h"
#include "tools/verify/DrawnData.h"
#include "tools/verify/FullTensors.h"
#include "tools/verify/ReferenceStep.h"
#include "tools/verify/Tolerance.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace mlir;

namespace shardc::verify {

using format::Role;
using reference::RankTensors;
using reference::ShardedState;
using reference::Tensor;

namespace {

/// One compareBoth.
class Comparison {
public:
  Comparison(const VerifiedProgram &program, const VerifyOptions &options)
      : program(program), options(options), artifact(program.compiled.artifact),
        parameters(artifact.parameters),
        shards(artifact.manifest.mesh, parameters),
        ranks(artifact.manifest.mesh.ranks()),
        reference(program.reference.get(), ranks, options.microBatches,
                  options.learningRate, options.seed) {}

  VerifyResult run(const WeightSource &weights);
  StatusOr<std::optional<WrongCommand>>
  checkEachCommand(const WeightSource &weights);

private:
  Status begin(const WeightSource &weights);
  Status fillState(const WeightSource &weights);
  void fillWeights();
  RunOptions runOptions() const;
  Status runArtifact();
  Status locate();
  StatusOr<StepInputs> readInputs(int64_t step) const;

  bool compareStep(int64_t step);
  using Execute = llvm::function_ref<FailureOr<std::vector<Observed>>(
      std::optional<reference::Perturbation>)>;
  bool compareSampled(Execute execute);
  bool compareUpdate();
  void compareSums();
  void compareLossSum(StringRef name, const std::vector<RankStates> &before,
                      const std::vector<RankStates> &after);
  bool compareEvaluation(const StepInputs &inputs);
  void compareReplicas(const std::vector<RankStates> &states);
  void compareKept(const std::string &name, const std::string &key);
  void compareNumber(const std::string &name);
  std::vector<std::string> keys() const;
  std::vector<double> actualOf(const Observed &observed) const;
  std::vector<double> gradientOf(const std::string &name) const;
  void takeOver();

  /// Adds a comparison to the table and its excess to the differences.
  void record(StringRef what, int64_t rank, const Judgement &judgement,
              size_t elements,
              std::optional<format::ParameterPlace> place = {});

  const VerifiedProgram &program;
  const VerifyOptions &options;
  const format::Artifact &artifact;
  const format::Parameters &parameters;
  const format::ShardMap shards;
  int64_t ranks;
  ReferenceStep reference;
  std::unique_ptr<runtime::DataSource> data;
  /// What both sides start from, as the runtime takes it.
  std::vector<std::vector<std::byte>> weightBytes;
  std::vector<format::NamedTensor> startWeights;
  std::vector<ObservedStep> steps;
  VerifyResult result;
  /// The step in progress, counted from 0, and what the artifact made of it.
  int64_t step = 0;
  const ObservedStep *observed = nullptr;
};

} // namespace

//===----------------------------------------------------------------------===//
// Weights and data
//===----------------------------------------------------------------------===//

Status Comparison::fillState(const WeightSource &weights) {
  ShardedState &state = reference.getState();
  if (!weights) {
    reference::setRandomState(state, options.seed);
    return Status();
  }
  for (const std::string &name : state.getNames()) {
    StatusOr<Tensor> tensor = weights(name, state.getType(name));
    if (!tensor.ok())
      return tensor.status();
    state.set(name, *tensor);
  }
  return Status();
}

/// The artifact starts from what the reference starts from.
void Comparison::fillWeights() {
  const ShardedState &state = reference.getState();
  for (const std::string &name : state.getNames()) {
    std::optional<format::Dtype> dtype = dtypeOf(artifact, name);
    if (!dtype)
      continue;
    Tensor tensor = state.get(name);
    weightBytes.push_back(reference::toBytes(tensor));
    startWeights.push_back(
        {name, *dtype, tensor.getShape().vec(), weightBytes.back()});
  }
}

RunOptions Comparison::runOptions() const {
  RunOptions run;
  run.steps = options.steps;
  run.microBatches = options.microBatches;
  run.threads = options.threads;
  run.learningRate = options.learningRate;
  run.seed = options.seed;
  run.poison = options.poison;
  // Kernels of a GPU run on emulated threads.
  if (program.compiled.artifact.manifest.target.isGpu())
    run.emulated = options.seed;
  return run;
}

Status Comparison::runArtifact() {
  StatusOr<std::vector<ObservedStep>> ran =
      runCompiled(program.compiled.artifact, startWeights, *data, runOptions());
  if (!ran.ok())
    return ran.status();
  steps = std::move(*ran);
  return Status();
}

/// Runs the artifact again, command by command, up to the step that differs.
Status Comparison::locate() {
  RunOptions run = runOptions();
  run.steps = result.steps;
  StatusOr<std::optional<WrongCommand>> found =
      checkCommands(program.commands.get(), program.compiled.artifact,
                    startWeights, *data, run);
  if (!found.ok())
    return found.status();
  result.wrongCommand = std::move(*found);
  return Status();
}

StatusOr<StepInputs> Comparison::readInputs(int64_t step) const {
  auto function = *program.reference.get().getOps<func::FuncOp>().begin();
  return readStepInputs(*data, parameters.inputs, function.getArgumentTypes(),
                        {ranks, options.microBatches,
                         format::samplesOfMicroBatch(parameters.inputs)},
                        step);
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

void Comparison::record(StringRef what, int64_t rank,
                        const Judgement &judgement, size_t elements,
                        std::optional<format::ParameterPlace> place) {
  StringRef kind = what == "gradient norm" ? what : what.split(' ').first;
  auto entry = llvm::find_if(result.compared, [&](const ComparedKind &other) {
    return other.kind == kind;
  });
  if (entry == result.compared.end()) {
    result.compared.push_back({kind.str()});
    entry = std::prev(result.compared.end());
  }
  ++entry->tensors;
  entry->elements += elements;
  entry->notFinite += judgement.notFinite;
  if (judgement.largestRatio > entry->largestRatio) {
    entry->largestRatio = judgement.largestRatio;
    entry->error = judgement.error;
    entry->allowed = judgement.allowed;
  }
  if (!judgement.excess)
    return;
  const Excess &excess = *judgement.excess;
  if (place)
    rank = holderOf(*place, artifact, excess.index);
  result.differences.push_back(
      {what.str(), step + 1, std::max<int64_t>(rank, 0), excess.index,
       excess.actual, excess.expected, excess.allowed});
}

/// The gradient that the artifact summed; zeros when it keeps none.
std::vector<double> Comparison::gradientOf(const std::string &name) const {
  if (auto place = shards.find(ShardedState::gradientKey, name))
    return gather(*place, artifact, observed->afterGradients);
  return std::vector<double>(reference::ShardedState(program.reference.get(), 1)
                                 .getType(name)
                                 .getNumElements());
}

static bool startsWith(StringRef text, StringRef prefix, std::string &rest) {
  if (!text.consume_front(prefix))
    return false;
  rest = text.str();
  return true;
}

/// What the artifact has for something that the reference computed.
std::vector<double> Comparison::actualOf(const Observed &expected) const {
  std::string name;
  if (startsWith(expected.what, "gradient ", name))
    return gradientOf(name);
  if (startsWith(expected.what, "parameter ", name))
    return gather(*shards.find(ShardedState::parameterKey, name), artifact,
                  observed->afterUpdate);
  if (startsWith(expected.what, "buffer ", name)) {
    size_t state = *findState(parameters, Role::Buffer, name);
    Tensor tensor = reference::fromBytes(
        const_cast<Comparison *>(this)->reference.getState().getType(name),
        observed->afterGradients[expected.rank][state]);
    std::vector<double> values;
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      values.push_back(tensor.number(i));
    return values;
  }
  size_t state = *findState(parameters, Role::Metric, format::lossMetric);
  const std::vector<RankStates> &states = expected.what == "loss"
                                              ? observed->afterGradients
                                              : observed->afterLosses;
  return elementsOf(parameters.states[state], states[expected.rank][state]);
}

/// Executions with moved operands: how many more, and how far they are moved
/// (Perturbation.h). Few are enough for nearly every program; a difference
/// stands when it is beyond what all of them show.
struct SampleRound {
  int count;
  double amplitude;
  double narrow;
};
static constexpr SampleRound sampleRounds[] = {
    {1, 1, 0}, {4, 1, 0}, {4, 4, 1}, {12, 4, 1}};

/// Compares what `execute` computes, as it is and with operands moved.
bool Comparison::compareSampled(Execute execute) {
  FailureOr<std::vector<Observed>> expected = execute(std::nullopt);
  if (failed(expected)) {
    result.verdict = Verdict::NotInterpreted;
    return false;
  }
  const bool isDiverged = hasDiverged(*expected);
  std::vector<Expectation> expectations;
  std::vector<std::vector<double>> actual;
  for (Observed &tensor : *expected) {
    expectations.push_back({tensor.values,
                            {},
                            tensor.unitRoundoff,
                            tensor.narrowRoundoff,
                            isDiverged});
    actual.push_back(actualOf(tensor));
  }
  std::vector<Judgement> judgements(actual.size());
  uint64_t seed = (options.seed + 1) * 0x9E3779B97F4A7C15 + step;
  int samples = 0;
  for (SampleRound round : sampleRounds) {
    for (int i = 0; i < round.count; ++i) {
      // Every other sample moves equal elements alike.
      const bool alike = samples++ % 2 == 1;
      FailureOr<std::vector<Observed>> moved = execute(reference::Perturbation(
          ++seed << 20, round.amplitude, round.narrow, alike));
      if (failed(moved)) {
        result.verdict = Verdict::NotInterpreted;
        return false;
      }
      for (auto [expectation, sample] : llvm::zip_equal(expectations, *moved))
        expectation.moved.push_back(std::move(sample.values));
    }
    for (auto [judgement, numbers, expectation] :
         llvm::zip_equal(judgements, actual, expectations))
      judgement = judge(numbers, expectation);
    if (llvm::none_of(judgements,
                      [](const Judgement &j) { return j.excess.has_value(); }))
      break;
  }
  for (auto [tensor, judgement] : llvm::zip_equal(*expected, judgements)) {
    std::string name;
    std::optional<format::ParameterPlace> place;
    if (startsWith(tensor.what, "gradient ", name))
      place = shards.find(ShardedState::gradientKey, name);
    else if (startsWith(tensor.what, "parameter ", name))
      place = shards.find(ShardedState::parameterKey, name);
    record(tensor.what, tensor.rank, judgement, tensor.values.size(), place);
  }
  return true;
}

/// The losses of all ranks, from what the artifact itself had on each rank.
void Comparison::compareLossSum(StringRef name,
                                const std::vector<RankStates> &before,
                                const std::vector<RankStates> &after) {
  size_t number = *findState(parameters, Role::Metric, format::lossMetric);
  const format::State &state = parameters.states[number];
  double losses = 0, magnitude = 0;
  for (const RankStates &rank : before) {
    losses += elementsOf(state, rank[number])[0];
    magnitude += std::abs(elementsOf(state, rank[number])[0]);
  }
  // It overflows where its dtype does.
  if (state.dtype == format::Dtype::F32)
    losses = static_cast<float>(losses);
  constexpr double f32 = 0x1p-24;
  for (auto [rank, states] : llvm::enumerate(after))
    record(name, static_cast<int64_t>(rank),
           judge({elementsOf(state, states[number])[0]}, {losses},
                 {4 * f32 * static_cast<double>(ranks) * magnitude}),
           1);
}

/// The loss of all ranks and the norm of all gradients, from what the artifact
/// itself had on each rank.
void Comparison::compareSums() {
  size_t norm =
      *findState(parameters, Role::Metric, format::gradientNormMetric);
  // Of parameters, by name: what padding holds must not be in the norm.
  double squares = 0;
  for (const std::string &name : reference.getState().getNames())
    if (reference.getState().isTrained(name))
      for (double value : gradientOf(name))
        squares += value * value;
  compareLossSum("loss of all ranks", observed->afterGradients,
                 observed->afterUpdate);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const RankStates &after = observed->afterUpdate[rank];
    std::vector<double> pair = elementsOf(parameters.states[norm], after[norm]);
    record("gradient norm", rank,
           judge({pair[0] + pair[1]}, {squares}, {1e-9 * squares}), 1);
  }
}

static Judgement judgeExactly(const std::vector<double> &actual,
                              const std::vector<double> &expected) {
  return judge(actual, expected, std::vector<double>(expected.size(), 0.0));
}

/// Ranks that have the same shard have the same bits of it.
void Comparison::compareReplicas(const std::vector<RankStates> &states) {
  for (auto [number, state] : llvm::enumerate(parameters.states)) {
    if (!state.segment || state.role == Role::Accumulated)
      continue;
    const auto segment = static_cast<size_t>(*state.segment);
    const std::vector<int64_t> first = shards.holders(segment);
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const int64_t twin = first[shards.shardOf(rank, segment)];
      if (twin != rank)
        record("copy of " + state.name, rank,
               judgeExactly(elementsOf(state, states[rank][number]),
                            elementsOf(state, states[twin][number])),
               static_cast<size_t>(state.elements));
    }
  }
}

/// What an update changes of a parameter.
std::vector<std::string> Comparison::keys() const {
  std::vector<std::string> keys = {ShardedState::parameterKey.str()};
  ArrayRef<std::string> kept =
      const_cast<Comparison *>(this)->reference.getState().getKeys();
  keys.insert(keys.end(), kept.begin(), kept.end());
  return keys;
}

/// Every operation of an optimizer that works element by element is rounded
/// correctly on both sides, so that nothing may differ.
void Comparison::compareKept(const std::string &name, const std::string &key) {
  auto place = shards.find(key, name);
  if (!place)
    return;
  std::vector<double> actual = gather(*place, artifact, observed->afterUpdate);
  std::vector<double> expected =
      reference.getState().getKept(key, name).floats().vec();
  record(key + " " + name, -1, judgeExactly(actual, expected), actual.size(),
         place);
}

void Comparison::compareNumber(const std::string &name) {
  size_t state = *findState(parameters, Role::Optimizer, name);
  const std::string &key = parameters.states[state].key;
  Tensor number = reference.getState().get(name);
  std::vector<double> expected;
  for (int64_t i = 0; i < number.getNumElements(); ++i)
    expected.push_back(number.number(i));
  for (int64_t rank = 0; rank < ranks; ++rank)
    record(key, rank,
           judgeExactly(elementsOf(parameters.states[state],
                                   observed->afterUpdate[rank][state]),
                        expected),
           expected.size());
}

/// The optimizer is judged alone: from the artifact's own gradients and old
/// states, so that nothing before it blurs the comparison, not even AdamW's
/// first step, which makes signs of gradients.
bool Comparison::compareUpdate() {
  ShardedState &state = reference.getState();
  for (const std::string &name : state.getNames()) {
    if (!state.isTrained(name))
      continue;
    Tensor gradient(state.getType(name));
    llvm::copy(gradientOf(name), gradient.mutableFloats().begin());
    state.setKept(ShardedState::gradientKey, name, gradient);
  }
  ArrayRef<std::string> matrices = reference.getMatrices();
  if (!matrices.empty() &&
      !compareSampled([&](std::optional<reference::Perturbation> moved) {
        return reference.updateMatrices(moved);
      }))
    return false;
  if (failed(reference.update())) {
    result.verdict = Verdict::NotInterpreted;
    return false;
  }
  for (const std::string &name : state.getNames())
    for (const std::string &key : keys())
      if (!state.isBuffer(name) && (key != ShardedState::parameterKey ||
                                    !llvm::is_contained(matrices, name)))
        compareKept(name, key);
  for (const std::string &name : state.getNumbers())
    compareNumber(name);
  return true;
}

/// The reference goes on from the artifact's state.
void Comparison::takeOver() {
  ShardedState &state = reference.getState();
  for (const std::string &name : state.getNames()) {
    for (const std::string &key : keys())
      if (auto place = shards.find(key, name)) {
        Tensor tensor(state.getType(name));
        llvm::copy(gather(*place, artifact, observed->afterUpdate),
                   tensor.mutableFloats().begin());
        state.setKept(key, name, tensor);
      }
    if (!state.isBuffer(name))
      continue;
    size_t number = *findState(parameters, Role::Buffer, name);
    for (int64_t rank = 0; rank < ranks; ++rank)
      state.setBuffer(
          name, rank,
          reference::fromBytes(state.getType(name),
                               observed->afterUpdate[rank][number]));
  }
  for (const std::string &name : state.getNumbers()) {
    size_t number = *findState(parameters, Role::Optimizer, name);
    state.set(name, reference::fromBytes(state.getType(name),
                                         observed->afterUpdate[0][number]));
  }
}

/// Of the step's samples after it. Nothing but metrics changes.
bool Comparison::compareEvaluation(const StepInputs &inputs) {
  if (!format::hasEvaluation(artifact.program.sections))
    return true;
  if (!compareSampled([&](std::optional<reference::Perturbation> moved) {
        return reference.evaluate(inputs, moved);
      }))
    return false;
  compareLossSum("evaluation loss of all ranks", observed->afterLosses,
                 observed->afterEvaluation);
  for (auto [number, state] : llvm::enumerate(parameters.states))
    for (int64_t rank = 0; rank < ranks; ++rank)
      if (state.role != Role::Metric &&
          observed->afterEvaluation[rank][number] !=
              observed->afterUpdate[rank][number])
        record("evaluation leaves " + state.name, rank,
               judgeExactly(
                   elementsOf(state, observed->afterEvaluation[rank][number]),
                   elementsOf(state, observed->afterUpdate[rank][number])),
               static_cast<size_t>(state.elements));
  return true;
}

bool Comparison::compareStep(int64_t number) {
  step = number;
  observed = &steps[number];
  StatusOr<StepInputs> inputs = readInputs(number);
  if (!inputs.ok()) {
    result.verdict = Verdict::NotRun;
    result.status = inputs.status();
    return false;
  }
  if (!compareSampled([&](std::optional<reference::Perturbation> moved) {
        return reference.accumulate(*inputs, moved);
      }))
    return false;
  compareSums();
  compareReplicas(observed->afterGradients);
  if (!compareUpdate())
    return false;
  compareReplicas(observed->afterUpdate);
  ++result.steps;
  if (result.differences.empty()) {
    takeOver();
    if (!compareEvaluation(*inputs))
      return false;
  }
  if (result.differences.empty())
    return true;
  result.verdict = Verdict::Differs;
  return false;
}

/// Weights and data of both sides.
Status Comparison::begin(const WeightSource &weights) {
  if (Status status = format::validate(program.compiled.artifact); !status.ok())
    return status;
  if (Status status = fillState(weights); !status.ok())
    return status;
  fillWeights();
  runtime::DataSourceOr source =
      options.data.empty()
          ? openDrawnData(parameters.inputs, options.seed, options.narrowing)
          : runtime::openData(options.data, parameters.inputs, options.seed);
  if (!source.ok())
    return source.status();
  data = std::move(*source);
  return Status();
}

StatusOr<std::optional<WrongCommand>>
Comparison::checkEachCommand(const WeightSource &weights) {
  if (Status status = begin(weights); !status.ok())
    return status;
  return checkCommands(program.commands.get(), program.compiled.artifact,
                       startWeights, *data, runOptions());
}

VerifyResult Comparison::run(const WeightSource &weights) {
  auto stop = [&](const Status &status) {
    result.verdict = Verdict::NotRun;
    result.status = status;
    return std::move(result);
  };
  if (Status status = begin(weights); !status.ok())
    return stop(status);
  if (Status status = runArtifact(); !status.ok())
    return stop(status);
  for (int64_t number = 0; number < options.steps; ++number)
    if (!compareStep(number))
      break;
  if (result.verdict == Verdict::Differs)
    if (Status status = locate(); !status.ok())
      return stop(status);
  return std::move(result);
}

VerifyResult compareBoth(const VerifiedProgram &program,
                         const WeightSource &weights,
                         const VerifyOptions &options) {
  return Comparison(program, options).run(weights);
}

StatusOr<std::optional<WrongCommand>>
checkEachCommand(const VerifiedProgram &program, const WeightSource &weights,
                 const VerifyOptions &options) {
  return Comparison(program, options).checkEachCommand(weights);
}

VerifyResult verifyProgram(ModuleOp imported, const WeightSource &weights,
                           const VerifyOptions &options) {
  FailureOr<VerifiedProgram> program = compileBoth(imported, options.compile);
  if (failed(program)) {
    VerifyResult result;
    result.verdict = Verdict::NotCompiled;
    return result;
  }
  return compareBoth(*program, weights, options);
}

} // namespace shardc::verify
