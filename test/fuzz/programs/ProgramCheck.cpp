//===- ProgramCheck.cpp - everything that must hold of a program ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// One check a comparison, each on numbers that an earlier one has made.
//===----------------------------------------------------------------------===//

#include "test/fuzz/programs/ProgramCheck.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "test/fuzz/programs/ProgramPhases.h"
#include "test/fuzz/programs/ProgramTraining.h"
#include "test/fuzz/programs/ReferenceTraining.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace shardc::fuzz {

namespace {

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
  ProgramData data;
  /// The policy's own program and what it computes.
  std::unique_ptr<CompiledProgram> compiled;
  Observations observed;

  Failure prepare(std::unique_ptr<ReferenceTraining> &reference);
  Failure compile(const Options &options,
                  std::unique_ptr<CompiledProgram> &result);
  Failure train(const CompiledProgram &with, const TrainingPolicy &how,
                bool isPoisoned, Observations &observations);
  Failure compileAndTrain(const TrainingPolicy &other,
                          Observations &observations);
  Failure compareBits(StringRef kind, const Observations &other,
                      StringRef skipped = "\n");
  Failure checkRepeated();
  Failure checkFusion();
  Failure checkRanks();
  bool usesWrittenState();
};

} // namespace

static ProgramFailure describeError(const ErrorCollector &errors) {
  StringRef text = StringRef(errors.getText()).rtrim();
  std::string line;
  for (char c : text)
    line += c == '\n' ? ' ' : c;
  return {errors.getNumber().empty() ? "broken" : "refused", line};
}

/// Compiles as far as the interpreter goes, and draws the data.
Check::Failure Check::prepare(std::unique_ptr<ReferenceTraining> &reference) {
  for (bool isSecond : {false, true}) {
    ErrorCollector errors(*program.getContext());
    auto created = ReferenceTraining::create(program, policy);
    if (succeeded(created)) {
      reference = std::move(*created);
      data = reference->drawData();
      return std::nullopt;
    }
    if (isSecond || errors.getNumber() != "E0210")
      return describeError(errors);
    policy.options.paramDtype = policy.options.reduceDtype = "";
  }
  return std::nullopt;
}

Check::Failure Check::compile(const Options &options,
                              std::unique_ptr<CompiledProgram> &result) {
  ErrorCollector errors(*program.getContext());
  auto made = compileProgram(program, options);
  if (failed(made))
    return describeError(errors);
  result = std::move(*made);
  return std::nullopt;
}

Check::Failure Check::train(const CompiledProgram &with,
                            const TrainingPolicy &how, bool isPoisoned,
                            Observations &observations) {
  StatusOr<Observations> trained =
      trainProgram(with.artifact, data,
                   {how.steps, how.microBatches, how.learningRate, how.threads,
                    isPoisoned});
  if (!trained.ok())
    return ProgramFailure{"refused",
                          std::string(errorNumber(trained.status().code())) +
                              ": " + trained.status().message()};
  observations = std::move(*trained);
  return std::nullopt;
}

Check::Failure Check::compileAndTrain(const TrainingPolicy &other,
                                      Observations &observations) {
  std::unique_ptr<CompiledProgram> otherCompiled;
  if (Failure failure = compile(other.options, otherCompiled))
    return failure;
  return train(*otherCompiled, other, /*isPoisoned=*/true, observations);
}

Check::Failure Check::compareBits(StringRef kind, const Observations &other,
                                  StringRef skipped) {
  for (const auto &[name, tensor] : observed) {
    if (StringRef(name).starts_with(skipped))
      continue;
    auto found = other.find(name);
    if (found == other.end())
      return ProgramFailure{kind.str(), "'" + name + "' is missing"};
    if (!(found->second == tensor))
      return ProgramFailure{kind.str(), "the bits of " + name + " differ"};
  }
  return std::nullopt;
}

/// Other threads, and memory that was zero and not poisoned.
Check::Failure Check::checkRepeated() {
  TrainingPolicy other = policy;
  other.threads = policy.threads == 1 ? 3 : 1;
  Observations observations;
  if (Failure failure =
          train(*compiled, other, /*isPoisoned=*/false, observations))
    return failure;
  return compareBits("repeated", observations);
}

Check::Failure Check::checkFusion() {
  TrainingPolicy other = policy;
  other.options.fuse = !policy.options.fuse;
  Observations observations;
  if (Failure failure = compileAndTrain(other, observations))
    return failure;
  return compareBits("fused", observations);
}

/// Whether the loss depends on a buffer that the program writes. A training
/// batch_norm only updates its statistics.
bool Check::usesWrittenState() {
  llvm::DenseSet<StringRef> written;
  program.walk([&](fsdp::WriteOp write) { written.insert(write.getSymbol()); });
  auto function = *program.getOps<func::FuncOp>().begin();
  llvm::SetVector<Operation *> needed;
  Operation *end = function.front().getTerminator();
  needed.insert(end->getOperand(0).getDefiningOp());
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

/// One rank with a micro-batch for each rank; ranks keep buffers of their own.
Check::Failure Check::checkRanks() {
  if (policy.options.worldSize == 1 || policy.microBatches > 1 ||
      usesWrittenState())
    return std::nullopt;
  TrainingPolicy other = policy;
  other.options.worldSize = 1;
  other.microBatches = policy.options.worldSize;
  Observations observations;
  if (Failure failure = compileAndTrain(other, observations))
    return failure;
  return compareBits("ranks", observations, "buffer");
}

Check::Failure Check::run() {
  std::unique_ptr<ReferenceTraining> reference;
  if (Failure failure = prepare(reference))
    return failure;
  if (Failure failure = compile(policy.options, compiled))
    return failure;
  if (Failure failure =
          train(*compiled, policy, /*isPoisoned=*/true, observed))
    return failure;
  // The interpreter's ranks do not hand buffers on to each other.
  if (policy.microBatches == 1 || !usesWrittenState()) {
    ErrorCollector errors(*program.getContext());
    auto expected = reference->train();
    if (failed(expected))
      return describeError(errors);
    FailureOr<std::string> difference =
        reference->compare(observed, *expected);
    if (failed(difference))
      return describeError(errors);
    if (!difference->empty())
      return ProgramFailure{"interpreter", *difference};
  }
  if (Failure failure = checkRepeated())
    return failure;
  if (Failure failure = checkFusion())
    return failure;
  return checkRanks();
}

std::optional<ProgramFailure> checkProgram(ModuleOp program,
                                           TrainingPolicy &policy) {
  return Check(program, policy).run();
}

} // namespace shardc::fuzz
