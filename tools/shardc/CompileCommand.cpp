//===- CompileCommand.cpp - shardc compile --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The options of a compilation, in the groups that its help page shows.
//===----------------------------------------------------------------------===//

#include "compiler/Compiler.h"
#include "runtime/format/Errors.h"
#include "tools/shardc/Commands.h"

#include <iostream>
#include <memory>

namespace shardc {

namespace {
struct CompileArguments {
  std::string input;
  std::string output;
  bool noFuse = false;
  bool noWeights = false;
  Options options;
};
} // namespace

/// One of `words`. The help page lists them as the option's type, so that the
/// check itself has nothing to say there.
static CLI::Validator oneOf(std::vector<std::string> words) {
  return CLI::IsMember(std::move(words)).description("");
}

static void addShardingOptions(CLI::App &command, Options &options) {
  command
      .add_option("--world-size", options.worldSize,
                  "Ranks that share the parameters")
      ->required()
      ->type_name("N")
      ->group("Sharding");
  command
      .add_option("--wrap", options.wrap,
                  "Modules that become groups: 'blocks' (repeated siblings) "
                  "or module path regexes")
      ->type_name("blocks|REGEX,...")
      ->group("Sharding")
      ->capture_default_str();
  command
      .add_option("--reshard", options.reshard,
                  "When groups are freed after forward")
      ->check(oneOf({"always", "never", "default"}))
      ->type_name("always|never|default")
      ->group("Sharding")
      ->capture_default_str();
  command
      .add_option("--prefetch", options.prefetch,
                  "Gathers that run ahead of the one in use")
      ->type_name("N")
      ->group("Sharding")
      ->capture_default_str();
}

static void addPrecisionOptions(CLI::App &command, Options &options) {
  const CLI::Validator dtypes = oneOf({"f32", "bf16"});
  command
      .add_option("--param-dtype", options.paramDtype,
                  "The dtype that parameters are gathered and used in "
                  "(default: the exported one)")
      ->check(dtypes)
      ->type_name("f32|bf16")
      ->group("Precision");
  command
      .add_option("--reduce-dtype", options.reduceDtype,
                  "The dtype that gradients are reduced in (default: "
                  "the one that parameters are gathered in)")
      ->check(dtypes)
      ->type_name("f32|bf16")
      ->group("Precision");
}

static void addOptimizerOptions(CLI::App &command, Options &options) {
  command.add_option("--optimizer", options.optimizer, "As in torch.optim")
      ->check(oneOf({"sgd", "adamw"}))
      ->type_name("sgd|adamw")
      ->group("Optimizer")
      ->capture_default_str();
  auto number = [&](const char *flag, double &value, const char *text) {
    command.add_option(flag, value, text)
        ->check(CLI::Validator(CLI::NonNegativeNumber).description(""))
        ->type_name("X")
        ->group("Optimizer")
        ->capture_default_str();
  };
  number("--momentum", options.momentum, "Momentum of sgd");
  number("--weight-decay", options.weightDecay, "Weight decay");
  number("--beta1", options.beta1, "Decay of adamw's first moment");
  number("--beta2", options.beta2, "Decay of adamw's second moment");
  number("--epsilon", options.epsilon, "Added to adamw's denominator");
}

static void addTargetOptions(CLI::App &command, CompileArguments &arguments) {
  Options &options = arguments.options;
  command.add_option("--target", options.target, "What the artifact runs on")
      ->check(oneOf({"cpu"}))
      ->type_name("cpu")
      ->group("Target")
      ->capture_default_str();
  command
      .add_option("--cpu", options.cpu,
                  "The processor level that kernels may use")
      ->check(oneOf({"x86-64-v2", "x86-64-v3", "x86-64-v4"}))
      ->type_name("x86-64-v2|x86-64-v3|x86-64-v4")
      ->group("Target")
      ->capture_default_str();
  command
      .add_flag("--no-fuse", arguments.noFuse, "Keep one kernel an operator")
      ->group("Target");
  command
      .add_flag("--no-weights", arguments.noWeights,
                "Leave the weights out of the artifact; shardrun takes them "
                "with --weights")
      ->group("Target");
}

static std::string listOf(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

static void addInspectionOptions(CLI::App &command, Options &options) {
  command
      .add_option("--compile-to", options.compileTo,
                  "Stop after a phase (" + listOf(phaseNames()) +
                      ") and write its IR to -o, or to standard output")
      ->check(oneOf(phaseNames()))
      ->type_name("PHASE")
      ->group("Looking inside");
  command
      .add_option("--snapshots", options.snapshots,
                  "Write the IR after each phase to this folder")
      ->type_name("DIR")
      ->group("Looking inside");
  command
      .add_option("--verify-each", options.verifyEach,
                  "'execute': compare what the program computes before and "
                  "after each pass, in the reference interpreter")
      ->check(oneOf({"execute"}))
      ->type_name("execute")
      ->group("Looking inside");
  command
      .add_option("--remarks", options.remarks,
                  "Print the remarks of passes whose flag matches; '.*' for "
                  "all")
      ->type_name("REGEX")
      ->group("Looking inside");
}

/// An artifact needs a name; IR goes to standard output without one.
static int runCompile(CompileArguments &arguments) {
  arguments.options.fuse = !arguments.noFuse;
  arguments.options.embedWeights = !arguments.noWeights;
  if (arguments.output.empty() && arguments.options.compileTo.empty()) {
    std::cerr << "shardc: error " << errorNumber(ErrorCode::E0002)
              << ": expected -o MODEL.shardc\n";
    return exitCode(ErrorCode::E0002);
  }
  return compile(arguments.input, arguments.output, arguments.options);
}

void addCompileCommand(CLI::App &app, Run &run) {
  CLI::App *command = app.add_subcommand(
      "compile", "Compile an export to a training step for N ranks");
  auto arguments = std::make_shared<CompileArguments>();
  command
      ->add_option("MODEL", arguments->input,
                   "A .pt2 file of torch.export.save, or a .mlir file of the "
                   "import phase")
      ->required();
  command->add_option("-o,--output", arguments->output, "The artifact to write")
      ->type_name("MODEL.shardc");
  addInputOptions(*command, arguments->options.input);
  addShardingOptions(*command, arguments->options);
  addPrecisionOptions(*command, arguments->options);
  addOptimizerOptions(*command, arguments->options);
  addTargetOptions(*command, *arguments);
  addInspectionOptions(*command, arguments->options);
  command->footer(
      std::string("Example:\n"
                  "  shardc compile model.pt2 -o model.shardc --world-size 4 "
                  "--param-dtype bf16\n\n") +
      exitCodes);
  command->callback(
      [arguments, &run] { run = [=] { return runCompile(*arguments); }; });
}

} // namespace shardc
