//===- ResolveAuto.cpp - Auto in a compilation ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Checks that the machine is what is compiled for, and chooses.
//===----------------------------------------------------------------------===//

#include "compiler/AutoPlan.h"

#include "passes/CostModel/Machines.h"
#include "runtime/format/Terminal.h"

#include <algorithm>
#include <iostream>

namespace shardc {

static int fail(const Status &status) {
  std::cerr << render(status, "shardc");
  return exitCode(status.code());
}

/// The first option that is auto.
static std::string autoOption(const Options &options) {
  return options.wrap == autoWord        ? "--wrap"
         : options.reshard == autoWord   ? "--reshard"
         : options.recompute == autoWord ? "--recompute"
                                         : "--prefetch";
}

int resolveAuto(const std::string &input, Options &options) {
  if (options.target != format::cudaTarget &&
      options.gpuFormat != Options().gpuFormat)
    std::cerr << "shardc: remark: --format has no effect, because --target is "
              << options.target << "\n";
  if (!isAuto(options)) {
    if (!options.machine.empty())
      if (const auto machine = findMachine(options.machine); !machine.ok())
        return fail(machine.status());
    for (const auto &[option, value] :
         {std::pair("--memory-budget", options.memoryBudget),
          std::pair("--machine", options.machine)})
      if (!value.empty())
        std::cerr << "shardc: remark: " << option
                  << " has no effect, because no option is auto; shardc plan "
                     "shows whether the step fits\n";
    return 0;
  }
  if (options.machine.empty())
    return fail(
        Status(ErrorCode::E0001, autoOption(options) + " auto needs --machine")
            .setHelp("such as --machine h100-sxm"));
  const StatusOr<format::Machine> machine = findMachine(options.machine);
  if (!machine.ok())
    return fail(machine.status());
  if (machine->target != options.target)
    return fail(
        Status(ErrorCode::E0001, "--machine " + options.machine +
                                     " is for --target " + machine->target +
                                     ", but --target is " + options.target)
            .setHelp(machine->isGpu()
                         ? "add --target cuda:" + machine->processor.chip
                         : "add --target cpu"));
  if (const std::vector<std::string> &chips = options.chips;
      machine->isGpu() &&
      std::any_of(chips.begin(), chips.end(), [&](const std::string &chip) {
        return chip.starts_with("sm_") && chip != machine->processor.chip;
      }))
    return fail(Status(ErrorCode::E0001, "--machine " + options.machine +
                                             ": its chip is " +
                                             machine->processor.chip +
                                             ", which --target leaves out"));
  const int64_t budget = budgetOf(options, *machine);
  PlanCompiler compiler;
  if (int result = compiler.read(input, options))
    return result;
  AutoPlan plan;
  constexpr int64_t microBatches = 1;
  if (int result = choosePlan(
          compiler, {options, *machine, microBatches, budget, {}}, plan))
    return plan.failure.ok() ? result : fail(plan.failure);
  if (!plan.choice.fits) {
    PlanReport report = reportStep(plan.step, *machine, microBatches);
    report.memory.capacity = budget;
    return fail(checkFit(report));
  }
  std::cerr << "shardc: " << colored(MessageKind::Remark, "remark:")
            << " auto: " << plan.choice.flags << "\n";
  options = plan.options;
  return 0;
}

} // namespace shardc
