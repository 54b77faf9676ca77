//===- VerifyCommand.cpp - shardc verify ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The options of a comparison of a compiled step with the reference.
//===----------------------------------------------------------------------===//

#include "compiler/AutoPlan.h"
#include "tools/shardc/Commands.h"
#include "tools/verify/VerifyModel.h"

#include <memory>

namespace shardc {

namespace {
struct VerifyArguments {
  std::string path;
  verify::VerifyOptions options;
};
} // namespace

static void addRunOptions(CLI::App &command, verify::VerifyOptions &options) {
  const CLI::Validator positive =
      CLI::Validator(CLI::PositiveNumber).description("");
  auto count = [&](const char *flag, auto &value, const char *type,
                   const char *text) {
    command.add_option(flag, value, text)
        ->check(positive)
        ->type_name(type)
        ->group("Execution")
        ->capture_default_str();
  };
  command
      .add_option("--data", options.data,
                  "Samples, as shardrun takes them; without it they are drawn "
                  "from --seed, integers from those that the program allows")
      ->type_name("FILE.safetensors")
      ->group("Execution");
  count("--steps", options.steps, "K", "Optimizer steps, each compared");
  count("--micro-batches", options.microBatches, "M",
        "Micro-batches of each rank in a step");
  count("--threads", options.threads, "T", "Threads of each rank");
  command
      .add_option("--lr", options.learningRate,
                  "Learning rate of the optimizer")
      ->type_name("X")
      ->group("Execution")
      ->capture_default_str();
  command
      .add_option("--seed", options.seed,
                  "Of data, and of weights that the model lacks")
      ->type_name("S")
      ->group("Execution")
      ->capture_default_str();
}

void addVerifyCommand(CLI::App &app, Run &run) {
  CLI::App *command = app.add_subcommand(
      "verify", "Compile, run, and compare with the unsharded reference");
  auto arguments = std::make_shared<VerifyArguments>();
  command
      ->add_option("MODEL", arguments->path,
                   "A .pt2 file of torch.export.save, or a .mlir file of the "
                   "import phase")
      ->required();
  addInputOptions(*command, arguments->options.compile.input);
  addCompileOptions(*command, arguments->options.compile);
  addRunOptions(*command, arguments->options);
  command->footer(
      std::string(
          "Runs the compiled step in this process and compares losses, "
          "gradients, parameters,\nbuffers and optimizer states of every step "
          "with the reference interpreter. How\nlarge a difference may be "
          "follows from the model: docs/rationale/verify.md.\n\nExample:\n"
          "  shardc verify model.pt2 --world-size 4 --param-dtype bf16\n\n") +
      exitCodes);
  command->callback([arguments, &run] {
    run = [=] {
      if (int result = resolveAuto(arguments->path, arguments->options.compile))
        return result;
      return verify::verifyModel(arguments->path, arguments->options);
    };
  });
}

} // namespace shardc
