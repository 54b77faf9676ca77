//===- Compiler.cpp - From an export to an artifact -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the input, runs the phases one by one with a snapshot after each, and
// hands the result to the artifact writer.
//===----------------------------------------------------------------------===//

#include "compiler/Compiler.h"

#include "compiler/Artifact/ArtifactBuilder.h"
#include "compiler/ConfigurationPrinter.h"
#include "compiler/CrashReproducer.h"
#include "compiler/Diagnostics.h"
#include "compiler/DtypeReport.h"
#include "compiler/ExecutionCheck.h"
#include "compiler/ModelInput.h"
#include "compiler/Pipelines.h"
#include "compiler/Plan/ArtifactText.h"
#include "compiler/WeightsReader.h"
#include "passes/Differentiate/LossScale.h"
#include "runtime/format/Terminal.h"

#include "mlir/IR/AsmState.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

namespace shardc {

/// What the gradients of the first step are scaled by.
static double firstLossScale(const Options &options) {
  std::optional<LossScale> scale = LossScale::parse(options.lossScale);
  return scale ? scale->getFirst() : 1;
}

namespace {

/// One compilation.
class Compilation {
public:
  Compilation(const std::string &input, const std::string &output,
              const Options &options)
      : input(input), output(output), options(options), diagnostics(context),
        executionCheck(std::max<int64_t>(options.worldSize, 1),
                       firstLossScale(options)) {}

  int run();

private:
  bool read();
  bool runPhase(const Phase &phase, unsigned number);
  bool writeSnapshot(const Phase &phase, unsigned number);
  bool writeText(StringRef path);
  bool writeArtifact(StepProgress &progress);
  void fail(ErrorCode code, const Twine &message) {
    diagnostics.report(Status(code, message.str()));
  }

  std::string input;
  std::string output;
  const Options &options;
  MLIRContext context;
  DiagnosticPrinter diagnostics;
  ExecutionCheck executionCheck;
  std::optional<pt2::ExportedModel> model;
  OwningOpRef<ModuleOp> module;
};

} // namespace

bool Compilation::read() {
  enableRemarks(context, options.remarks);
  std::optional<ModelInput> program = readModel(
      input, options.input, /*keepOutputs=*/false, context, diagnostics);
  if (!program)
    return false;
  model = std::move(program->model);
  module = std::move(program->module);
  return true;
}

bool Compilation::writeText(StringRef path) {
  std::error_code error;
  llvm::ToolOutputFile file(path, error, llvm::sys::fs::OF_Text);
  if (error) {
    fail(ErrorCode::E0601, "cannot write '" + path + "': " + error.message());
    return false;
  }
  module->print(file.os());
  file.os() << "\n";
  file.os().flush();
  if (const std::error_code failure = file.os().error()) {
    file.os().clear_error();
    fail(ErrorCode::E0601, (path == "-" ? "cannot write the standard output: "
                                        : "cannot write '" + path + "': ") +
                               failure.message());
    return false;
  }
  file.keep();
  return true;
}

bool Compilation::writeSnapshot(const Phase &phase, unsigned number) {
  if (options.snapshots.empty())
    return true;
  if (std::error_code error =
          llvm::sys::fs::create_directories(options.snapshots)) {
    fail(ErrorCode::E0601,
         "cannot create '" + options.snapshots + "': " + error.message());
    return false;
  }
  SmallString<128> path(options.snapshots);
  llvm::sys::path::append(path, "0" + Twine(number) + "_after_" + phase.name +
                                    ".mlir");
  return writeText(path);
}

bool Compilation::runPhase(const Phase &phase, unsigned number) {
  PassManager manager(&context);
  phase.addPasses(manager, options);
  if (options.verifyEach == "execute")
    executionCheck.add(manager);
  CrashReproducer reproducer(manager, *module);
  if (failed(manager.run(*module))) {
    // A failure without a numbered error is a mistake of ours.
    if (exitCodeOr(diagnostics, 70) == 70)
      reproducer.write();
    return false;
  }
  return !executionCheck.hasFailed() && writeSnapshot(phase, number);
}

/// Machine code, weights, and the file.
bool Compilation::writeArtifact(StepProgress &progress) {
  progress.begin("machine code");
  FailureOr<CompiledProgram> program = buildProgramWithCode(*module, options);
  if (failed(program))
    return false;
  format::Artifact &artifact = program->artifact;
  WeightsReader weights;
  if (model && options.embedWeights) {
    Status status = weights.read(*model, artifact);
    if (!status.ok()) {
      diagnostics.report(status);
      return false;
    }
  }
  progress.begin("writing");
  Status written = format::writeArtifact(output, artifact);
  progress.end();
  if (!written.ok())
    diagnostics.report(written);
  else
    llvm::outs() << printSummaryLines(artifact, output);
  return written.ok();
}

int Compilation::run() {
  StepProgress progress("shardc: compiling");
  progress.begin("reading");
  if (!read())
    return exitCodeOr(diagnostics, exitCode(ErrorCode::E0108));
  unsigned number = 0;
  for (const Phase &phase : getPhases()) {
    progress.begin(phase.name.str() + " phase");
    if (!runPhase(phase, ++number))
      return exitCodeOr(diagnostics, 70);
    if (phase.name != options.compileTo)
      continue;
    progress.end();
    return writeText(output.empty() ? "-" : output) ? 0
                                                    : diagnostics.getExitCode();
  }
  if (!writeArtifact(progress))
    return exitCodeOr(diagnostics, 70);
  return 0;
}

int compile(const std::string &input, const std::string &output,
            const Options &options) {
  return Compilation(input, output, options).run();
}

/// Runs the phases up to `last` so that groups say where their values are from,
/// and prints what `describe` makes of the result.
static int printAfter(StringRef last, const std::string &input,
                      const Options &options,
                      function_ref<std::string(ModuleOp)> describe) {
  MLIRContext context;
  DiagnosticPrinter diagnostics(context);
  std::optional<ModelInput> model = readModel(
      input, options.input, /*keepOutputs=*/false, context, diagnostics);
  if (!model)
    return exitCodeOr(diagnostics, exitCode(ErrorCode::E0108));
  Options explained = options;
  explained.explainGroups = true;
  if (failed(runPhases(*model->module, explained, last)))
    return exitCodeOr(diagnostics, 70);
  llvm::outs() << describe(*model->module);
  return 0;
}

int printConfiguration(const std::string &input, const Options &options) {
  return printAfter("group", input, options, [&](ModuleOp module) {
    return printConfiguration(module, options);
  });
}

int printDtypes(const std::string &input, const Options &options, bool asJson) {
  // Dtypes are the same on any mesh, and a file's may not be that of a number
  // of ranks; nor do they change with what `auto` stands for.
  Options alone = onOneRank(options);
  const Options usual;
  for (std::string Options::*member :
       {&Options::reshard, &Options::recompute, &Options::prefetch})
    if (alone.*member == "auto")
      alone.*member = usual.*member;
  return printAfter("precision", input, alone,
                    asJson ? reportDtypesAsJson : reportDtypes);
}

std::vector<std::string> phaseNames() {
  std::vector<std::string> names;
  for (const Phase &phase : getPhases())
    names.push_back(phase.name.str());
  return names;
}

} // namespace shardc
