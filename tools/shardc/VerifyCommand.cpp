//===- VerifyCommand.cpp - shardc verify ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The options of a comparison of a compiled step with the reference.
//===----------------------------------------------------------------------===//

#include "compiler/AutoPlan.h"
#include "tools/shardc/Commands.h"
#include "tools/verify/VerifyModel.h"

#include <iostream>
#include <memory>

namespace shardc {

namespace {
struct VerifyArguments {
  std::string path;
  verify::VerifyOptions options;
};
} // namespace

static void addRunOptions(CLI::App &command, verify::VerifyOptions &options) {
  const CLI::Validator positive = inRange({1, 1e9});
  auto count = [&](const char *flag, auto &value, const char *type,
                   const char *text) {
    command.add_option(flag, value, text)
        ->check(positive)
        ->type_name(type)
        ->group("Execution")
        ->capture_default_str();
  };
  command
      .add_option(
          "--data", options.data,
          "Samples: tokens:FILE, FILE.npy or FILE.safetensors (default: "
          "random)")
      ->type_name("DATA")
      ->group("Execution");
  count("--steps", options.steps, "K", "Optimizer steps to compare");
  count("--micro-batches", options.microBatches, "M",
        "Micro-batches per rank per step");
  count("--threads", options.threads, "T", "Threads per rank");
  command.add_option("--lr", options.learningRate, "Learning rate")
      ->type_name("X")
      ->group("Execution")
      ->capture_default_str();
  command
      .add_option("--seed", options.seed,
                  "Seed of random data, and of weights that the model lacks")
      ->type_name("S")
      ->group("Execution")
      ->capture_default_str();
}

void addVerifyCommand(CLI::App &app, Run &run) {
  CLI::App *command = app.add_subcommand(
      "verify", "Check a compiled step against the unsharded reference");
  auto arguments = std::make_shared<VerifyArguments>();
  command
      ->add_option(
          "MODEL", arguments->path,
          "An exported model (.pt2), or IR of the import phase (.mlir)")
      ->required();
  addInputOptions(*command, arguments->options.compile.input);
  addCompileOptions(*command, arguments->options.compile);
  command->get_option("--target")
      ->description("Device to verify on: cpu or cuda:emulated")
      ->type_name("cpu|cuda:emulated");
  addRunOptions(*command, arguments->options);
  command->footer(
      std::string(
          "Runs the compiled step and compares losses, gradients, "
          "parameters, buffers and\noptimizer states of every step with "
          "the reference interpreter. The tolerance\nfollows from the "
          "model: docs/rationale/verify.md.\n\nExample:\n"
          "  shardc verify model.pt2 --world-size 4 --param-dtype "
          "bf16\n\n") +
      exitCodes);
  command->callback([arguments, &run] {
    run = [=] {
      if (const Status status = checkIsModel(arguments->path); !status.ok()) {
        std::cerr << render(status, "shardc");
        return exitCode(status.code());
      }
      const Options &compile = arguments->options.compile;
      if (compile.target == format::cudaTarget &&
          compile.chips != std::vector<std::string>{"emulated"}) {
        const Status status =
            Status(ErrorCode::E0001,
                   "--target: verify runs GPU code on emulated threads only")
                .setHelp("--target cuda:emulated");
        std::cerr << render(status, "shardc");
        return exitCode(status.code());
      }
      if (int result = resolveAuto(arguments->path, arguments->options.compile))
        return result;
      return verify::verifyModel(arguments->path, arguments->options);
    };
  });
}

} // namespace shardc
