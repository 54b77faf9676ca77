//===- VerifyModel.cpp - shardc verify ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the model, verifies it, prints the table and the verdict.
//===----------------------------------------------------------------------===//

#include "tools/verify/VerifyModel.h"

#include "compiler/CrashReproducer.h"
#include "compiler/ModelInput.h"
#include "compiler/OptionTable.h"
#include "compiler/Pipelines.h"
#include "compiler/ReproducerFile.h"
#include "dialects/Reference/TensorBytes.h"
#include "tools/verify/DrawnData.h"
#include "tools/verify/Verify.h"

#include "mlir/IR/AsmState.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Program.h"

#include <cmath>

using namespace mlir;

namespace shardc::verify {

namespace {

/// One `shardc verify`.
class Verification {
public:
  Verification(const std::string &path, const VerifyOptions &options)
      : path(path), options(options), diagnostics(context) {}

  int run(const std::function<void(VerifiedProgram &)> &change);
  int checkMachineCode();

private:
  FailureOr<VerifiedProgram> compile();
  bool read();
  LogicalResult runPhase(const Phase &phase, ModuleOp module,
                         const Options &compile);
  WeightSource weights() const;
  VerifyResult compare(const VerifiedProgram &program);
  int conclude(const VerifiedProgram &program, const VerifyResult &result);
  void printTable(const VerifyResult &result) const;
  void report(const VerifyResult &result, bool isSelfContained);
  std::string commandLine(StringRef model) const;

  const std::string &path;
  /// With the narrowing that the model needed.
  VerifyOptions options;
  MLIRContext context;
  DiagnosticPrinter diagnostics;
  ModelInput input;
};

} // namespace

//===----------------------------------------------------------------------===//
// Both sides
//===----------------------------------------------------------------------===//

bool Verification::read() {
  std::optional<ModelInput> program = readModel(
      path, options.compile.input, /*keepOutputs=*/false, context, diagnostics);
  if (!program)
    return false;
  input = std::move(*program);
  // What a reproducer holds and both sides start from.
  return succeeded(
      runPhase(getPhases().front(), *input.module, options.compile));
}

/// As `shardc compile` runs it: a crash leaves its own reproducer.
LogicalResult Verification::runPhase(const Phase &phase, ModuleOp module,
                                     const Options &compile) {
  PassManager manager(&context);
  phase.addPasses(manager, compile);
  CrashReproducer reproducer(manager, module);
  LogicalResult result = manager.run(module);
  constexpr int internalError = 70;
  if (failed(result) && exitCodeOr(diagnostics, internalError) == internalError)
    reproducer.write();
  return result;
}

WeightSource Verification::weights() const {
  if (!input.model || input.model->weights.isWeightFree())
    return nullptr;
  return [this](const std::string &name,
                RankedTensorType type) -> StatusOr<reference::Tensor> {
    StatusOr<std::vector<std::byte>> bytes =
        input.model->weights.readTensor(name);
    if (!bytes.ok())
      return bytes.status();
    const auto &entries = input.model->weights.entries();
    auto entry = entries.find(name);
    Type f32 = Float32Type::get(type.getContext());
    if (entry == entries.end() || !type.getElementType().isBF16() ||
        entry->second.dtype != pt2::ScalarType::Float32)
      return reference::fromBytes(type, *bytes);
    // What is kept narrower than it was exported starts rounded.
    reference::Tensor exported = reference::fromBytes(type.clone(f32), *bytes);
    reference::Tensor kept(type);
    reference::Rounding rounding(cast<FloatType>(type.getElementType()));
    for (auto [target, value] :
         llvm::zip_equal(kept.mutableFloats(), exported.floats()))
      target = rounding.round(value);
    return kept;
  };
}

//===----------------------------------------------------------------------===//
// What the user reads
//===----------------------------------------------------------------------===//

static std::string plural(int64_t count, StringRef noun) {
  return std::to_string(count) + " " + noun.str() + (count == 1 ? "" : "s");
}

void Verification::printTable(const VerifyResult &result) const {
  const Options &compile = options.compile;
  ModuleOp module = input.module.get();
  llvm::outs() << module.getName().value_or("model") << " on "
               << plural(compile.worldSize, "rank") << ", "
               << plural(result.steps, "step") << " of " << compile.optimizer
               << ", " << options.microBatches
               << (options.microBatches == 1 ? " micro-batch"
                                             : " micro-batches")
               << "\n";
  llvm::outs() << llvm::format("%-16s %8s %12s %14s %14s\n", "", "tensors",
                               "elements", "largest error", "tolerance");
  for (const ComparedKind &kind : result.compared) {
    llvm::outs() << llvm::format("%-16s %8zu %12zu %14.3g %14.3g\n",
                                 kind.kind.c_str(), kind.tensors, kind.elements,
                                 kind.error, kind.allowed);
    if (kind.notFinite)
      llvm::outs() << "  note: " << kind.notFinite
                   << " of these elements are not finite in the reference\n";
  }
}

static std::string describe(const VerifyDifference &difference) {
  std::string text;
  llvm::raw_string_ostream(text)
      << difference.what << " is "
      << llvm::format("%.9g instead of %.9g", difference.actual,
                      difference.expected)
      << " within " << llvm::format("%.3g", difference.allowed)
      << " at element " << difference.element << " of rank " << difference.rank
      << " in step " << difference.step;
  return text;
}

/// "the first wrong command is launch 12, kernel_add, of add in module 'h.0'
/// …".
static std::string describe(const WrongCommand &command) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "the first wrong command is number " << command.number << ", "
     << command.kind;
  if (!command.name.empty())
    os << " '" << command.name << "'";
  if (!command.operators.empty())
    os << ", made from '" << command.operators << "'";
  if (!command.module.empty())
    os << ", in module '" << command.module << "'";
  os << ": " << command.difference << " on rank " << command.rank << " in step "
     << command.step;
  return text;
}

