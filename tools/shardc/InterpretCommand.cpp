//===- InterpretCommand.cpp - shardc interpret ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The options of an execution in the reference interpreter.
//===----------------------------------------------------------------------===//

#include "compiler/Interpretation.h"
#include "runtime/format/OutputFile.h"
#include "tools/command_line/CommandLine.h"
#include "tools/shardc/Commands.h"

#include <iostream>
#include <memory>

namespace shardc {

namespace {
struct InterpretArguments {
  std::string path;
  InterpretOptions options;
};
} // namespace

static void addDataOptions(CLI::App &command, InterpretOptions &options) {
  command
      .add_option("--inputs", options.inputs,
                  "Inputs by name, or as input0, input1, ... (default: random)")
      ->type_name("FILE.safetensors")
      ->group("Data");
  command
      .add_option("--weights", options.weights,
                  "Parameters and buffers by name (default: those of the "
                  "export, else random)")
      ->type_name("FILE.safetensors")
      ->group("Data");
  command
      .add_option("--seed", options.seed, "Seed of random inputs and weights")
      ->check(isUnsigned())
      ->type_name("S")
      ->group("Data")
      ->capture_default_str();
}

static void addRunOptions(CLI::App &command, InterpretOptions &options) {
  const CLI::Validator positive = inRange({1, 1e9});
  command
      .add_option(
          "--ranks", options.ranks,
          "Number of simulated ranks, for models and for IR from before "
          "the shard phase; inputs are split along the first dimension "
          "(default: 1)")
      ->check(positive)
      ->type_name("N")
      ->group("Execution");
  command
      .add_option("--steps", options.steps,
                  "Number of executions, all on the same inputs")
      ->check(positive)
      ->type_name("K")
      ->group("Execution")
      ->capture_default_str();
  command
      .add_option("--lr", options.learningRate,
                  "Learning rate, for a program with an optimizer")
      ->type_name("X")
      ->group("Execution")
      ->capture_default_str();
}

static void addResultOptions(CLI::App &command, InterpretOptions &options) {
  command
      .add_option("--outputs", options.outputs, "Write the outputs to a file")
      ->type_name("FILE.safetensors")
      ->group("Results");
  command
      .add_option("--expected", options.expected,
                  "Compare the outputs, by name or with expected0, expected1, "
                  "...; exit with 6 if they differ")
      ->type_name("FILE.safetensors")
      ->group("Results");
  command
      .add_option("--tolerance", options.tolerance,
                  "Relative tolerance of --expected (default: by dtype)")
      ->type_name("X")
      ->group("Results");
}

void addInterpretCommand(CLI::App &app, Run &run) {
  CLI::App *command = app.add_subcommand(
      "interpret", "Execute a model or IR in the reference interpreter");
  auto arguments = std::make_shared<InterpretArguments>();
  command
      ->add_option("MODEL", arguments->path,
                   "An exported model (.pt2), or IR of any phase from import "
                   "to kernel (.mlir)")
      ->required();
  addInputOptions(*command, arguments->options.input);
  addDataOptions(*command, arguments->options);
  addRunOptions(*command, arguments->options);
  addResultOptions(*command, arguments->options);
  command->footer(
      std::string(
          "The interpreter is the reference for passes and kernels. "
          "It is slow but\naccurate: it computes in double precision and "
          "rounds once per operator.\n\nExample:\n"
          "  shardc interpret model.pt2 --inputs "
          "batch.safetensors\n\n") +
      exitCodes);
  command->callback([arguments, &run] {
    run = [=] {
      const InterpretOptions &options = arguments->options;
      Status status = checkIsModel(arguments->path);
      if (status.ok())
        status = format::checkDistinct({{"MODEL", arguments->path},
                                        {"--inputs", options.inputs},
                                        {"--weights", options.weights},
                                        {"--expected", options.expected}},
                                       {{"--outputs", options.outputs}});
      if (!status.ok()) {
        std::cerr << render(status, "shardc");
        return exitCode(status.code());
      }
      return interpret(arguments->path, arguments->options);
    };
  });
}

} // namespace shardc
