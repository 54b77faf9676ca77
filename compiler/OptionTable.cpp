//===- OptionTable.cpp - The options of a compilation ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Ranges and names are those of torch.optim and torch.amp.
//===----------------------------------------------------------------------===//

#include "compiler/OptionTable.h"

#include "dialects/Fsdp/OptimizerKinds.h"
#include "passes/CostModel/Machines.h"
#include "passes/Group/Rules.h"

#include <array>
#include <cctype>
#include <charconv>
#include <iomanip>
#include <sstream>

namespace shardc {

static constexpr NumberRange decay = {0, 1, /*hasMost=*/false};
static constexpr NumberRange factor = {0, 1e6};

static std::string describeInvalidLossScale(const std::string &text) {
  if (text == "dynamic")
    return "";
  double value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return "expected a number or dynamic, got '" + text + "'";
  return describeOutOfRange(value, {1e-30, 1e30});
}

static std::string describeInvalidReshard(const std::string &text) {
  if (text == "auto" ||
      describeInvalidValue("reshard_after_forward", text, moduleRuleKeys())
          .empty())
    return "";
  return "expected always, never, default, auto or a number of ranks, got '" +
         text + "'";
}

static std::string describeInvalidPrefetch(const std::string &text) {
  if (text == "auto")
    return "";
  int64_t number = 0;
  const char *end = text.data() + text.size();
  // Without leading zeros, which JSON does not have.
  if (std::from_chars(text.data(), end, number) !=
          std::from_chars_result{end, std::errc()} ||
      text != std::to_string(number))
    return "expected an integer or auto, got '" + text + "'";
  return describeOutOfRange(static_cast<double>(number), {0, 65536});
}

static std::string describeInvalidBytes(const std::string &text) {
  constexpr int64_t min = 1 << 20;
  const std::optional<int64_t> bytes = parseBytes(text);
  return text.empty() || (bytes && *bytes >= min)
             ? ""
             : "expected at least 1 MiB, such as 80GB or 75.5GiB, got '" +
                   text + "'";
}

static std::string_view helpOfMachine() {
  static const std::string help = [] {
    std::string text = "Machine to plan for: ";
    for (const format::Machine &machine : knownMachines())
      text += machine.name + ", ";
    return text + "or PATH.json; required by shardc plan and by options set to "
                  "auto";
  }();
  return help;
}

static std::vector<OptionEntry> shardingOptions() {
  return {
      {"--world-size",
       "",
       "Sharding",
       &Options::worldSize,
       "Number of ranks; required unless --shard or --config sets it",
       {1, 65536}},
      {"--shard",
       "mesh.shard",
       "Sharding",
       &Options::shard,
       "Ranks that shard each replica (default: --world-size divided by "
       "--replicate)",
       {1, 65536}},
      {"--replicate",
       "mesh.replicate",
       "Sharding",
       &Options::replicate,
       "Replicas of the model (HSDP); gradients are all-reduced across them",
       {1, 65536}},
      {"--wrap",
       "",
       "Sharding",
       &Options::wrap,
       "Modules to wrap as FSDP groups, comma-separated: blocks (repeated "
       "sibling modules), blocks:N (N consecutive blocks per group), regexes "
       "of module paths, >=N (modules with at least N parameters), A&B (both "
       "modules in one group), or auto (chooses how many blocks form a group, "
       "and whether to "
       "wrap modules outside of blocks, such as embeddings)",
       {},
       {},
       "blocks[:N]|REGEX|>=N|A&B,...|auto"},
      {"--reshard",
       "",
       "Sharding",
       &Options::reshard,
       "Reshard parameters after forward: always, never, default (all groups "
       "except the one used last in forward), N (keep them sharded across N "
       "ranks, like reshard_after_forward=N in fully_shard), or auto (the "
       "fastest choice per group within --memory-budget)",
       {},
       {},
       "always|never|default|N|auto",
       describeInvalidReshard},
      {"--prefetch",
       "prefetch",
       "Sharding",
       &Options::prefetch,
       "How many groups to all-gather ahead of the one in use",
       {},
       {},
       "N|auto",
       describeInvalidPrefetch},
      {"--recompute",
       "recompute",
       "Sharding",
       &Options::recompute,
       "Activation checkpointing of wrapped modules: full, selective (saves "
       "matmuls, convolutions and attention), alternate (like selective, but "
       "recomputes every second aten.mm), regexes of modules to checkpoint in "
       "full, or auto (the fastest choice per module within --memory-budget)",
       {},
       {},
       "none|full|selective|alternate|auto|PATTERN,..."},
      {"--module-rules",
       "",
       "Sharding",
       &Options::moduleRules,
       "Per-module overrides by regex of module path; keys: param_dtype, "
       "reduce_dtype, output_dtype, cast_forward_inputs, "
       "reshard_after_forward, recompute, gradient_divide_factor",
       {},
       {},
       "PATTERN:KEY=X,...;..."},
      {"--batch-norm-stats",
       "batch_norm_stats",
       "Sharding",
       &Options::batchNormStats,
       "BatchNorm statistics: local (of each rank's samples), sync (of all "
       "ranks' samples), or broadcast (rank 0's running statistics are "
       "copied to all ranks after each step) (default: sync for "
       "SyncBatchNorm, else local)",
       {},
       {"local", "sync", "broadcast"}},
      {"--buffer-rules",
       "",
       "Sharding",
       &Options::bufferRules,
       "Synchronization of buffers that forward writes, by regex of buffer "
       "name: none, broadcast, mean or sum",
       {},
       {},
       "PATTERN:sync=X,...;..."},
      {"--pipeline-stage", "pipeline_stage", "Sharding",
       &Options::pipelineStage,
       "The model is one stage of a pipeline whose schedule runs outside "
       "shardc; --reshard default then means never, as in torchtitan"}};
}

static std::vector<OptionEntry> planningOptions() {
  return {{"--machine",
           "machine",
           "Machine",
           &Options::machine,
           helpOfMachine(),
           {},
           {},
           "MACHINE"},
          {"--memory-budget",
           "memory_budget",
           "Machine",
           &Options::memoryBudget,
           "Memory limit per rank, such as 75GiB, for auto and to decide "
           "whether a plan fits (default: the capacity of --machine)",
           {},
           {},
           "BYTES",
           describeInvalidBytes}};
}

static std::vector<OptionEntry> precisionOptions() {
  return {
      {"--param-dtype",
       "",
       "Mixed precision",
       &Options::paramDtype,
       "Dtype of all-gathered parameters and compute; f16 needs --loss-scale "
       "(default: as exported)",
       {},
       {"f32", "bf16", "f16"}},
      {"--reduce-dtype",
       "",
       "Mixed precision",
       &Options::reduceDtype,
       "Dtype of gradient reduction (default: that of the sharded parameters)",
       {},
       {"f32", "bf16", "f16"}},
      {"--master-dtype",
       "optimizer.master_dtype",
       "Mixed precision",
       &Options::masterDtype,
       "Dtype of sharded parameters (default: as exported)",
       {},
       {"bf16"}},
      {"--state-dtype",
       "optimizer.state_dtype",
       "Mixed precision",
       &Options::stateDtype,
       "Dtype of optimizer states (default: the sharded parameters' dtype)",
       {},
       {"bf16"}},
      {"--rounding",
       "optimizer.rounding",
       "Mixed precision",
       &Options::rounding,
       "Rounding when the optimizer writes bf16 parameters",
       {},
       {"nearest", "stochastic"}}};
}

static std::vector<std::string_view> namesOfOptimizers() {
  std::vector<std::string_view> names;
  for (const fsdp::OptimizerKind &kind : fsdp::optimizerKinds)
    names.push_back(kind.name);
  return names;
}

static std::vector<OptionEntry> optimizerOptions() {
  return {
      {"--optimizer",
       "optimizer.name",
       "Optimizer",
       &Options::optimizer,
       "Optimizer, as in torch.optim; lion as in its paper; muon uses adamw "
       "for embeddings and parameters that are not matrices",
       {},
       namesOfOptimizers()},
      {"--weight-decay", "optimizer.weight_decay", "Optimizer",
       &Options::weightDecay, "Weight decay", factor},
      {"--beta1", "optimizer.beta1", "Optimizer", &Options::beta1,
       "Decay rate of the first moment", decay},
      {"--beta2", "optimizer.beta2", "Optimizer", &Options::beta2,
       "Decay rate of the second moment (default: 0.999; lion: 0.99)", decay},
      {"--epsilon", "optimizer.epsilon", "Optimizer", &Options::epsilon,
       "Term added to the denominator of adam, adamw and muon's adamw", factor},
      {"--amsgrad", "optimizer.amsgrad", "Optimizer", &Options::amsgrad,
       "Use the maximum of past second moments in adam, adamw and muon's "
       "adamw"},
      {"--momentum", "optimizer.momentum", "Optimizer", &Options::momentum,
       "Momentum of sgd and muon (default: 0; muon: 0.95)", factor},
      {"--dampening", "optimizer.dampening", "Optimizer", &Options::dampening,
       "Dampening of sgd's momentum", factor},
      {"--nesterov", "optimizer.nesterov", "Optimizer", &Options::nesterov,
       "Use Nesterov momentum in sgd"},
      {"--adjust-lr-fn",
       "optimizer.adjust_lr_fn",
       "Optimizer",
       &Options::adjustLearningRate,
       "Learning-rate adjustment of muon, as in torch.optim.Muon",
       {},
       {"original", "match_rms_adamw", "spectral_unclamped"}},
      {"--maximize", "optimizer.maximize", "Optimizer", &Options::maximize,
       "Maximize the objective"},
      {"--param-groups",
       "",
       "Optimizer",
       &Options::paramGroups,
       "Per-parameter overrides by regex of name; keys: frozen=true (no "
       "gradient), ignored=true (not sharded), weight_decay, lr_scale, "
       "optimizer",
       {},
       {},
       "PATTERN:KEY=X,...;..."}};
}

static std::vector<OptionEntry> gradientOptions() {
  return {
      {"--clip-grad-norm",
       "gradients.clip_norm",
       "Gradients",
       &Options::clipGradNorm,
       "Clip the global gradient norm; 0: no clipping",
       {0, 1e30}},
      {"--clip-grad-value",
       "gradients.clip_value",
       "Gradients",
       &Options::clipGradValue,
       "Clip each gradient element to this magnitude; 0: no clipping",
       {0, 1e30}},
      {"--loss-scale",
       "gradients.loss_scale",
       "Gradients",
       &Options::lossScale,
       "Loss scale for backward; dynamic: as torch.amp.GradScaler, which "
       "skips steps",
       {},
       {},
       "X|dynamic",
       describeInvalidLossScale},
      {"--skip-non-finite", "gradients.skip_non_finite", "Gradients",
       &Options::skipNonFinite, "Skip steps with non-finite gradients"},
      {"--gradient-sync",
       "gradients.sync",
       "Gradients",
       &Options::gradientSync,
       "When to reduce gradients: after each micro-batch, or once after the "
       "last one (gradients are accumulated unsharded until then)",
       {},
       {"each", "last"}},
      {"--gradient-dtype",
       "gradients.dtype",
       "Gradients",
       &Options::gradientDtype,
       "Dtype of accumulated gradients: f32 (f64 in f64 models), or the "
       "reduce dtype",
       {},
       {"f32", "reduce"}}};
}

std::optional<int64_t> parseBytes(const std::string &text) {
  double number = 0;
  const char *end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc())
    return std::nullopt;
  const std::string_view rest(unit, static_cast<size_t>(end - unit));
  constexpr std::array<std::pair<std::string_view, double>, 10> units = {
      {{"", 1},
       {"B", 1},
       {"KB", 1e3},
       {"MB", 1e6},
       {"GB", 1e9},
       {"TB", 1e12},
       {"KiB", 1024.0},
       {"MiB", 1024.0 * 1024},
       {"GiB", 1024.0 * 1024 * 1024},
       {"TiB", 1024.0 * 1024 * 1024 * 1024}}};
  for (const auto &[name, factor] : units)
    if (rest == name && number > 0 && number * factor < 1e18)
      return static_cast<int64_t>(number * factor);
  return std::nullopt;
}