/// An option's value as a shell reads it: the shortest number that is read as
/// `value`, or quoted text.
static std::string asArgument(double value) { return shortest(value); }
static std::string asArgument(StringRef value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::sys::printArg(os, value, /*Quote=*/false);
  return text;
}

/// The command that verifies `model` in the same way.
std::string Verification::commandLine(StringRef model) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "shardc verify " << asArgument(model);
  auto add = [&](StringRef flag, const auto &value, const auto &other) {
    if (value != other)
      os << " " << flag << " " << asArgument(value);
  };
  for (const std::string &word : argumentsOf(options.compile))
    os << " " << asArgument(word);
  const VerifyOptions usualRun;
  add("--data", options.data, usualRun.data);
  add("--steps", options.steps, usualRun.steps);
  add("--micro-batches", options.microBatches, usualRun.microBatches);
  add("--threads", options.threads, usualRun.threads);
  add("--lr", options.learningRate, usualRun.learningRate);
  add("--seed", options.seed, usualRun.seed);
  return text;
}

/// Says what differs and leaves a reproducer.
void Verification::report(const VerifyResult &result, bool isSelfContained) {
  const VerifyDifference &first = result.differences.front();
  Status status(ErrorCode::E0703,
                "the compiled step differs from the reference: " +
                    describe(first));
  constexpr size_t max = 4;
  for (size_t i = 1; i < std::min(max, result.differences.size()); ++i)
    status.addNote(describe(result.differences[i]));
  if (result.differences.size() > max)
    status.addNote("and " + std::to_string(result.differences.size() - max) +
                   " more tensors");
  status.addNote(result.wrongCommand
                     ? describe(*result.wrongCommand)
                     : "each command by itself computes what it should: "
                       "either the memory plan gives one the wrong bytes, or "
                       "the model amplifies rounding errors more than the "
                       "reference estimated");
  ModuleOp module = input.module.get();
  std::string name = reproducerFileName(module.getName().value_or("model"));
  std::string command =
      commandLine(isSelfContained ? StringRef(name) : StringRef(path));
  std::string file = writeReproducer(name, [&](raw_ostream &os) {
    os << "// " << command << "\n";
    module->print(os, OpPrintingFlags().enableDebugInfo(/*enable=*/true));
    os << "\n";
  });
  if (!isSelfContained)
    status.addNote(
        "with random weights nothing differs; to reproduce it, the model's own "
        "weights are needed");
  if (file.empty())
    status.addNote("the program could not be written to a file");
  else
    status.setHelp("this is a bug in shardc; please report it and attach '" +
                   file + "'. To reproduce it:\n        " + command);
  diagnostics.report(status);
}

/// Whether no loss is a number: then nothing was compared.
static bool hasNoLoss(const VerifyResult &result) {
  auto losses = llvm::find_if(result.compared, [](const ComparedKind &kind) {
    return kind.kind == "loss";
  });
  return result.verdict == Verdict::Agrees && losses != result.compared.end() &&
         losses->notFinite == losses->elements;
}

