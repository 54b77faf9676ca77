//===- Commands.h - The subcommands of shardc -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each subcommand adds itself to the command line and sets what to run.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_SHARDC_COMMANDS_H
#define SHARDC_TOOLS_SHARDC_COMMANDS_H

#include "compiler/OptionTable.h"
#include "runtime/format/Status.h"

#include <CLI/CLI.hpp>

#include <functional>

namespace shardc {

/// What the chosen subcommand runs; returns the process's exit code.
using Run = std::function<int()>;

/// Sets the samples of a micro-batch, as `--micro-batch` does.
void bindMicroBatch(InputOptions &options, int64_t size);

/// `--bind` and `--micro-batch`, and `--loss` beside them, in the help page's
/// group "Model".
void addBindOption(CLI::App &command, InputOptions &options);
void addInputOptions(CLI::App &command, InputOptions &options);

/// Numbers in a range; for a text that is no number options have their own
/// message.
CLI::Validator inRange(NumberRange range);

CLI::Validator regularExpression();

/// Fails with E0002 for the path of an artifact.
Status checkIsModel(const std::string &path);

/// One of `words`. The help page lists them as the option's type, so that the
/// check itself has nothing to say there.
CLI::Validator oneOf(std::vector<std::string> words);

/// A configuration that cannot be taken, while the command line is parsed.
class ConfigurationError : public CLI::ParseError {
public:
  explicit ConfigurationError(Status status)
      : CLI::ParseError("ConfigurationError", status.message(),
                        exitCode(status.code())),
        status(std::move(status)) {}

  const Status status;
};

/// `--config`, which reads a file into `options`.
void addConfigOption(CLI::App &command, Options &options);

/// `--runtime` of plans.
void addRuntimeOption(CLI::App &command, Options &options);

/// What a step is compiled for: sharding, precision, optimizer, target.
void addCompileOptions(CLI::App &command, Options &options);

void addCompileCommand(CLI::App &app, Run &run);
void addCompletionCommand(CLI::App &app, Run &run);
void addExplainCommand(CLI::App &app, Run &run);
void addInspectCommand(CLI::App &app, Run &run);
void addInterpretCommand(CLI::App &app, Run &run);
void addPlanCommand(CLI::App &app, Run &run);
void addVerifyCommand(CLI::App &app, Run &run);

/// The exit codes, for help pages.
inline constexpr const char *exitCodes =
    "Exit codes: 0 success, 1 compilation failed, 2 usage error, 3 plan does "
    "not fit,\n4 corrupt or unsupported input, 5 run failed, 6 numerical "
    "mismatch, 70 internal\nerror, 128+N killed by signal N. shardc explain "
    "E0133 explains an error code.";

} // namespace shardc

#endif // SHARDC_TOOLS_SHARDC_COMMANDS_H
