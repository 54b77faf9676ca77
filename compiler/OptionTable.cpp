//===- OptionTable.cpp - The options of a compilation ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Ranges and names are those of torch.optim and torch.amp.
//===----------------------------------------------------------------------===//

#include "compiler/OptionTable.h"

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

static std::string complainAboutLossScale(const std::string &text) {
  if (text == "dynamic")
    return "";
  double value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return "expected a number or dynamic, found '" + text + "'";
  return complainAbout(value, {1e-30, 1e30});
}

static std::string complainAboutReshard(const std::string &text) {
  if (text == "auto" ||
      complainAbout("reshard_after_forward", text, moduleRuleKeys()).empty())
    return "";
  return "expected always, never, default, auto or a number of ranks, got '" +
         text + "'";
}

static std::string complainAboutPrefetch(const std::string &text) {
  if (text == "auto")
    return "";
  int64_t number = 0;
  const char *end = text.data() + text.size();
  if (std::from_chars(text.data(), end, number) !=
      std::from_chars_result{end, std::errc()})
    return "expected a number or auto, found '" + text + "'";
  return complainAbout(static_cast<double>(number), {0, 65536});
}

static std::string complainAboutBytes(const std::string &text) {
  return text.empty() || parseBytes(text)
             ? ""
             : "expected bytes such as 80GB or 75.5GiB, found '" + text + "'";
}

static std::string_view helpOfMachine() {
  static const std::string help = [] {
    std::string text = "What the ranks run on, for plans and auto: ";
    for (const format::Machine &machine : knownMachines())
      text += machine.name + ", ";
    return text + "or a machine file, PATH.json";
  }();
  return help;
}

static std::vector<OptionEntry> shardingOptions() {
  return {
      {"--world-size",
       "",
       "Sharding",
       &Options::worldSize,
       "All ranks; needed unless --shard or --config say it",
       {1, 65536}},
      {"--shard",
       "mesh.shard",
       "Sharding",
       &Options::shard,
       "Ranks that the parameters are divided over (default: all of a replica)",
       {1, 65536}},
      {"--replicate",
       "mesh.replicate",
       "Sharding",
       &Options::replicate,
       "Replicas of the model (HSDP), which sum their gradients once a step",
       {1, 65536}},
      {"--wrap",
       "",
       "Sharding",
       &Options::wrap,
       "Modules that become groups: 'blocks' (repeated siblings), 'blocks:N' "
       "(N consecutive ones per group), module path regexes, '>=N' (modules of "
       "N elements), 'A&B' (both in one group); auto: chooses how many blocks "
       "per group, and whether the root's modules are wrapped too",
       {},
       {},
       "blocks[:N]|REGEX|>=N|A&B,...|auto"},
      {"--module-rules",
       "",
       "Sharding",
       &Options::moduleRules,
       "What groups have of their own, by patterns of module paths: "
       "param_dtype, reduce_dtype, output_dtype, cast_forward_inputs, "
       "reshard_after_forward, recompute, gradient_divide_factor",
       {},
       {},
       "PATTERN:KEY=X,...;..."},
      {"--reshard",
       "",
       "Sharding",
       &Options::reshard,
       "When groups are freed after forward; N: kept among N ranks; auto: what "
       "makes the step fastest within --memory-budget, group by group",
       {},
       {},
       "always|never|default|N|auto",
       complainAboutReshard},
      {"--pipeline-stage", "pipeline_stage", "Sharding",
       &Options::pipelineStage,
       "The model is one stage of a pipeline: --reshard default frees no "
       "group"},
      {"--recompute",
       "recompute",
       "Sharding",
       &Options::recompute,
       "What backward computes again of activations: of wrapped modules all "
       "(full), all but products and attention (selective), or that and every "
       "second product without bias (alternate), or of modules that are named; "
       "auto: what "
       "makes the step fastest, module by module",
       {},
       {},
       "none|full|selective|alternate|auto|PATTERN,..."},
      {"--batch-norm-stats",
       "batch_norm_stats",
       "Sharding",
       &Options::batchNormStats,
       "Whose samples batch norms are of: each rank's (local) or all ranks' "
       "(sync); default: as the model says, sync for SyncBatchNorm; broadcast: "
       "so too, with the first rank's running statistics",
       {},
       {"local", "sync", "broadcast"}},
      {"--buffer-rules",
       "",
       "Sharding",
       &Options::bufferRules,
       "What ranks make of other buffers that forward writes, by patterns of "
       "names: sync, which is none, broadcast, mean or sum",
       {},
       {},
       "PATTERN:sync=X,...;..."},
      {"--prefetch",
       "prefetch",
       "Sharding",
       &Options::prefetch,
       "Gathers that run ahead of the one in use",
       {},
       {},
       "N|auto",
       complainAboutPrefetch}};
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
           "What a rank may take for auto, such as 75GiB (default: what the "
           "machine "
           "has)",
           {},
           {},
           "BYTES",
           complainAboutBytes}};
}

