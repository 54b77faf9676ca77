//===- PlanCommand.cpp - shardc plan --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Whether a step fits a machine and how long it takes, before there is one.
//===----------------------------------------------------------------------===//

#include "compiler/AutoPlan.h"
#include "compiler/OptionTable.h"
#include "compiler/Plan/Alternatives.h"
#include "compiler/Plan/FullyShardText.h"
#include "compiler/Plan/PlanDiff.h"
#include "compiler/Plan/PlanPage.h"
#include "compiler/Plan/PlanReport.h"
#include "compiler/Plan/TorchtitanText.h"
#include "compiler/Planning.h"
#include "passes/CostModel/Machines.h"
#include "runtime/format/OutputFile.h"
#include "runtime/format/Quantities.h"
#include "runtime/format/Terminal.h"
#include "tools/shardc/Commands.h"
#include "tools/shardc/PlanSweep.h"

#include <iostream>
#include <memory>
#include <regex>
#include <vector>

namespace shardc {

/// The page of a plan, in which @DATA@ stands for its data (EmbedPage.cmake).
extern const char *const planPage;

namespace {
struct PlanArguments {
  std::string input;
  int64_t microBatches = 1;
  bool json = false;
  bool alternatives = false;
  std::string why;
  std::string emit;
  std::string trace;
  std::string html;
  std::vector<std::string> sweep;
  Options options;
};
} // namespace

static int fail(const Status &status) {
  std::cerr << render(status, "shardc");
  return exitCode(status.code());
}

/// What is wrong with the arguments together.
static Status checkArguments(const PlanArguments &arguments) {
  if (Status status = checkIsModel(arguments.input); !status.ok())
    return status;
  if (Status status = format::checkDistinct(
          {{"MODEL", arguments.input}},
          {{"--trace", arguments.trace}, {"--html", arguments.html}});
      !status.ok())
    return status;
  if (arguments.options.machine.empty())
    return Status(ErrorCode::E0002, "--machine is required")
        .setHelp("such as --machine h100-sxm");
  if (!arguments.why.empty() && !isAuto(arguments.options))
    return Status(ErrorCode::E0001,
                  "--why explains choices of auto, and no option is auto")
        .setHelp("such as --reshard auto --recompute auto");
  return Status();
}

/// The options with these words in place of `auto`.
static Options withoutAuto(Options options, const std::string &reshard,
                           const std::string &recompute) {
  const std::string one = "1", blocks = "blocks";
  for (const auto &[word, other] : {std::pair(&options.wrap, &blocks),
                                    {&options.reshard, &reshard},
                                    {&options.recompute, &recompute},
                                    {&options.prefetch, &one}})
    if (*word == "auto")
      *word = *other;
  return options;
}

namespace {
/// Plans steps of one model.
class Planner {
public:
  explicit Planner(PlanArguments &arguments) : arguments(arguments) {}

  /// Prints what is wrong and returns its exit code.
  int run();

private:
  PlanArguments &arguments;
  PlanCompiler compiler;
  std::vector<SweepAxis> axes;
  std::vector<SweepCell> cells;
  /// How the sweep ended.
  Status swept;
  std::vector<Alternative> alternatives;

  StatusOr<PlannedStep> planStep(const Options &options,
                                 const format::Machine &machine,
                                 int64_t budget);
  StatusOr<PlanReport> tryPlan(const Options &options);
  int plan(const format::Machine &machine, PlannedStep &step,
           PlanReport &report);
  void print(const PlannedStep &step, const PlanReport &report);
  Status writeFiles(const PlannedStep &step, const PlanReport &report,
                    const format::Machine &machine) const;
  void suggestChange(const Options &options, Status &status);
  int checkPlan(const PlanReport &report);

