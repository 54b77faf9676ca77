//===- RandomPrograms.cpp - Checks random training programs ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Generates the programs of a range of seeds, checks each, and prints a line
// for each failure, the programs as files where a folder is given; and checks
// files that were written so.
//===----------------------------------------------------------------------===//

#include "compiler/ModelInput.h"
#include "test/fuzz/programs/IsolatedRun.h"
#include "test/fuzz/programs/ProgramGenerator.h"
#include "test/fuzz/programs/ProgramReduction.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

#include <chrono>
#include <limits>

using namespace mlir;
using namespace shardc;
using namespace shardc::fuzz;

namespace {

struct Arguments {
  std::string seeds;
  std::string print;
  std::vector<std::string> replay;
  std::vector<std::string> leftOut;
  /// Empty where seeds choose.
  std::string target;
  std::string output;
  int jobs = 1;
  double seconds = 0;
  double reduceSeconds = 60;
};

/// A context with every dialect and no threads, which a fork would lose.
struct ProgramContext {
  MLIRContext context{MLIRContext::Threading::DISABLED};
  ProgramContext() { loadDialects(context); }
};

/// A range of seeds and what came of them.
class Search {
public:
  explicit Search(const Arguments &arguments) : arguments(arguments) {}

  /// Returns the process's exit code.
  int run(uint64_t first, uint64_t end);

private:
  const Arguments &arguments;
  int64_t checked = 0;
  int64_t failed = 0;
  std::map<std::string, int64_t> failures;
  std::map<std::string, int64_t> operators;
  llvm::StringSet<> reducedSignatures;
  std::vector<std::pair<uint64_t, ProgramFailure>> open;

  void report(uint64_t seed, const SeedResult &result);
  void reduceOne(uint64_t seed, const ProgramFailure &failure);
  void printSummary(double seconds) const;
};

} // namespace

/// The program and the policy of a seed.
static TrainedProgram makeProgram(MLIRContext &context, uint64_t seed,
                                  const Arguments &arguments) {
  TrainedProgram program;
  program.module = generateProgram(context, seed, arguments.leftOut);
  RandomSource random(~seed);
  program.policy = randomPolicy(*program.module, random);
  if (!arguments.target.empty() &&
      (arguments.target != "cuda" || runsOnGpus(*program.module)))
    setTarget(program.policy, arguments.target);
  return program;
}

static SeedResult checkSeed(uint64_t seed, const Arguments &arguments) {
  // Workers live for some seeds, and with them the context.
  static ProgramContext context;
  TrainedProgram program = makeProgram(context.context, seed, arguments);
  SeedResult result;
  program.module->walk([&](Operation *op) {
    if (isa<aten::AtenDialect>(op->getDialect()))
      ++result.operators[op->getName().getStringRef().str()];
  });
  result.failure = checkProgram(*program.module, program.policy);
  result.policy = describe(program.policy);
  return result;
}

//===----------------------------------------------------------------------===//
// Searching
//===----------------------------------------------------------------------===//

void Search::report(uint64_t seed, const SeedResult &result) {
  ++checked;
  for (const auto &[name, count] : result.operators)
    ++operators[name];
  if (!result.failure)
    return;
  ++failed;
  ++failures[signatureOf(*result.failure)];
  llvm::outs() << "seed " << seed << ": " << result.failure->kind << ": "
               << result.failure->text << " [" << result.policy << "]\n";
  llvm::outs().flush();
  if (reducedSignatures.insert(signatureOf(*result.failure)).second ||
      result.failure->kind == "reference")
    open.emplace_back(seed, *result.failure);
}

static void writeFile(StringRef folder, const std::string &name,
                      const std::string &text) {
  SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  std::error_code error = llvm::sys::fs::create_directories(folder);
  if (!error) {
    llvm::ToolOutputFile file(path, error, llvm::sys::fs::OF_Text);
    if (!error) {
      file.os() << text;
      file.keep();
      return;
    }
  }
  llvm::errs() << "cannot write '" << path << "': " << error.message() << "\n";
}

void Search::reduceOne(uint64_t seed, const ProgramFailure &failure) {
  ProgramContext context;
  TrainedProgram program = makeProgram(context.context, seed, arguments);
  std::string name = "seed-" + std::to_string(seed);
  std::string comment = failure.kind + ": " + failure.text;
  if (!arguments.output.empty())
    writeFile(arguments.output, name + "-whole.mlir",
              writeProgram(program, comment));
  if (arguments.reduceSeconds <= 0)
    return;
  reduceProgram(program, failure, arguments.reduceSeconds);
  std::string text = writeProgram(program, comment);
  if (arguments.output.empty())
    llvm::outs() << text;
  else
    writeFile(arguments.output, name + ".mlir", text);
  llvm::outs().flush();
}

