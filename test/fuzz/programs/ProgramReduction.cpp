//===- ProgramReduction.cpp - Failing programs made small -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Operations are removed by shardc-reduce's reducer; options are tried at their
// defaults, one after the other.
//===----------------------------------------------------------------------===//

#include "test/fuzz/programs/ProgramReduction.h"

#include "passes/Import/ModuleStack.h"
#include "test/fuzz/programs/IsolatedRun.h"
#include "tools/shardc-reduce/Reducer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include <chrono>

using namespace mlir;

namespace shardc::fuzz {

std::string signatureOf(const ProgramFailure &failure) {
  std::string signature = failure.kind + ": ";
  // A difference is described by numbers and names of the program alone.
  if (failure.kind != "crash" && failure.kind != "refused" &&
      failure.kind != "broken")
    return signature;
  bool isQuoted = false;
  for (char c : StringRef(failure.text).take_front(160)) {
    // Names of symbols and types are the program's, names of operators not.
    if (c == '@' || c == '<')
      isQuoted = true;
    if (isQuoted && (c == ' ' || c == '>'))
      isQuoted = false;
    if (!isQuoted && !llvm::isDigit(c))
      signature += c;
  }
  return signature;
}

namespace {

/// Whether smaller programs still fail in the same way, within a time.
class SameFailure {
public:
  SameFailure(const ProgramFailure &failure, double seconds)
      : signature(signatureOf(failure)),
        deadline(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(seconds))) {}

  bool operator()(ModuleOp module, const TrainingPolicy &policy) const {
    if (Clock::now() > deadline)
      return false;
    std::optional<ProgramFailure> now = runIsolated([&] {
      TrainingPolicy tried = policy;
      return checkProgram(module, tried);
    });
    return now && signatureOf(*now) == signature;
  }

private:
  using Clock = std::chrono::steady_clock;
  std::string signature;
  Clock::time_point deadline;
};

} // namespace

static void simplifyPolicy(TrainedProgram &program, const SameFailure &isSame) {
  using Change = void (*)(TrainingPolicy &);
  static constexpr Change changes[] = {
      [](TrainingPolicy &p) { p.options = onOneRank(p.options); },
      [](TrainingPolicy &p) { p.options.replicate = 1; },
      [](TrainingPolicy &p) {
        p.options.worldSize = 2;
        p.options.replicate = std::min<int64_t>(p.options.replicate, 2);
      },
      [](TrainingPolicy &p) { p.microBatches = 1; },
      [](TrainingPolicy &p) { p.steps = 1; },
      [](TrainingPolicy &p) { p.threads = 1; },
      [](TrainingPolicy &p) { p.further = FurtherCheck::none; },
      [](TrainingPolicy &p) {
        p.options.paramDtype = p.options.reduceDtype = "";
        p.options.masterDtype = "";
      },
      [](TrainingPolicy &p) { p.options.moduleRules = ""; },
      [](TrainingPolicy &p) { p.options.reduceDtype = ""; },
      [](TrainingPolicy &p) { p.options.wrap = "blocks"; },
      [](TrainingPolicy &p) { p.options.reshard = "default"; },
      [](TrainingPolicy &p) { p.options.recompute = "none"; },
      [](TrainingPolicy &p) { p.options.batchNormStats = ""; },
      [](TrainingPolicy &p) { p.options.prefetch = "1"; },
      [](TrainingPolicy &p) { p.options.fuse = true; },
      [](TrainingPolicy &p) { p.options.cpu = Options().cpu; },
      [](TrainingPolicy &p) { p.options.optimizer = "sgd"; },
      [](TrainingPolicy &p) { p.options.momentum = -1; },
      [](TrainingPolicy &p) { p.options.weightDecay = 0; },
      [](TrainingPolicy &p) { p.options.paramGroups = ""; },
      [](TrainingPolicy &p) { p.options.clipGradNorm = 0; },
      [](TrainingPolicy &p) { p.options.lossScale = "1"; },
      [](TrainingPolicy &p) { p.options.gradientSync = "each"; },
      [](TrainingPolicy &p) { p.options.gradientDtype = "f32"; },
      [](TrainingPolicy &p) { p.options.skipNonFinite = false; },
      [](TrainingPolicy &p) { p.options.evaluation = false; }};
  for (Change change : changes) {
    TrainingPolicy smaller = program.policy;
    change(smaller);
    if (describe(smaller) != describe(program.policy) &&
        isSame(*program.module, smaller))
      program.policy = smaller;
  }
}

/// Inputs that nothing reads go, and the operations' modules.
static void dropRest(TrainedProgram &program, const SameFailure &isSame) {
  OwningOpRef<ModuleOp> smaller = program.module->clone();
  smaller->walk([](Operation *op) { op->removeAttr(moduleStackName); });
  if (isSame(*smaller, program.policy))
    program.module = std::move(smaller);
  smaller = program.module->clone();
  auto function = *smaller->getOps<func::FuncOp>().begin();
  for (unsigned i = function.getNumArguments(); i-- > 0;)
    if (function.getArgument(i).use_empty())
      (void)function.eraseArgument(i);
  if (isSame(*smaller, program.policy))
    program.module = std::move(smaller);
}

void reduceProgram(TrainedProgram &program, const ProgramFailure &failure,
                   double seconds) {
  SameFailure isSame(failure, seconds);
  simplifyPolicy(program, isSame);
  ScopedDiagnosticHandler silence(program.module->getContext(),
                                  [](Diagnostic &) { return success(); });
  program.module = reduce(std::move(program.module), [&](ModuleOp smaller) {
    return isSame(smaller, program.policy);
  });
  dropRest(program, isSame);
  simplifyPolicy(program, isSame);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static constexpr StringLiteral policyComment = "// policy:";

std::string writeProgram(const TrainedProgram &program, StringRef comment) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "// RUN: RandomPrograms --replay=%s\n";
  if (!comment.empty())
    stream << "// " << comment << "\n";
  stream << policyComment << " " << describe(program.policy) << "\n";
  program.module.get()->print(stream);
  stream << "\n";
  return text;
}

FailureOr<TrainedProgram> readProgram(const std::string &path,
                                      MLIRContext &context) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file) {
    emitError(UnknownLoc::get(&context)) << "cannot read '" << path << "'";
    return failure();
  }
  StringRef policyText = "";
  for (StringRef line : llvm::split((*file)->getBuffer(), '\n'))
    if (line.consume_front(policyComment))
      policyText = line;
  FailureOr<TrainingPolicy> policy = parsePolicy(policyText);
  if (failed(policy)) {
    emitError(UnknownLoc::get(&context))
        << "'" << path << "' has a policy that does not exist: " << policyText;
    return failure();
  }
  TrainedProgram program;
  program.policy = *policy;
  program.module = parseSourceFile<ModuleOp>(path, &context);
  if (!program.module)
    return failure();
  return program;
}

} // namespace shardc::fuzz
