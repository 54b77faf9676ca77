//===- CompileOptions.cpp - options of every command that compiles --------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a training step is compiled for, in the groups that help pages show.
//===----------------------------------------------------------------------===//

#include "tools/shardc/Commands.h"

#include "passes/CostModel/Target.h"
#include "runtime/format/Artifact.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace shardc {

CLI::Validator oneOf(std::vector<std::string> words) {
  return CLI::IsMember(std::move(words)).description("");
}

namespace {
/// The numbers from `least` to `most`, which may be one of them or not.
struct Range {
  double least, most;
  bool hasMost = true;
};
} // namespace

/// What is wrong with a number; NaN is in no range. Empty for what is none:
/// options have their own message for that.
static std::string complainAbout(const std::string &text, Range range) {
  double value = 0;
  if (!CLI::detail::lexical_cast(text, value))
    return "";
  if (value >= range.least &&
      (range.hasMost ? value <= range.most : value < range.most))
    return "";
  std::ostringstream message;
  message << std::setprecision(12) << outOfRange << range.least
          << (range.hasMost ? " to " : " to below ") << range.most << ", found "
          << text;
  return message.str();
}

static CLI::Validator inRange(Range range) {
  auto check = [range](const std::string &text) {
    return complainAbout(text, range);
  };
  return CLI::Validator(check, "");
}

static void addShardingOptions(CLI::App &command, Options &options) {
  command
      .add_option("--world-size", options.worldSize,
                  "Ranks that share the parameters")
      ->required()
      ->check(inRange({1, 65536}))
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

static std::string checkLossScale(const std::string &text) {
  double value = 0;
  if (text == "dynamic")
    return "";
  if (!CLI::detail::lexical_cast(text, value) ||
      text.find_first_of("xX") != std::string::npos)
    return "expected a number or dynamic, found '" + text + "'";
  return complainAbout(text, {1e-30, 1e30});
}

static void addOptimizerOptions(CLI::App &command, Options &options) {
  command.add_option("--optimizer", options.optimizer, "As in torch.optim")
      ->check(oneOf({"sgd", "adamw"}))
      ->type_name("sgd|adamw")
      ->group("Optimizer")
      ->capture_default_str();
  auto number = [&](const char *flag, double &value, Range range,
                    const char *text) {
    command.add_option(flag, value, text)
        ->check(inRange(range))
        ->type_name("X")
        ->group("Optimizer")
        ->capture_default_str();
  };
  // As torch.optim has them.
  constexpr Range decay = {0, 1, /*hasMost=*/false};
  number("--momentum", options.momentum, {0, 1e6}, "Momentum of sgd");
  number("--weight-decay", options.weightDecay, {0, 1e6}, "Weight decay");
  command
      .add_option("--param-groups", options.paramGroups,
                  "Parameters, by patterns of names, with a weight_decay or "
                  "lr_scale of their own")
      ->type_name("PATTERN:KEY=X;...")
      ->group("Optimizer");
  number("--clip-grad-norm", options.clipGradNorm, {0, 1e30},
         "Largest norm of all gradients; 0: any");
  command
      .add_option("--loss-scale", options.lossScale,
                  "What the loss is multiplied by for backward; dynamic: as "
                  "torch.amp.GradScaler does, skipping steps")
      ->check(CLI::Validator(checkLossScale, ""))
      ->type_name("X|dynamic")
      ->group("Optimizer")
      ->capture_default_str();
  command
      .add_flag("--skip-non-finite", options.skipNonFinite,
                "Skip steps whose gradients are not all finite")
      ->group("Optimizer");
  number("--beta1", options.beta1, decay, "Decay of adamw's first moment");
  number("--beta2", options.beta2, decay, "Decay of adamw's second moment");
  number("--epsilon", options.epsilon, {0, 1e6},
         "Added to adamw's denominator");
}

/// Replaces `native` by the level of this machine, so that the artifact says
/// which one it is for.
static std::string resolveNative(std::string &text) {
  if (text != "native")
    return "";
  std::optional<std::string> level = format::nativeProcessor();
  if (!level)
    return "native: this machine is no x86-64 one; name a level";
  text = *level;
  return "";
}

/// Takes `cuda:sm_90,emulated` apart; an error otherwise.
static std::string readTarget(const std::string &text, Options &options) {
  const std::string cuda = "cuda:";
  std::vector<std::string> known = cudaChips();
  known.push_back("emulated");
  std::string expected = "expected cpu or cuda: and chips out of";
  for (const std::string &chip : known)
    expected += (chip == known.front() ? " " : ", ") + chip;
  expected += ", separated by commas; got '" + text + "'";
  options.target = text;
  options.chips.clear();
  if (text == "cpu")
    return "";
  if (!text.starts_with(cuda))
    return expected;
  std::istringstream chips(text.substr(cuda.size()));
  for (std::string chip; std::getline(chips, chip, ',');) {
    const std::vector<std::string> &given = options.chips;
    if (std::find(known.begin(), known.end(), chip) == known.end() ||
        std::find(given.begin(), given.end(), chip) != given.end())
      return expected;
    options.chips.push_back(chip);
  }
  options.target = "cuda";
  return options.chips.empty() || text.ends_with(',') ? expected : "";
}

static void addTargetOptions(CLI::App &command, Options &options) {
  command
      .add_option_function<std::string>(
          "--target",
          [&options](const std::string &text) {
            if (std::string error = readTarget(text, options); !error.empty())
              throw CLI::ValidationError("--target", error);
          },
          "What the artifact runs on: this kind of machine, or GPUs of these "
          "chips; emulated is for shardrun --device emulated")
      ->type_name("cpu|cuda:CHIP,...")
      ->group("Target")
      ->default_str(options.target);
  command
      .add_option("--format", options.gpuFormat,
                  "What chips execute: cubin needs ptxas of the CUDA toolkit, "
                  "ptx is compiled by the driver")
      ->check(oneOf({"cubin", "ptx"}))
      ->type_name("cubin|ptx")
      ->group("Target")
      ->capture_default_str();
  std::vector<std::string> levels = targetNames(Compiler::Cpu);
  levels.insert(levels.begin(), "native");
  std::string choice;
  for (const std::string &level : levels)
    choice += (choice.empty() ? "" : "|") + level;
  command
      .add_option("--cpu", options.cpu,
                  "The processor level that kernels may use; native: this "
                  "machine's. The default runs on most machines and leaves "
                  "AVX-512 unused")
      ->check(oneOf(levels))
      ->transform(CLI::Validator(resolveNative, ""))
      ->type_name(choice)
      ->group("Target")
      ->capture_default_str();
  command
      .add_flag("--evaluation", options.evaluation,
                "Add the model's evaluation, for shardrun --eval-data")
      ->group("Target");
  command
      .add_flag_callback(
          "--no-fuse", [&options] { options.fuse = false; },
          "Keep one kernel an operator")
      ->group("Target");
}

void addCompileOptions(CLI::App &command, Options &options) {
  addShardingOptions(command, options);
  addPrecisionOptions(command, options);
  addOptimizerOptions(command, options);
  addTargetOptions(command, options);
}

} // namespace shardc
