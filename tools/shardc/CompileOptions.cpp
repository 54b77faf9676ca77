//===- CompileOptions.cpp - Options of every command that compiles --------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a training step is compiled for, in the groups that help pages show.
//===----------------------------------------------------------------------===//

#include "tools/command_line/CommandLine.h"
#include "tools/shardc/Commands.h"

#include "compiler/Configuration.h"
#include "compiler/OptionTable.h"
#include "passes/CostModel/Target.h"
#include "passes/Group/Rules.h"
#include "runtime/format/Artifact.h"

#include <algorithm>
#include <regex>
#include <sstream>

namespace shardc {

CLI::Validator oneOf(std::vector<std::string> words) {
  auto check = [words = std::move(words)](const std::string &text) {
    return std::find(words.begin(), words.end(), text) != words.end()
               ? std::string()
               : describeWrongWord(words, text);
  };
  return CLI::Validator(check, "");
}

Status checkIsModel(const std::string &path) {
  if (!path.ends_with(".shardc"))
    return Status();
  return Status(ErrorCode::E0002, "'" + path + "' is compiled already")
      .setHelp("shardrun trains it, shardc inspect shows it; other commands "
               "take the model");
}

CLI::Validator regularExpression() {
  auto check = [](const std::string &text) {
    try {
      const std::regex pattern(text);
      return std::string();
    } catch (const std::regex_error &error) {
      return "'" + text + "' is not a regular expression: " + error.what();
    }
  };
  return CLI::Validator(check, "");
}

//===----------------------------------------------------------------------===//
// The option table
//===----------------------------------------------------------------------===//

static std::string join(const std::vector<std::string_view> &words) {
  std::string text;
  for (std::string_view word : words)
    text.append(text.empty() ? "" : "|").append(word);
  return text;
}

CLI::Validator inRange(NumberRange range) {
  auto check = [range](const std::string &text) {
    double value = 0;
    return CLI::detail::lexical_cast(text, value)
               ? describeOutOfRange(value, range)
               : std::string();
  };
  return CLI::Validator(check, "");
}

static CLI::Option *addEntry(CLI::App &command, const OptionEntry &entry,
                             bool &value) {
  return command.add_flag(std::string(entry.flag), value,
                          std::string(entry.help));
}

template <typename Number>
static CLI::Option *addEntry(CLI::App &command, const OptionEntry &entry,
                             Number &value) {
  return command
      .add_option(std::string(entry.flag), value, std::string(entry.help))
      ->check(inRange(entry.range))
      ->type_name(std::is_integral_v<Number> ? "N" : "X");
}

static CLI::Option *addEntry(CLI::App &command, const OptionEntry &entry,
                             std::string &value) {
  CLI::Option *option = command.add_option(std::string(entry.flag), value,
                                           std::string(entry.help));
  if (!entry.words.empty())
    option->check(oneOf({entry.words.begin(), entry.words.end()}))
        ->transform(CLI::Validator(
            [&entry](std::string &text) {
              text = meantWord(text, entry.words);
              return std::string();
            },
            ""));
  option->type_name(entry.words.empty() ? std::string(entry.form)
                                        : join(entry.words));
  if (entry.complain)
    option->check(CLI::Validator(entry.complain, ""));
  return option;
}

static void addTableOptions(CLI::App &command, Options &options) {
  for (const OptionEntry &entry : optionTable()) {
    CLI::Option *option = std::visit(
        [&](auto member) { return addEntry(command, entry, options.*member); },
        entry.member);
    option->group(std::string(entry.group));
    if (hasValue(entry, options) &&
        !std::holds_alternative<bool Options::*>(entry.member))
      option->capture_default_str();
  }
}

//===----------------------------------------------------------------------===//
// Configurations
//===----------------------------------------------------------------------===//

/// Takes what rules say of `key` for all modules out: the command line says
/// another value for all of them.
static void overrideRule(std::string &rules, const std::string &key) {
  ParsedRules all = parseRules(rules, moduleRuleKeys());
  if (!all.problem.empty())
    return; // Which is said when they are applied.
  std::vector<Rule> parsed = std::move(all.rules);
  for (Rule &rule : parsed)
    if (rule.pattern == ".*")
      rule.settings.erase(key);
  std::erase_if(parsed, [](const Rule &rule) { return rule.settings.empty(); });
  rules = printRules(parsed);
}

/// The file is read where its option is met; other options' values come after
/// all are, so that the command line wins.
void addConfigOption(CLI::App &command, Options &options) {
  command
      .add_option_function<std::string>(
          "--config",
          [&options](const std::string &path) {
            Status status = readConfiguration(path, options);
            if (!status.ok())
              throw ConfigurationError(status);
          },
          "Read options from a file (docs/Configuration.md); the command line "
          "overrides it")
      ->type_name("FILE.json")
      ->group("Configuration")
      ->trigger_on_parse();
}

/// The numbers of ranks, from the file or the command line, whose word on all
/// ranks holds against the file's on those of a replica.
static void resolveMesh(const CLI::App &command, Options &options) {
  if (options.worldSize == 0 && options.shard == 0)
    throw CLI::RequiredError("--world-size");
  bool isShardGiven = options.worldSize == 0 || command.count("--shard") != 0;
  auto text = [](int64_t number) { return std::to_string(number); };
  const int64_t product = options.shard * options.replicate;
  if (product > format::maxRanks)
    throw ConfigurationError(Status(
        ErrorCode::E0201, text(options.replicate) + " replicas of " +
                              text(options.shard) + " ranks are more than " +
                              text(format::maxRanks) + " ranks"));
  if (options.worldSize == 0)
    options.worldSize = product;
  if (isShardGiven && product != options.worldSize)
    throw ConfigurationError(Status(
        ErrorCode::E0201,
        "--shard " + text(options.shard) + " with " + text(options.replicate) +
            (options.replicate == 1 ? " replica makes " : " replicas makes ") +
            text(product) + " ranks, but --world-size is " +
            text(options.worldSize) + "; leave out --shard or --world-size"));
  options.shard = 0;
}

/// Needs a number of ranks, from the file or the command line.
static void addConfiguration(CLI::App &command, Options &options) {
  addConfigOption(command, options);
  options.worldSize = 0;
  command.get_option("--world-size")->default_str("");
  command.get_option("--shard")->default_str("");
  command.parse_complete_callback([&command, &options] {
    // `plan diff` compiles nothing.
    if (!command.get_subcommands().empty())
      return;
    resolveMesh(command, options);
    for (auto [flag, key] : {std::pair("--param-dtype", "param_dtype"),
                             {"--reduce-dtype", "reduce_dtype"},
                             {"--reshard", "reshard_after_forward"}})
      if (command.count(flag))
        overrideRule(options.moduleRules, key);
  });
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

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
  std::string expected = "expected cpu, or cuda: and one or more of";
  for (const std::string &chip : known)
    expected += (chip == known.front() ? " " : ", ") + chip;
  expected += " (comma-separated), got '" + text + "'";
  options.target = text;
  options.chips.clear();
  if (text == format::cpuTarget)
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
  options.target = format::cudaTarget;
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
          "Devices to compile for: cpu, or CUDA chips such as "
          "cuda:sm_90,sm_100; the chip 'emulated' is for shardrun --device "
          "emulated")
      ->type_name("cpu|cuda:CHIP,...")
      ->group("Target")
      ->default_str(options.target);
  command
      .add_option("--format", options.gpuFormat,
                  "GPU code: cubin (needs ptxas of the CUDA toolkit) or ptx "
                  "(compiled by the driver)")
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
                  "x86-64 level that kernels may use; native: this machine's; "
                  "only x86-64-v4 has AVX-512")
      ->check(oneOf(levels))
      ->transform(CLI::Validator(resolveNative, ""))
      ->type_name(choice)
      ->group("Target")
      ->capture_default_str();
  command
      .add_flag_callback(
          "--no-fuse", [&options] { options.fuse = false; },
          "Do not fuse operators: one kernel per operator")
      ->group("Target");
}

void addCompileOptions(CLI::App &command, Options &options) {
  addTableOptions(command, options);
  addConfiguration(command, options);
  addTargetOptions(command, options);
}

} // namespace shardc
