//===- InspectCommand.cpp - shardc inspect --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The options of the command; the file's suffix says what it looks at.
//===----------------------------------------------------------------------===//

#include "compiler/Compiler.h"
#include "runtime/format/Status.h"
#include "tools/shardc/Commands.h"
#include "tools/shardc/Inspect.h"

#include <iostream>
#include <memory>

namespace shardc {

namespace {
struct InspectArguments {
  std::string path;
  InputOptions input;
  ArtifactReport artifact;
  bool all = false;
  bool json = false;
  bool dtypes = false;
  /// Of --dtypes.
  Options options;
};
} // namespace

static int runInspect(const InspectArguments &arguments) {
  bool isModel = arguments.path.ends_with(".pt2");
  const ArtifactReport &artifact = arguments.artifact;
  const char *option = artifact.program             ? "--program"
                       : artifact.kernels           ? "--kernels"
                       : !artifact.ptx.empty()      ? "--ptx"
                       : !artifact.sass.empty()     ? "--sass"
                       : !artifact.timeline.empty() ? "--timeline"
                                                    : nullptr;
  auto refuse = [&](const std::string &what, const std::string &is) {
    const Status status(ErrorCode::E0001,
                        what + ", '" + arguments.path + "' is " + is);
    std::cerr << render(status, "shardc");
    return exitCode(status.code());
  };
  if (isModel && option)
    return refuse(std::string(option) + " is for artifacts", "a model");
  if (arguments.dtypes && arguments.path.ends_with(".shardc"))
    return refuse("--dtypes is for models", "an artifact");
  if (arguments.dtypes) {
    Options options = arguments.options;
    options.input = arguments.input;
    return printDtypes(arguments.path, options, arguments.json);
  }
  if (!isModel) {
    ArtifactReport report = artifact;
    report.json = arguments.json;
    return inspectArtifact(arguments.path, report);
  }
  return inspectModel(arguments.path, arguments.input,
                      arguments.json  ? ReportForm::Json
                      : arguments.all ? ReportForm::Long
                                      : ReportForm::Short);
}

void addInspectCommand(CLI::App &app, Run &run) {
  CLI::App *command = app.add_subcommand(
      "inspect", "Print the contents of a model or an artifact");
  auto arguments = std::make_shared<InspectArguments>();
  command
      ->add_option(
          "FILE", arguments->path,
          "A model (.pt2): modules, parameters, FLOPs, activations, operators; "
          "or an artifact (.shardc): memory, groups, collectives")
      ->required();
  addBindOption(*command, arguments->input);
  command
      ->add_flag("--all", arguments->all,
                 "Print every module instead of folding equal ones")
      ->group("Model");
  CLI::Option *json = command->add_flag(
      "--json", arguments->json,
      "Print JSON; for an artifact, the .json files that it contains "
      "(docs/Format.md)");
  command
      ->add_flag("--dtypes", arguments->dtypes,
                 "Print the dtypes of each module's inputs, parameters and "
                 "outputs, and why each cast is there")
      ->group("Model");
  addConfigOption(*command, arguments->options);
  command->get_option("--config")->needs("--dtypes");
  ArtifactReport &artifact = arguments->artifact;
  command
      ->add_flag("--program", artifact.program, "Print the commands of a step")
      ->group("Artifact");
  command
      ->add_flag("--kernels", artifact.kernels,
                 "Print registers, shared memory and occupancy of each kernel "
                 "per GPU chip, and a lower bound on its time")
      ->group("Artifact");
  command
      ->add_option("--ptx", artifact.ptx,
                   "Print the PTX of a kernel; needs an artifact compiled with "
                   "--format ptx")
      ->type_name("KERNEL")
      ->excludes(json)
      ->group("Artifact");
  command
      ->add_option("--sass", artifact.sass,
                   "Print the machine code of a kernel per GPU chip; needs "
                   "nvdisasm of the CUDA toolkit")
      ->type_name("KERNEL")
      ->excludes(json)
      ->group("Artifact");
  command
      ->add_option("--timeline", artifact.timeline,
                   "Print the forecast timeline of a step on a machine, named "
                   "as in shardc plan")
      ->type_name("MACHINE")
      ->excludes("--kernels")
      ->group("Artifact");
  command->footer(std::string("Examples:\n"
                              "  shardc inspect model.pt2\n"
                              "  shardc inspect model.pt2 --dtypes --config "
                              "sharding.json\n"
                              "  shardc inspect --program model.shardc\n\n") +
                  exitCodes);
  command->callback(
      [arguments, &run] { run = [=] { return runInspect(*arguments); }; });
}

} // namespace shardc