static std::vector<OptionEntry> precisionOptions() {
  return {
      {"--param-dtype",
       "",
       "Precision",
       &Options::paramDtype,
       "The dtype that parameters are gathered and used in (default: the "
       "exported one); f16 needs --loss-scale",
       {},
       {"f32", "bf16", "f16"}},
      {"--reduce-dtype",
       "",
       "Precision",
       &Options::reduceDtype,
       "The dtype that gradients are reduced in (default: the exported one)",
       {},
       {"f32", "bf16", "f16"}},
      {"--master-dtype",
       "optimizer.master_dtype",
       "Precision",
       &Options::masterDtype,
       "The dtype that parameters are kept in between steps (default: the "
       "exported one)",
       {},
       {"bf16"}},
      {"--state-dtype",
       "optimizer.state_dtype",
       "Precision",
       &Options::stateDtype,
       "The dtype that moments and momentum are kept in (default: the "
       "parameters')",
       {},
       {"bf16"}},
      {"--rounding",
       "optimizer.rounding",
       "Precision",
       &Options::rounding,
       "How updates of bf16 parameters are rounded",
       {},
       {"nearest", "stochastic"}}};
}

static std::vector<OptionEntry> optimizerOptions() {
  return {
      {"--optimizer",
       "optimizer.name",
       "Optimizer",
       &Options::optimizer,
       "As in torch.optim; lion as its authors have it; muon with adamw for "
       "what is no matrix, or an embedding",
       {},
       {"sgd", "adam", "adamw", "lion", "muon"}},
      {"--momentum", "optimizer.momentum", "Optimizer", &Options::momentum,
       "Momentum of sgd and muon (default: 0, muon's 0.95)", factor},
      {"--dampening", "optimizer.dampening", "Optimizer", &Options::dampening,
       "What sgd's momentum takes off gradients", factor},
      {"--nesterov", "optimizer.nesterov", "Optimizer", &Options::nesterov,
       "Nesterov's momentum of sgd"},
      {"--weight-decay", "optimizer.weight_decay", "Optimizer",
       &Options::weightDecay, "Weight decay", factor},
      {"--beta1", "optimizer.beta1", "Optimizer", &Options::beta1,
       "Decay of the first moment", decay},
      {"--beta2", "optimizer.beta2", "Optimizer", &Options::beta2,
       "Decay of the second moment (default: 0.999, lion's 0.99)", decay},
      {"--epsilon", "optimizer.epsilon", "Optimizer", &Options::epsilon,
       "Added to adam's and adamw's denominator", factor},
      {"--amsgrad", "optimizer.amsgrad", "Optimizer", &Options::amsgrad,
       "The greatest second moment in adam and adamw"},
      {"--adjust-lr-fn",
       "optimizer.adjust_lr_fn",
       "Optimizer",
       &Options::adjustLearningRate,
       "What muon's learning rate is multiplied by, as torch.optim.Muon's",
       {},
       {"original", "match_rms_adamw", "spectral_unclamped"}},
      {"--maximize", "optimizer.maximize", "Optimizer", &Options::maximize,
       "Let the loss grow"},
      {"--param-groups",
       "",
       "Optimizer",
       &Options::paramGroups,
       "Parameters, by patterns of names, that are frozen or ignored, or "
       "have a weight_decay, lr_scale or optimizer of their own",
       {},
       {},
       "PATTERN:KEY=X,...;..."}};
}

