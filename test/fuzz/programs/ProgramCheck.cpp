//===- ProgramCheck.cpp - Everything that must hold of a program ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The comparison with the interpreter is that of `shardc verify`; the others
// compare bits.
//===----------------------------------------------------------------------===//

#include "test/fuzz/programs/ProgramCheck.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Reference/RandomTensors.h"
#include "dialects/Reference/TensorBytes.h"
#include "test/fuzz/programs/ErrorCollector.h"
#include "tools/verify/CompiledRun.h"
#include "tools/verify/DrawnData.h"
#include "tools/verify/FullTensors.h"
#include "tools/verify/Verify.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace shardc::fuzz {

using format::Role;
using verify::ObservedStep;
using verify::VerifiedProgram;

namespace {

/// What every rank had in every step.
using Steps = std::vector<ObservedStep>;

/// What a program is trained on.
enum class Machine { zeroedMemory, poisonedMemory, emulatedDevice };

/// The checks of one program.
class Check {
public:
  Check(ModuleOp program, TrainingPolicy &policy)
      : program(program), policy(policy) {}

  std::optional<ProgramFailure> run();

private:
  using Failure = std::optional<ProgramFailure>;

  ModuleOp program;
  TrainingPolicy &policy;
  VerifiedProgram compiled;
  /// What the policy's own run computed.
  Steps steps;

  Failure compile(const Options &options, VerifiedProgram &result);
  Failure compileOwn();
  Failure compare(StringRef kind, const VerifiedProgram &with,
                  const TrainingPolicy &how);
  Failure train(const VerifiedProgram &with, const TrainingPolicy &how,
                Machine machine, Steps &result);
  Failure compareStates(StringRef kind, const Steps &other);
  Failure compareParameters(StringRef kind, const VerifiedProgram &with,
                            const Steps &other);
  Failure checkRepeated();
  Failure checkStreams();
  Failure checkFusion();
  Failure checkRanks();
  bool usesWrittenState();
};

} // namespace

//===----------------------------------------------------------------------===//
// Compiling and training
//===----------------------------------------------------------------------===//

static ProgramFailure describeError(const ErrorCollector &errors) {
  return {errors.getNumber().empty() ? "broken" : "refused", errors.getText()};
}

static ProgramFailure describeStatus(const Status &status) {
  return {"refused",
          std::string(errorNumber(status.code())) + ": " + status.message()};
}

Check::Failure Check::compile(const Options &options, VerifiedProgram &result) {
  ErrorCollector errors(*program.getContext());
  FailureOr<VerifiedProgram> made = verify::compileBoth(program, options);
  if (failed(made))
    return describeError(errors);
  result = std::move(*made);
  return std::nullopt;
}

/// Makes the policy one that the program takes, where the error says that it
/// does not: blocks where a pattern names a module that nothing is left of, no
/// rule for such a module or one that dtypes do not fit, f32 where dtypes do
/// not fit the program's own, no evaluation where an export does not show it.
static bool simplify(Options &options, StringRef error) {
  const bool isRule = error.starts_with("E0206") || error.starts_with("E0208");
  if (error.starts_with("E0202") && options.wrap != "blocks")
    options.wrap = "blocks";
  else if ((isRule || error.starts_with("E0210")) &&
           !options.moduleRules.empty())
    options.moduleRules = "";
  else if (error.starts_with("E0210") && !options.paramDtype.empty())
    options.paramDtype = options.reduceDtype = options.masterDtype = "";
  else if (error.starts_with("E0224") && options.evaluation)
    options.evaluation = false;
  else
    return false;
  return true;
}

Check::Failure Check::compileOwn() {
  Failure failure = compile(policy.options, compiled);
  while (failure && simplify(policy.options, failure->text))
    failure = compile(policy.options, compiled);
  return failure;
}