  StepPlanner planner() {
    return [this](const Options &options) { return tryPlan(options); };
  }
};
} // namespace

/// The step that is planned for options, `auto` ones or others.
StatusOr<PlannedStep> Planner::planStep(const Options &options,
                                        const format::Machine &machine,
                                        int64_t budget) {
  if (!isAuto(options))
    return compiler.tryToCompile(options, machine);
  AutoPlan chosen;
  if (choosePlan(compiler,
                 {options, machine, arguments.microBatches, budget, {}},
                 chosen) == 0)
    return std::move(chosen.step);
  if (!chosen.failure.ok())
    return chosen.failure;
  return compiler.tryToCompile(withoutAuto(options, "default", "none"),
                               machine);
}

/// The plan of other options.
StatusOr<PlanReport> Planner::tryPlan(const Options &options) {
  const StatusOr<format::Machine> machine =
      findMachine(options.machine, options.runtime);
  if (!machine.ok())
    return machine.status();
  const int64_t budget = budgetOf(options, *machine);
  StatusOr<PlannedStep> step = planStep(options, *machine, budget);
  if (!step.ok())
    return step.status();
  PlanReport report = reportStep(*step, *machine, arguments.microBatches);
  report.memory.capacity = budget;
  return report;
}

/// The plan of the options; these are without `auto` afterwards.
int Planner::plan(const format::Machine &machine, PlannedStep &step,
                  PlanReport &report) {
  const int64_t budget = budgetOf(arguments.options, machine);
  if (budget > static_cast<int64_t>(machine.memory.bytes.value))
    std::cerr << "shardc: " << colored(MessageKind::Warning, "warning:")
              << " --memory-budget " << printBytes(budget) << " is more than "
              << machine.name << " has: "
              << printBytes(static_cast<int64_t>(machine.memory.bytes.value))
              << "\n";
  std::optional<PlanChoice> choice;
  if (isAuto(arguments.options)) {
    AutoPlan chosen;
    if (int result = choosePlan(compiler,
                                {arguments.options, machine,
                                 arguments.microBatches, budget, arguments.why},
                                chosen)) {
      if (!chosen.failure.ok() && chosen.failure.code() == ErrorCode::E0802)
        suggestChange(withoutAuto(arguments.options, "always", "full"),
                      chosen.failure);
      return chosen.failure.ok() ? result : fail(chosen.failure);
    }
    arguments.options = chosen.options;
    step = std::move(chosen.step);
    choice = std::move(chosen.choice);
  } else if (int result = compiler.compile(arguments.options, machine, step)) {
    return result;
  }
  report = reportStep(step, machine, arguments.microBatches);
  report.memory.capacity = budget;
  report.choice = std::move(choice);
  return 0;
}

void Planner::print(const PlannedStep &step, const PlanReport &report) {
  const Options &options = arguments.options;
  for (const auto &[isSet, what] :
       {std::pair(!options.paramGroups.empty(),
                  "what --param-groups freezes or ignores"),
        {!options.masterDtype.empty(),
         "--master-dtype: create the model in that dtype"},
        {options.rounding == "stochastic",
         "--rounding: use an optimizer that rounds stochastically, as torchao "
         "has"}})
    if (!arguments.emit.empty() && isSet)
      std::cerr << "shardc: " << colored(MessageKind::Warning, "warning:")
                << " --emit " << arguments.emit << " leaves out " << what
                << "\n";
  if (arguments.emit == "torchtitan")
    std::cout << printTorchtitan(report);
  else if (!arguments.emit.empty())
    std::cout << printFullyShard(
        report, step.units, step.recomputed,
        std::atoll(arguments.options.prefetch.c_str()));
  else
    std::cout << (arguments.json ? printPlanJson(report) : printPlan(report));
  if (arguments.alternatives) {
    alternatives =
        findAlternatives(arguments.options, step.rootModules, planner());
    std::cout << printAlternatives(alternatives);
  }
  std::cout << std::flush;
}

Status Planner::writeFiles(const PlannedStep &step, const PlanReport &report,
                           const format::Machine &machine) const {
  if (!arguments.trace.empty())
    if (Status written = writePlanTrace(
            step.artifact, machine, arguments.microBatches, arguments.trace);
        !written.ok())
      return written;
  if (arguments.html.empty())
    return Status();
  std::string page = planPage;
  const std::string place = "@DATA@";
  page.replace(page.find(place), place.size(),
               printPlanPageData({report, step.artifact, machine, alternatives,
                                  axes, cells}));
  format::OutputFile file(arguments.html);
  file.write(page);
  return file.commit();
}

/// Says what fits where `options` do not.
void Planner::suggestChange(const Options &options, Status &status) {
  // Who reads JSON decides what to try.
  if (arguments.json)
    return;
  if (const auto change = findChangeThatFits(options, planner()))
    status.setHelp("it fits with " + *change);
}

/// Whether it fits, and what does if it does not.
int Planner::checkPlan(const PlanReport &report) {
  Status fits = checkFit(report);
  if (fits.ok())
    return 0;
  suggestChange(arguments.options, fits);
  return fail(fits);
}

int Planner::run() {
  StatusOr<std::vector<SweepAxis>> sweep = parseSweep(arguments.sweep);
  if (!sweep.ok())
    return fail(sweep.status());
  axes = std::move(*sweep);
  // Whether the model's sizes are open is said once.
  for (const SweepAxis &axis : axes)
    if (axis.option == "micro-batch")
      bindMicroBatch(arguments.options.input,
                     std::max(1LL, std::atoll(axis.values.front().c_str())));
  if (int result = compiler.read(arguments.input, arguments.options))
    return result;
  if (!axes.empty()) {
    SweepResult result = runSweep(axes, arguments.options, planner());
    swept = result.status;
    if (arguments.html.empty() || !result.isPlanned())
      return swept.ok() ? 0 : fail(swept);
    cells = std::move(result.cells);
    arguments.options = std::move(result.best);
  }
  const StatusOr<format::Machine> machine =
      findMachine(arguments.options.machine, arguments.options.runtime);
  if (!machine.ok())
    return fail(machine.status());
  PlannedStep step;
  PlanReport report;
  if (int result = plan(*machine, step, report))
    return result;
  if (axes.empty())
    print(step, report);
  if (const Status written = writeFiles(step, report, *machine); !written.ok())
    return fail(written);
  if (axes.empty())
    return checkPlan(report);
  return swept.ok() ? 0 : fail(swept);
}

/// `namesTarget`: whether --target is among the arguments, as in a command line
/// of shardc compile.
static int runPlan(PlanArguments &arguments, bool namesTarget) {
  if (const Status status = checkArguments(arguments); !status.ok())
    return fail(status);
  const StatusOr<format::Machine> machine =
      findMachine(arguments.options.machine, arguments.options.runtime);
  if (!machine.ok())
    return fail(machine.status());
  if (namesTarget && machine->target != arguments.options.target)
    return fail(Status(ErrorCode::E0001,
                       "--target " + arguments.options.target + ": machine " +
                           machine->name + " has target " + machine->target)
                    .setHelp("a plan needs no --target"));
  if (machine->isGpu() &&
      !machine->runtimes.contains(arguments.options.runtime))
    std::cerr << "shardc: remark: " << machine->name
              << " has no measured steps of " << arguments.options.runtime
              << " ('runtimes' in the machine file): the forecast adds up "
                 "kernels measured in isolation, and real steps take longer\n";
  return Planner(arguments).run();
}

/// The numbers that runs have.
static std::string describeInvalidMicroBatches(const std::string &text) {
  double value = 0;
  return CLI::detail::lexical_cast(text, value)
             ? describeOutOfRange(value, {1, 1e6})
             : std::string();
}

static std::string describeInvalidFileName(const std::string &text) {
  return text.empty() ? "expected the name of a file" : "";
}

/// Ranks that only a sweep gives are those of its first cell until then.
static void takeRanks(const std::string &word, Options &options) {
  const std::string axis = "world-size=";
  const int64_t ranks =
      word.starts_with(axis) ? std::atoll(word.c_str() + axis.size()) : 0;
  if (options.worldSize == 0 && options.shard == 0 && ranks > 0)
    options.worldSize = ranks;
}

static int runDiff(const std::string &before, const std::string &after) {
  const StatusOr<std::string> text = diffPlans(before, after);
  if (!text.ok())
    return fail(text.status());
  std::cout << *text << std::flush;
  return 0;
}

/// `shardc plan diff`.
static CLI::App *addDiffCommand(CLI::App &plan, Run &run) {
  CLI::App *command = plan.add_subcommand(
      "diff", "Compare two plans: options, memory, time and groups");
  auto files = std::make_shared<std::pair<std::string, std::string>>();
  command
      ->add_option("BEFORE.json", files->first,
                   "A plan written by shardc plan --json")
      ->required();
  command
      ->add_option("AFTER.json", files->second, "The plan to compare it with")
      ->required();
  command->footer(std::string("Example:\n  shardc plan diff before.json "
                              "after.json\n\n") +
                  exitCodes);
  command->callback([files, &run] {
    run = [=] { return runDiff(files->first, files->second); };
  });
  return command;
}

void addRuntimeOption(CLI::App &command, Options &options) {
  command
      .add_option(
          "--runtime", options.runtime,
          "Runtime to forecast: shardrun, or eager PyTorch with fully_shard")
      ->check(oneOf({"shardrun", "fsdp2"}))
      ->type_name("shardrun|fsdp2")
      ->capture_default_str()
      ->group("Plan");
}

void addPlanCommand(CLI::App &app, Run &run) {
  CLI::App *command = app.add_subcommand(
      "plan", "Forecast memory and time of a training step on a machine");
  auto arguments = std::make_shared<PlanArguments>();
  command->add_option("MODEL", arguments->input,
                      "An exported model (.pt2), with or without weights, or "
                      "IR of the import phase (.mlir)");
  const CLI::App *diff = addDiffCommand(*command, run);
  command
      ->add_option("--micro-batches", arguments->microBatches,
                   "Micro-batches per rank per step (gradient accumulation)")
      ->check(CLI::Validator(describeInvalidMicroBatches, ""))
      ->type_name("M")
      ->capture_default_str()
      ->group("Plan");
  command
      ->add_flag("--json", arguments->json,
                 "Print the plan as JSON (docs/Planning.md)")
      ->group("Plan");
  command
      ->add_flag(
          "--alternatives", arguments->alternatives,
          "Also plan every combination of --reshard and --recompute, and one "
          "plan that also wraps the modules whose parameters are in the root "
          "group; print memory and time of each")
      ->excludes("--json")
      ->group("Plan");
  command
      ->add_option("--why", arguments->why,
                   "With auto: print how every other choice for the matching "
                   "groups would change the plan")
      ->type_name("REGEX")
      ->check(regularExpression())
      ->group("Plan");
  command
      ->add_option("--sweep", arguments->sweep,
                   "Plan every combination of option values, such as "
                   "world-size=8,64 param-dtype=bf16,f32")
      ->type_name("OPTION=VALUES")
      ->each([arguments](const std::string &word) {
        takeRanks(word, arguments->options);
      })
      ->excludes("--why")
      ->excludes("--json")
      ->excludes("--alternatives")
      ->group("Plan");
  command
      ->add_option("--emit", arguments->emit,
                   "Print the plan for PyTorch: a Python function that applies "
                   "it with fully_shard, or one that configures torchtitan")
      ->check(oneOf({"fully_shard", "torchtitan"}))
      ->type_name("fully_shard|torchtitan")
      ->excludes("--json")
      ->excludes("--alternatives")
      ->excludes("--sweep")
      ->group("Plan");
  addRuntimeOption(*command, arguments->options);
  command
      ->add_option("--trace", arguments->trace,
                   "Write the forecast timeline for https://ui.perfetto.dev")
      ->type_name("FILE.json")
      ->check(CLI::Validator(describeInvalidFileName, ""))
      ->group("Plan");
  command
      ->add_option("--html", arguments->html,
                   "Write the plan as a self-contained page, including the "
                   "results of --alternatives or --sweep")
      ->type_name("FILE.html")
      ->check(CLI::Validator(describeInvalidFileName, ""))
      ->group("Plan");
  addInputOptions(*command, arguments->options.input);
  addCompileOptions(*command, arguments->options);
  command->footer(
      std::string("Needs neither weights nor a GPU.\n\nExamples:\n"
                  "  shardc plan model.pt2 --world-size 64 --machine h100-sxm "
                  "--param-dtype bf16 \\\n    --optimizer adamw\n"
                  "  shardc plan diff before.json after.json\n\n") +
      exitCodes);
  command->callback([arguments, command, diff, &run] {
    if (diff->parsed()) {
      if (!arguments->input.empty())
        throw CLI::ValidationError("plan diff", "takes no MODEL, got '" +
                                                    arguments->input + "'");
      return;
    }
    if (arguments->input.empty())
      throw CLI::RequiredError("MODEL");
    const bool namesTarget = command->count("--target") > 0;
    run = [=] { return runPlan(*arguments, namesTarget); };
  });
}

} // namespace shardc
