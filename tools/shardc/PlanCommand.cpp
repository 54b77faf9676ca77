//===- PlanCommand.cpp - shardc plan --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Whether a step fits a machine and how long it takes, before there is one.
//===----------------------------------------------------------------------===//

#include "compiler/AutoPlan.h"
#include "compiler/OptionTable.h"
#include "compiler/Plan/Alternatives.h"
#include "compiler/Plan/FullyShardText.h"
#include "compiler/Plan/PlanReport.h"
#include "compiler/Planning.h"
#include "passes/CostModel/Machines.h"
#include "tools/shardc/Commands.h"
#include "tools/shardc/PlanSweep.h"

#include <iostream>
#include <memory>
#include <regex>
#include <vector>

namespace shardc {

namespace {
struct PlanArguments {
  std::string input;
  int64_t microBatches = 1;
  bool json = false;
  bool alternatives = false;
  std::string why;
  std::string emit;
  std::string trace;
  std::vector<std::string> sweep;
  Options options;
};
} // namespace

static int fail(const Status &status) {
  std::cerr << render(status, "shardc");
  return exitCode(status.code());
}

static int runPlan(PlanArguments &arguments) {
  if (arguments.options.machine.empty())
    return fail(Status(ErrorCode::E0001, "plan: expected --machine")
                    .setHelp("such as --machine h100-sxm"));
  const StatusOr<format::Machine> machine =
      findMachine(arguments.options.machine, arguments.options.runtime);
  if (!machine.ok())
    return fail(machine.status());
  if (!arguments.why.empty() && !isAuto(arguments.options))
    return fail(Status(ErrorCode::E0001,
                       "--why: explains what auto chose, and nothing is auto")
                    .setHelp("say --reshard auto, --recompute auto or both"));
  const int64_t budget = budgetOf(arguments.options, *machine);
  const StatusOr<std::vector<SweepAxis>> axes = parseSweep(arguments.sweep);
  if (!axes.ok())
    return fail(axes.status());
  // Whether its sizes are open is said once.
  for (const SweepAxis &axis : *axes)
    if (axis.option == "micro-batch")
      bindMicroBatch(arguments.options.input,
                     std::max(1LL, std::atoll(axis.values.front().c_str())));
  PlanCompiler compiler;
  if (int result = compiler.read(arguments.input, arguments.options))
    return result;
  const StepPlanner plan =
      [&](const Options &options) -> std::optional<PlanReport> {
    const StatusOr<format::Machine> machine =
        findMachine(options.machine, options.runtime);
    if (!machine.ok())
      return std::nullopt;
    const int64_t budget = budgetOf(options, *machine);
    std::optional<PlannedStep> step;
    AutoPlan chosen;
    if (!isAuto(options))
      step = compiler.tryToCompile(options, *machine);
    else if (choosePlan(compiler,
                        {options, *machine, arguments.microBatches, budget, {}},
                        chosen) == 0)
      step = std::move(chosen.step);
    if (!step)
      return std::nullopt;
    PlanReport report = reportStep(*step, *machine, arguments.microBatches);
    report.memory.capacity = budget;
    return report;
  };
  if (!axes->empty()) {
    printSweep(*axes, arguments.options, plan);
    return 0;
  }
  PlannedStep step;
  std::optional<AutoPlan> chosen;
  if (isAuto(arguments.options)) {
    chosen.emplace();
    if (int result = choosePlan(compiler,
                                {arguments.options, *machine,
                                 arguments.microBatches, budget, arguments.why},
                                *chosen))
      return result;
    arguments.options = chosen->options;
    step = std::move(chosen->step);
  } else if (int result = compiler.compile(arguments.options, *machine, step)) {
    return result;
  }
  PlanReport report = reportStep(step, *machine, arguments.microBatches);
  report.memory.capacity = budget;
  if (chosen)
    report.choice = std::move(chosen->choice);
  if (!arguments.emit.empty() && !arguments.options.paramGroups.empty())
    std::cerr << "shardc: warning: --emit fully_shard leaves out what "
                 "--param-groups freezes or ignores\n";
  if (!arguments.emit.empty())
    std::cout << printFullyShard(
        report, step.units, std::atoll(arguments.options.prefetch.c_str()));
  else
    std::cout << (arguments.json ? printPlanJson(report) : printPlan(report));
  std::cout << std::flush;
  if (!arguments.trace.empty()) {
    const Status written = writePlanTrace(
        step.artifact, *machine, arguments.microBatches, arguments.trace);
    if (!written.ok())
      return fail(written);
  }
  if (arguments.alternatives)
    std::cout << printAlternatives(findAlternatives(arguments.options,
                                                    step.rootModules, plan))
              << std::flush;
  Status fits = checkFit(report);
  if (fits.ok())
    return 0;
  // Who reads JSON decides what to try.
  const auto change = arguments.json
                          ? std::nullopt
                          : findChangeThatFits(arguments.options, plan);
  if (change)
    fits.setHelp("it fits with " + *change);
  return fail(fits);
}

/// The numbers that runs have.
static std::string complainAboutMicroBatches(const std::string &text) {
  double value = 0;
  return CLI::detail::lexical_cast(text, value) ? complainAbout(value, {1, 1e6})
                                                : std::string();
}

static std::string complainAboutRegex(const std::string &text) {
  try {
    const std::regex pattern(text);
    return "";
  } catch (const std::regex_error &error) {
    return "'" + text + "' is no regular expression: " + error.what();
  }
}

void addPlanCommand(CLI::App &app, Run &run) {
  CLI::App *command = app.add_subcommand(
      "plan", "Forecast memory and time of a training step on a machine");
  auto arguments = std::make_shared<PlanArguments>();
  command
      ->add_option("MODEL", arguments->input,
                   "A .pt2 file of torch.export.save, with or without "
                   "weights, or a .mlir file of the import phase")
      ->required();
  command
      ->add_option("--micro-batches", arguments->microBatches,
                   "Micro-batches of each rank in a step")
      ->check(CLI::Validator(complainAboutMicroBatches, ""))
      ->type_name("M")
      ->capture_default_str()
      ->group("Plan");
  command
      ->add_flag("--json", arguments->json,
                 "Print all of the plan as JSON (docs/Planning.md)")
      ->group("Plan");
  command
      ->add_flag(
          "--alternatives", arguments->alternatives,
          "Plan the step with every policy of --reshard and --recompute, "
          "and with the root's modules wrapped, and print memory and "
          "time of each")
      ->excludes("--json")
      ->group("Plan");
  command
      ->add_option("--why", arguments->why,
                   "What each other decision about the groups of these names "
                   "would change, of a plan with auto")
      ->type_name("REGEX")
      ->check(CLI::Validator(complainAboutRegex, ""))
      ->group("Plan");
  command
      ->add_option(
          "--sweep", arguments->sweep,
          "Plan the step with every combination of these values, and "
          "print a line for each: world-size=8,64 param-dtype=bf16,f32")
      ->type_name("OPTION=VALUES")
      ->excludes("--why")
      ->excludes("--json")
      ->excludes("--alternatives")
      ->group("Plan");
  command
      ->add_option("--emit", arguments->emit,
                   "Print a Python function that applies the plan to the eager "
                   "model with PyTorch's fully_shard, in place of the plan")
      ->check(oneOf({"fully_shard"}))
      ->type_name("fully_shard")
      ->excludes("--json")
      ->excludes("--alternatives")
      ->excludes("--sweep")
      ->group("Plan");
  command
      ->add_option("--runtime", arguments->options.runtime,
                   "Whose step is forecast: shardrun's, or that of the eager "
                   "model under PyTorch's fully_shard, with one kernel an "
                   "operator and copies beside collectives")
      ->check(oneOf({"shardrun", "fsdp2"}))
      ->type_name("shardrun|fsdp2")
      ->capture_default_str()
      ->group("Plan");
  command
      ->add_option("--trace", arguments->trace,
                   "Write the forecast step for https://ui.perfetto.dev, with "
                   "the tracks of shardrun --profile")
      ->type_name("FILE.json")
      ->group("Plan");
  addInputOptions(*command, arguments->options.input);
  addCompileOptions(*command, arguments->options);
  command->footer(
      std::string("Compiles the step but for its machine code: neither weights "
                  "nor a GPU is needed.\n\nExample:\n"
                  "  shardc plan model.pt2 --world-size 64 --machine h100-sxm "
                  "--param-dtype bf16 \\\n    --optimizer adamw\n\n"
                  "Exit code 3: it does not fit. ") +
      exitCodes);
  command->callback([arguments, command, &run] {
    for (const char *flag : {"--target", "--format"})
      if (command->count(flag))
        throw ConfigurationError(
            Status(ErrorCode::E0001,
                   std::string(flag) + ": the machine says what a plan is for")
                .setHelp("leave " + std::string(flag) + " out"));
    run = [=] { return runPlan(*arguments); };
  });
}

} // namespace shardc