Check::Failure Check::compare(StringRef kind, const VerifiedProgram &with,
                              const TrainingPolicy &how) {
  verify::VerifyOptions options;
  options.compile = how.options;
  options.steps = how.steps;
  options.microBatches = how.microBatches;
  options.threads = how.threads;
  options.learningRate = how.learningRate;
  options.seed = how.dataSeed;
  ErrorCollector errors(*program.getContext());
  verify::VerifyResult result =
      verify::compareBoth(with, /*weights=*/nullptr, options);
  switch (result.verdict) {
  case verify::Verdict::Agrees:
    return std::nullopt;
  case verify::Verdict::NotRun:
    return describeStatus(result.status);
  case verify::Verdict::NotCompiled:
  case verify::Verdict::NotInterpreted:
    return describeError(errors);
  case verify::Verdict::Differs:
    break;
  }
  // Where the program itself overflows, infinity and NaN are as good.
  auto found = llvm::find_if(result.differences,
                             [](const verify::VerifyDifference &difference) {
                               return std::isfinite(difference.expected);
                             });
  if (found == result.differences.end())
    return std::nullopt;
  const verify::VerifyDifference &first = *found;
  return ProgramFailure{
      kind.str(),
      llvm::formatv("{0} of rank {1} in step {2} is {3:e8} instead of {4:e8} "
                    "at element {5}; rounding explains {6:e2}",
                    first.what, first.rank, first.step, first.actual,
                    first.expected, first.element, first.allowed)
          .str()};
}

