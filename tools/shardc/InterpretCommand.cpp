//===- InterpretCommand.cpp - shardc interpret ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The options of an execution in the reference interpreter.
//===----------------------------------------------------------------------===//

#include "compiler/Interpretation.h"
#include "tools/shardc/Commands.h"

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
                  "The model's inputs by name, or as input0, input1, ...; "
                  "without it they are drawn from --seed")
      ->type_name("FILE.safetensors")
      ->group("Data");
  command
      .add_option("--weights", options.weights,
                  "Parameters and buffers by name, instead of the export's; a "
                  "program without any draws them from --seed")
      ->type_name("FILE.safetensors")
      ->group("Data");
  command.add_option("--seed", options.seed, "Of the numbers that are drawn")
      ->type_name("S")
      ->group("Data")
      ->capture_default_str();
}

static void addRunOptions(CLI::App &command, InterpretOptions &options) {
  const CLI::Validator positive =
      CLI::Validator(CLI::PositiveNumber).description("");
  command
      .add_option("--ranks", options.ranks,
                  "Simulated ranks of a program without a mesh; each gets its "
                  "part of the inputs' first dimension (default: 1)")
      ->check(positive)
      ->type_name("N")
      ->group("Execution");
  command
      .add_option("--steps", options.steps,
                  "Executions, all on the same inputs")
      ->check(positive)
      ->type_name("K")
      ->group("Execution")
      ->capture_default_str();
  command
      .add_option("--lr", options.learningRate,
                  "Learning rate of a program that has an optimizer")
      ->type_name("X")
      ->group("Execution")
      ->capture_default_str();
}

static void addResultOptions(CLI::App &command, InterpretOptions &options) {
  command.add_option("--outputs", options.outputs, "Write the outputs")
      ->type_name("FILE.safetensors")
      ->group("Results");
  command
      .add_option("--expected", options.expected,
                  "Compare the outputs, by name or with expected0, "
                  "expected1, ...; exit with 6 when one differs")
      ->type_name("FILE.safetensors")
      ->group("Results");
  command
      .add_option("--tolerance", options.tolerance,
                  "Allowed relative difference (default: by dtype)")
      ->type_name("X")
      ->group("Results");
}

void addInterpretCommand(CLI::App &app, Run &run) {
  CLI::App *command = app.add_subcommand(
      "interpret", "Execute a model or a dump in the reference interpreter");
  auto arguments = std::make_shared<InterpretArguments>();
  command
      ->add_option("MODEL", arguments->path,
                   "A .pt2 file, or a .mlir file of any phase from import to "
                   "schedule")
      ->required();
  addInputOptions(*command, arguments->options.input);
  addDataOptions(*command, arguments->options);
  addRunOptions(*command, arguments->options);
  addResultOptions(*command, arguments->options);
  command->footer(
      std::string(
          "The interpreter is slow and exact: plain loops in double "
          "precision, rounded once\nan operator. Passes and kernels "
          "are compared with it.\n\nExample:\n"
          "  shardc interpret model.pt2 --inputs batch.safetensors\n\n") +
      exitCodes);
  command->callback([arguments, &run] {
    run = [=] { return interpret(arguments->path, arguments->options); };
  });
}

} // namespace shardc
