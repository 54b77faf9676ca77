//===- CompileCommand.cpp - shardc compile --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The options of a compilation, in the groups that its help page shows.
//===----------------------------------------------------------------------===//

#include "compiler/AutoPlan.h"
#include "compiler/Compiler.h"
#include "runtime/format/Errors.h"
#include "runtime/format/OutputFile.h"
#include "runtime/format/Status.h"
#include "tools/shardc/Commands.h"
#include "tools/verify/VerifyModel.h"

#include <iostream>
#include <memory>

namespace shardc {

namespace {
struct CompileArguments {
  std::string input;
  std::string output;
  std::string configuration;
  bool noWeights = false;
  bool printConfig = false;
  Options options;
};
} // namespace

static std::string listOf(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

static void addInspectionOptions(CLI::App &command, Options &options) {
  command
      .add_option("--compile-to", options.compileTo,
                  "Stop after a phase and write its IR to -o or standard "
                  "output: " +
                      listOf(phaseNames()))
      ->check(oneOf(phaseNames()))
      ->type_name("PHASE")
      ->group("Debugging");
  command
      .add_option("--snapshots", options.snapshots,
                  "Write the IR after each phase to a folder")
      ->type_name("DIR")
      ->group("Debugging");
  command
      .add_option(
          "--verify-each", options.verifyEach,
          "execute: check with the reference interpreter that no pass changes "
          "results and that each compiled command computes what it should")
      ->check(oneOf({"execute"}))
      ->type_name("execute")
      ->group("Debugging");
  command
      .add_option(
          "--remarks", options.remarks,
          "Print the remarks of passes whose whole name matches, such as "
          "shardc-place-buffers or '.*fuse.*'")
      ->check(regularExpression())
      ->type_name("REGEX")
      ->group("Debugging");
}

static int fail(const Status &status) {
  std::cerr << render(status, "shardc");
  return exitCode(status.code());
}

/// An artifact needs a name; IR goes to standard output without one.
static int runCompile(CompileArguments &arguments) {
  arguments.options.embedWeights = !arguments.noWeights;
  if (const Status status = checkIsModel(arguments.input); !status.ok())
    return fail(status);
  if (const Status status = format::checkDistinct(
          {{"MODEL", arguments.input}, {"--config", arguments.configuration}},
          {{"-o", arguments.output}});
      !status.ok())
    return fail(status);
  if (int result = resolveAuto(arguments.input, arguments.options))
    return result;
  if (arguments.printConfig)
    return printConfiguration(arguments.input, arguments.options);
  if (arguments.output.empty() && arguments.options.compileTo.empty()) {
    return fail(Status(ErrorCode::E0002, "-o MODEL.shardc is required"));
  }
  int result = compile(arguments.input, arguments.output, arguments.options);
  if (result == 0 && arguments.options.verifyEach == "execute" &&
      arguments.options.compileTo.empty())
    result = verify::checkMachineCode(arguments.input, arguments.options);
  return result;
}

void addCompileCommand(CLI::App &app, Run &run) {
  CLI::App *command = app.add_subcommand(
      "compile", "Compile an exported model to a training step for N ranks");
  auto arguments = std::make_shared<CompileArguments>();
  command
      ->add_option(
          "MODEL", arguments->input,
          "An exported model (.pt2), or IR of the import phase (.mlir)")
      ->required();
  command
      ->add_option(
          "-o,--output", arguments->output,
          "Artifact to write; required unless --compile-to or --print-config")
      ->type_name("MODEL.shardc");
  addInputOptions(*command, arguments->options.input);
  addCompileOptions(*command, arguments->options);
  command
      ->add_flag(
          "--no-weights", arguments->noWeights,
          "Leave weights out of the artifact; pass them to shardrun --weights")
      ->group("Target");
  addInspectionOptions(*command, arguments->options);
  command
      ->add_flag("--print-config", arguments->printConfig,
                 "Print the resolved configuration with the reason for each "
                 "value, and exit")
      ->group("Configuration");
  command->footer(
      std::string("Example:\n"
                  "  shardc compile model.pt2 -o model.shardc --world-size 4 "
                  "--param-dtype bf16\n\n") +
      exitCodes);
  command->callback([arguments, command, &run] {
    if (const CLI::Option *file = command->get_option("--config");
        file->count() > 0)
      arguments->configuration = file->results().back();
    run = [=] { return runCompile(*arguments); };
  });
}

} // namespace shardc