Check::Failure Check::train(const VerifiedProgram &with,
                            const TrainingPolicy &how, Machine machine,
                            Steps &result) {
  const format::Artifact &artifact = with.compiled.artifact;
  reference::ShardedState state(with.reference.get(), 1);
  reference::setRandomState(state, how.dataSeed);
  std::vector<std::vector<std::byte>> bytes;
  std::vector<format::NamedTensor> weights;
  for (const std::string &name : state.getNames()) {
    reference::Tensor tensor = state.get(name);
    bytes.push_back(reference::toBytes(tensor));
    weights.push_back({name, toDtype(tensor.getElementType()),
                       tensor.getShape().vec(), bytes.back()});
  }
  runtime::DataSourceOr data =
      verify::openDrawnData(artifact.parameters.inputs, how.dataSeed);
  if (!data.ok())
    return describeStatus(data.status());
  verify::RunOptions run;
  run.steps = how.steps;
  run.microBatches = how.microBatches;
  run.threads = how.threads;
  run.learningRate = how.learningRate;
  run.seed = how.dataSeed;
  run.poison = machine != Machine::zeroedMemory;
  if (machine == Machine::emulatedDevice)
    run.emulated = how.dataSeed;
  else if (artifact.manifest.target.isGpu())
    run.emulated = ~how.dataSeed;
  StatusOr<Steps> ran = verify::runCompiled(artifact, weights, **data, run);
  if (!ran.ok())
    return describeStatus(ran.status());
  result = std::move(*ran);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

/// What an evaluation leaves of a state; nothing without one.
static ArrayRef<std::byte> evaluated(const verify::ObservedStep &step,
                                     size_t rank, size_t state) {
  const verify::RankStates &states = step.afterEvaluation[rank];
  if (states.empty())
    return {};
  return states[state];
}

/// Every rank's states after every step.
Check::Failure Check::compareStates(StringRef kind, const Steps &other) {
  const auto &states = compiled.compiled.artifact.parameters.states;
  for (auto [number, own, theirs] : llvm::enumerate(steps, other))
    for (size_t rank = 0; rank < own.afterUpdate.size(); ++rank)
      for (size_t i = 0; i < states.size(); ++i)
        if (own.afterGradients[rank][i] != theirs.afterGradients[rank][i] ||
            own.afterUpdate[rank][i] != theirs.afterUpdate[rank][i] ||
            evaluated(own, rank, i) != evaluated(theirs, rank, i))
          return ProgramFailure{
              kind.str(),
              llvm::formatv(
                  "the bits of {0} {1} of rank {2} differ in step {3}",
                  format::kindOf(states[i]), states[i].name, rank, number + 1)
                  .str()};
  return std::nullopt;
}

static bool haveEqualBits(ArrayRef<double> a, ArrayRef<double> b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

/// Whole parameters, and what the optimizer keeps beside them, after the last
/// step: on other ranks they lie elsewhere.
Check::Failure Check::compareParameters(StringRef kind,
                                        const VerifiedProgram &with,
                                        const Steps &other) {
  const format::Artifact &own = compiled.compiled.artifact;
  const format::Artifact &theirs = with.compiled.artifact;
  const format::ShardMap ownShards(own.manifest.mesh, own.parameters);
  const format::ShardMap theirShards(theirs.manifest.mesh, theirs.parameters);
  for (const format::State &state : own.parameters.states) {
    if (!state.segment || state.role == Role::Gradient)
      continue;
    const std::string_view kept = format::kindOf(state);
    for (const format::SegmentParameter &parameter :
         own.parameters.segments[*state.segment].parameters) {
      auto place = ownShards.find(kept, parameter.name);
      auto otherPlace = theirShards.find(kept, parameter.name);
      if (!otherPlace ||
          !haveEqualBits(
              verify::gather(*place, own, steps.back().afterUpdate),
              verify::gather(*otherPlace, theirs, other.back().afterUpdate)))
        return ProgramFailure{
            kind.str(),
            llvm::formatv("the bits of {0} {1} differ", kept, parameter.name)
                .str()};
    }
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Other threads, and memory that was zero and not poisoned.
Check::Failure Check::checkRepeated() {
  TrainingPolicy other = policy;
  other.threads = policy.threads == 1 ? 3 : 1;
  Steps repeated;
  if (Failure failure = train(compiled, policy, Machine::poisonedMemory, steps))
    return failure;
  if (Failure failure = train(compiled, other, Machine::zeroedMemory, repeated))
    return failure;
  return compareStates("repeated", repeated);
}

/// Streams that are late, in an order that the seed chooses.
Check::Failure Check::checkStreams() {
  Steps late;
  if (Failure failure = train(compiled, policy, Machine::emulatedDevice, late))
    return failure;
  return compareStates("streams", late);
}

/// Both agree with the interpreter within rounding.
Check::Failure Check::checkFusion() {
  TrainingPolicy other = policy;
  other.options.fuse = !policy.options.fuse;
  VerifiedProgram otherCompiled;
  if (Failure failure = compile(other.options, otherCompiled))
    return failure;
  return compare(other.options.fuse ? "fused" : "unfused", otherCompiled,
                 other);
}

/// Whether the loss depends on a buffer that the program writes. A training
/// batch_norm only updates its statistics.
bool Check::usesWrittenState() {
  llvm::DenseSet<StringRef> written;
  program.walk([&](fsdp::WriteOp write) { written.insert(write.getSymbol()); });
  auto function = *program.getOps<func::FuncOp>().begin();
  llvm::SetVector<Operation *> needed;
  needed.insert(function.front().getTerminator());
  for (size_t i = 0; i < needed.size(); ++i) {
    Operation *op = needed[i];
    if (auto read = dyn_cast<fsdp::ReadOp>(op))
      if (written.contains(read.getSymbol()))
        return true;
    auto norm = dyn_cast<aten::BatchNormOp>(op);
    for (Value operand : op->getOperands()) {
      bool isStatistic =
          norm && norm.getTraining() &&
          (operand == norm.getRunningMean() || operand == norm.getRunningVar());
      if (operand.getDefiningOp() && !isStatistic)
        needed.insert(operand.getDefiningOp());
    }
  }
  return false;
}

/// One rank with a micro-batch for each rank; ranks keep buffers of their own,
/// replicas add up in another order, synchronized norms see all samples, and
/// narrow sums are rounded once a micro-batch.
Check::Failure Check::checkRanks() {
  if (policy.options.worldSize == 1 || policy.options.replicate > 1 ||
      policy.options.batchNormStats == "sync" || policy.microBatches > 1 ||
      policy.options.gradientDtype == "reduce" || usesWrittenState())
    return std::nullopt;
  TrainingPolicy other = policy;
  other.options = onOneRank(policy.options);
  other.microBatches = policy.options.worldSize;
  VerifiedProgram otherCompiled;
  Steps otherSteps;
  if (Failure failure = compile(other.options, otherCompiled))
    return failure;
  if (Failure failure =
          train(otherCompiled, other, Machine::poisonedMemory, otherSteps))
    return failure;
  return compareParameters("ranks", otherCompiled, otherSteps);
}

Check::Failure Check::run() {
  if (Failure failure = compileOwn())
    return failure;
  if (Failure failure = compare("reference", compiled, policy))
    return failure;
  if (Failure failure = checkRepeated())
    return failure;
  if (Failure failure = checkStreams())
    return failure;
  if (policy.further == FurtherCheck::fusion)
    return checkFusion();
  if (policy.further == FurtherCheck::ranks)
    return checkRanks();
  return std::nullopt;
}

std::optional<ProgramFailure> checkProgram(ModuleOp program,
                                           TrainingPolicy &policy) {
  return Check(program, policy).run();
}

} // namespace shardc::fuzz