std::span<const OptionEntry> optionTable() {
  static const std::vector<OptionEntry> table = [] {
    std::vector<OptionEntry> all;
    for (const auto &part :
         {shardingOptions(), planningOptions(), precisionOptions(),
          optimizerOptions(), gradientOptions()})
      all.insert(all.end(), part.begin(), part.end());
    all.push_back({"--evaluation", "", "Target", &Options::evaluation,
                   "Also compile the evaluation program, which shardrun "
                   "--eval-data runs"});
    return all;
  }();
  return table;
}

std::string describeOutOfRange(double value, const NumberRange &range) {
  if (value >= range.min &&
      (range.hasMax ? value <= range.max : value < range.max))
    return "";
  std::ostringstream message;
  message << std::setprecision(12);
  if (range.hasMax)
    message << "must be from " << range.min << " to " << range.max;
  else
    message << "must be at least " << range.min << " and less than "
            << range.max;
  message << ", got " << value;
  return message.str();
}

std::string shortest(double number) {
  std::array<char, 32> text;
  auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

static std::string textOf(const std::string &value) { return value; }
static std::string textOf(bool value) { return value ? "true" : "false"; }
static std::string textOf(int64_t value) { return std::to_string(value); }
static std::string textOf(double value) { return shortest(value); }

std::string valueOf(const OptionEntry &entry, const Options &options) {
  return std::visit([&](auto member) { return textOf(options.*member); },
                    entry.member);
}

bool hasValue(const OptionEntry &entry, const Options &options) {
  if (auto *text = std::get_if<std::string Options::*>(&entry.member))
    return !(options.**text).empty();
  if (auto *number = std::get_if<double Options::*>(&entry.member))
    return describeOutOfRange(options.**number, entry.range).empty();
  if (auto *count = std::get_if<int64_t Options::*>(&entry.member))
    return describeOutOfRange(static_cast<double>(options.**count), entry.range)
        .empty();
  return true;
}

std::vector<std::string> argumentsOf(const Options &options) {
  const Options usual;
  std::vector<std::string> words;
  for (const OptionEntry &entry : optionTable()) {
    std::string value = valueOf(entry, options);
    bool isRequired = entry.flag == "--world-size";
    if (value == valueOf(entry, usual) && !isRequired)
      continue;
    words.emplace_back(entry.flag);
    if (!std::holds_alternative<bool Options::*>(entry.member))
      words.push_back(value);
  }
  if (options.cpu != usual.cpu)
    words.insert(words.end(), {"--cpu", options.cpu});
  if (!options.fuse)
    words.emplace_back("--no-fuse");
  return words;
}

} // namespace shardc