static bool missesTable(const VerifyResult &result) {
  return result.verdict == Verdict::NotRun &&
         (result.status.code() == ErrorCode::E0504 ||
          result.status.code() == ErrorCode::E0407);
}

/// Drawn samples are narrowed until the model takes them.
VerifyResult Verification::compare(const VerifiedProgram &program) {
  VerifyResult first = compareBoth(program, weights(), options);
  auto fits = [](const VerifyResult &result) {
    return !missesTable(result) && !hasNoLoss(result);
  };
  if (fits(first) || !options.data.empty())
    return first;
  while (++options.narrowing <= maxNarrowing) {
    VerifyResult result = compareBoth(program, weights(), options);
    if (!fits(result))
      continue;
    llvm::outs() << "note: floats are drawn from [0, "
                 << llvm::format("%g", std::ldexp(1, 2 - 2 * options.narrowing))
                 << ") and integers from 1/"
                 << (int64_t(1) << 2 * options.narrowing)
                 << " of what tables have: others "
                 << (missesTable(first) ? "miss a table" : "have no loss")
                 << "; --data takes samples of your own\n";
    return result;
  }
  options.narrowing = 0;
  return first;
}

int Verification::conclude(const VerifiedProgram &program,
                           const VerifyResult &result) {
  switch (result.verdict) {
  case Verdict::NotCompiled:
    return exitCodeOr(diagnostics, 70);
  case Verdict::NotInterpreted:
    return exitCodeOr(diagnostics, exitCode(ErrorCode::E0142));
  case Verdict::NotRun:
    diagnostics.report(result.status);
    return diagnostics.getExitCode();
  case Verdict::Agrees:
    printTable(result);
    if (hasNoLoss(result)) {
      llvm::outs().flush();
      diagnostics.report(
          Status(ErrorCode::E0704,
                 "no loss is finite, so there is nothing to compare")
              .setHelp("give samples that the model is trained with: --data "
                       "FILE.safetensors"));
      return diagnostics.getExitCode();
    }
    llvm::outs() << "the compiled step computes what the reference computes\n";
    llvm::outs().flush();
    return 0;
  case Verdict::Differs:
    break;
  }
  printTable(result);
  llvm::outs().flush();
  bool isSelfContained =
      !weights() ||
      compareBoth(program, nullptr, options).verdict == Verdict::Differs;
  report(result, isSelfContained);
  return diagnostics.getExitCode();
}

FailureOr<VerifiedProgram> Verification::compile() {
  return compileBoth(
      *input.module, options.compile,
      [&](ModuleOp module, const Options &kept) -> LogicalResult {
        for (const Phase &phase : getPhases())
          if (failed(runPhase(phase, module, kept)))
            return failure();
        return success();
      });
}

int Verification::checkMachineCode() {
  if (!read())
    return exitCodeOr(diagnostics, exitCode(ErrorCode::E0108));
  FailureOr<VerifiedProgram> program = compile();
  if (failed(program))
    return exitCodeOr(diagnostics, 70);
  StatusOr<std::optional<WrongCommand>> wrong =
      checkEachCommand(*program, nullptr, options);
  if (!wrong.ok())
    diagnostics.report(wrong.status());
  else if (*wrong)
    diagnostics.report(
        Status(ErrorCode::E0703, describe(**wrong))
            .setHelp("this is a bug in shardc; please report it and attach the "
                     "model"));
  return diagnostics.getExitCode();
}

int Verification::run(const std::function<void(VerifiedProgram &)> &change) {
  if (!read())
    return exitCodeOr(diagnostics, exitCode(ErrorCode::E0108));
  FailureOr<VerifiedProgram> program = compile();
  if (failed(program))
    return exitCodeOr(diagnostics, 70);
  if (change)
    change(*program);
  return conclude(*program, compare(*program));
}

int verifyModel(const std::string &path, const VerifyOptions &options,
                const std::function<void(VerifiedProgram &)> &change) {
  return Verification(path, options).run(change);
}

int checkMachineCode(const std::string &path, const Options &options) {
  VerifyOptions once;
  once.compile = options;
  once.compile.verifyEach.clear(); // The passes have been checked.
  once.compile.snapshots.clear();
  once.steps = 1;
  return Verification(path, once).checkMachineCode();
}

} // namespace shardc::verify
