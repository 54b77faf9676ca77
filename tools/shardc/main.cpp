//===- main.cpp - shardc: the compiler's command line ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Parses the command line and runs one subcommand. The compiler itself is
// behind compiler/Compiler.h.
//===----------------------------------------------------------------------===//

#include "runtime/format/Errors.h"
#include "tools/command_line/CommandLine.h"
#include "tools/shardc/Commands.h"

#include <iostream>

using namespace shardc;

/// The page that lists what the command line may have.
static std::string helpOf(const CLI::App &app) {
  std::string command = "shardc";
  for (const CLI::App *level = &app; !level->get_subcommands().empty();) {
    level = level->get_subcommands().front();
    command += " " + level->get_name();
  }
  return "run '" + command + " --help'";
}

/// Prints a usage error with its number.
static int usageError(const CLI::App &app, const CLI::ParseError &error) {
  Status status = usageStatus(app, error);
  status.setHelp(helpOf(app));
  std::cerr << render(status, "shardc");
  return exitCode(status.code());
}

int main(int argc, char **argv) {
  CLI::App app("Ahead-of-time compiler and planner for sharded PyTorch "
               "training (FSDP)");
  app.name("shardc");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", "shardc " SHARDC_VERSION,
                       "Print the version and exit");
  app.require_subcommand(1);
  app.footer(std::string("Examples:\n"
                         "  shardc compile model.pt2 -o model.shardc "
                         "--world-size 4\n"
                         "  shardc plan model.pt2 --world-size 64 --machine "
                         "h100-sxm\n"
                         "  shardc inspect model.pt2\n"
                         "  shardc explain E0133\n\n") +
             exitCodes);
  Run run;
  addCompileCommand(app, run);
  addPlanCommand(app, run);
  addInspectCommand(app, run);
  addInterpretCommand(app, run);
  addVerifyCommand(app, run);
  addExplainCommand(app, run);
  addCompletionCommand(app, run);
  try {
    app.parse(argc, argv);
    for (const CLI::App *command : app.get_subcommands())
      if (const std::optional<std::string> problem =
              findMisreadNumber(*command))
        throw CLI::ValidationError(*problem);
  } catch (const CLI::Success &request) {
    // A page for a command that does not exist would hide the mistake.
    if (app.remaining_size() > 0)
      return usageError(app, CLI::ExtrasError(app.remaining()));
    return app.exit(request);
  } catch (const ConfigurationError &error) {
    std::cerr << render(error.status, "shardc");
    return exitCode(error.status.code());
  } catch (const CLI::ParseError &error) {
    return usageError(app, error);
  }
  return flushOutput(run(), "shardc");
}