void Search::printSummary(double seconds) const {
  llvm::outs() << checked << " programs in "
               << llvm::format("%.0f s (%.1f a second), ", seconds,
                               double(checked) / seconds)
               << failed << " failed\n";
  for (const auto &[signature, count] : failures)
    llvm::outs() << "  " << count << " x " << signature << "\n";
  llvm::outs() << "programs with each operator:";
  for (const auto &[name, count] : operators)
    llvm::outs() << " " << name << "=" << count;
  llvm::outs() << "\n";
}

int Search::run(uint64_t first, uint64_t end) {
  auto begin = std::chrono::steady_clock::now();
  runSeeds(
      first, end, arguments.jobs, arguments.seconds,
      [&](uint64_t seed) { return checkSeed(seed, arguments); },
      [&](uint64_t seed, const SeedResult &result) { report(seed, result); });
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - begin;
  printSummary(elapsed.count());
  for (const auto &[seed, failure] : open)
    reduceOne(seed, failure);
  return failed == 0 ? 0 : 1;
}

//===----------------------------------------------------------------------===//
// Single programs
//===----------------------------------------------------------------------===//

static int replay(const std::vector<std::string> &paths) {
  int exitCode = 0;
  for (const std::string &path : paths) {
    ProgramContext context;
    FailureOr<TrainedProgram> program = readProgram(path, context.context);
    if (failed(program))
      return 1;
    std::optional<ProgramFailure> failure = runIsolated(
        [&] { return checkProgram(*program->module, program->policy); });
    llvm::outs() << path << ": "
                 << (failure ? failure->kind + ": " + failure->text : "agrees")
                 << "\n";
    exitCode |= failure.has_value();
  }
  return exitCode;
}

static int print(uint64_t seed, const Arguments &arguments) {
  ProgramContext context;
  llvm::outs() << writeProgram(makeProgram(context.context, seed, arguments),
                               "");
  return 0;
}

/// "12..40" or "12": [first, end).
static bool parseRange(StringRef text, uint64_t &first, uint64_t &end) {
  auto [from, to] = text.split("..");
  if (from.getAsInteger(10, first))
    return false;
  if (!text.contains(".."))
    end = first + 1;
  else if (to.empty())
    end = std::numeric_limits<uint64_t>::max();
  else if (to.getAsInteger(10, end))
    return false;
  else
    ++end;
  return first < end;
}

static int run(const Arguments &arguments) {
  uint64_t first = 0, end = 0;
  if (!arguments.replay.empty())
    return replay(arguments.replay);
  const std::string &range =
      arguments.print.empty() ? arguments.seeds : arguments.print;
  if (!parseRange(range, first, end)) {
    llvm::errs() << "expected seeds as A..B, A.. or A, got '" << range << "'\n";
    return 1;
  }
  return arguments.print.empty() ? Search(arguments).run(first, end)
                                 : print(first, arguments);
}

int main(int argc, char **argv) {
  // LLVM's own options would hide these.
  llvm::cl::OptionCategory category("RandomPrograms options");
  llvm::cl::opt<std::string> seeds("seeds", llvm::cl::cat(category),
                                   llvm::cl::init("1..100"),
                                   llvm::cl::desc("A..B, A.. or A"));
  llvm::cl::opt<std::string> shown(
      "print", llvm::cl::cat(category),
      llvm::cl::desc("Print the program of a seed and end"));
  llvm::cl::list<std::string> files(
      "replay", llvm::cl::cat(category),
      llvm::cl::desc("Check this file instead of seeds"));
  llvm::cl::list<std::string> without(
      "without", llvm::cl::cat(category), llvm::cl::CommaSeparated,
      llvm::cl::desc(
          "Operators to leave out, such as one with a known defect"));
  llvm::cl::opt<std::string> target(
      "target", llvm::cl::cat(category),
      llvm::cl::desc("cpu or cuda, whose threads are emulated, for all "
                     "programs; by default seeds choose"));
  llvm::cl::opt<std::string> output(
      "output", llvm::cl::cat(category),
      llvm::cl::desc("A folder for the programs that fail"));
  llvm::cl::opt<int> jobs("jobs", llvm::cl::cat(category), llvm::cl::init(2),
                          llvm::cl::desc("Processes"));
  llvm::cl::opt<double> seconds(
      "seconds", llvm::cl::cat(category), llvm::cl::init(0),
      llvm::cl::desc("Begin no seed after this time; 0: no limit"));
  llvm::cl::opt<double> reduceSeconds(
      "reduce", llvm::cl::cat(category), llvm::cl::init(60),
      llvm::cl::desc("Seconds to spend on making a failure small"));
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::ParseCommandLineOptions(
      argc, argv, "RandomPrograms: trains random programs and compares\n");
  return run({seeds, shown, files, without, target, output, jobs, seconds,
              reduceSeconds});
}