static std::vector<OptionEntry> gradientOptions() {
  return {{"--gradient-sync",
           "gradients.sync",
           "Optimizer",
           &Options::gradientSync,
           "The micro-batches of a step in which gradients are reduced; last: "
           "whole ones are kept until then",
           {},
           {"each", "last"}},
          {"--gradient-dtype",
           "gradients.dtype",
           "Optimizer",
           &Options::gradientDtype,
           "What sums of gradients are kept in: f32, or the dtype that they "
           "are reduced in",
           {},
           {"f32", "reduce"}},
          {"--clip-grad-norm",
           "gradients.clip_norm",
           "Optimizer",
           &Options::clipGradNorm,
           "Largest norm of all gradients; 0: any",
           {0, 1e30}},
          {"--clip-grad-value",
           "gradients.clip_value",
           "Optimizer",
           &Options::clipGradValue,
           "Largest magnitude of an element of a gradient; 0: any",
           {0, 1e30}},
          {"--loss-scale",
           "gradients.loss_scale",
           "Optimizer",
           &Options::lossScale,
           "What the loss is multiplied by for backward; dynamic: as "
           "torch.amp.GradScaler does, skipping steps",
           {},
           {},
           "X|dynamic",
           complainAboutLossScale},
          {"--skip-non-finite", "gradients.skip_non_finite", "Optimizer",
           &Options::skipNonFinite,
           "Skip steps whose gradients are not all finite"}};
}

std::optional<int64_t> parseBytes(const std::string &text) {
  double number = 0;
  const char *end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc())
    return std::nullopt;
  const std::string_view rest(unit, static_cast<size_t>(end - unit));
  constexpr std::array<std::pair<std::string_view, double>, 8> units = {
      {{"", 1},
       {"B", 1},
       {"MB", 1e6},
       {"GB", 1e9},
       {"TB", 1e12},
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
                   "Add the model's evaluation, for shardrun --eval-data"});
    return all;
  }();
  return table;
}

std::string complainAbout(double value, const NumberRange &range) {
  if (value >= range.least &&
      (range.hasMost ? value <= range.most : value < range.most))
    return "";
  std::ostringstream message;
  message << std::setprecision(12) << "must be from " << range.least
          << (range.hasMost ? " to " : " to below ") << range.most << ", found "
          << value;
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

std::string meantWord(const std::string &text,
                      std::span<const std::string_view> words) {
  auto lower = [](std::string word) {
    for (char &letter : word)
      letter = static_cast<char>(std::tolower(letter));
    return word;
  };
  std::string wanted = lower(text);
  if (wanted.starts_with("torch."))
    wanted = wanted.substr(6);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7>
      dtypes = {{{"bfloat16", "bf16"},
                 {"float16", "f16"},
                 {"half", "f16"},
                 {"float32", "f32"},
                 {"float", "f32"},
                 {"float64", "f64"},
                 {"double", "f64"}}};
  for (auto [name, word] : dtypes)
    if (wanted == name)
      wanted = word;
  for (std::string_view word : words)
    if (lower(std::string(word)) == wanted)
      return std::string(word);
  return text;
}

bool hasValue(const OptionEntry &entry, const Options &options) {
  if (auto *text = std::get_if<std::string Options::*>(&entry.member))
    return !(options.**text).empty();
  if (auto *number = std::get_if<double Options::*>(&entry.member))
    return complainAbout(options.**number, entry.range).empty();
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
