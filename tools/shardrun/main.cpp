//===- main.cpp - shardrun: train a compiled artifact ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the command line and the artifact, trains, and turns a failure into a
// message and an exit code. Ctrl-C stops all ranks between two commands.
//
//===----------------------------------------------------------------------===//

#include "passes/CostModel/Machines.h"
#include "runtime/format/Artifact.h"
#include "runtime/format/NearestName.h"
#include "runtime/format/OutputFile.h"
#include "runtime/train/Trainer.h"
#include "tools/shardrun/Calibration.h"
#include "tools/shardrun/ComparePlan.h"
#include "tools/shardrun/Launcher.h"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <csignal>
#include <iostream>
#include <new>

using namespace shardc;
using runtime::Cancellation;
using runtime::TrainOptions;

/// No machine has more.
static constexpr uint64_t mostGpus = 1 << 16;

static constexpr char helpPage[] =
    R"(shardrun: train a model that shardc compiled
usage: shardrun MODEL.shardc --data DATA [options], or shardrun calibrate --help

The artifact's ranks run as threads of this process, and share a GPU.

  --data DATA          random, tokens:FILE, FILE.npy, or FILE.safetensors with
                       a tensor for each input (docs/Training.md)
  --token-shift N      tokens from a position to its target (default 1, or 0 if
                       the model shifts targets itself)
  --replicate-data     give every rank the same samples
  --steps K            optimizer steps of this run (default 10)
  --micro-batches M    micro-batches of each rank in a step (default 1)
  --lr X               learning rate (default 0.001)
  --weight-decay-scale X  multiply weight decays by X (default 1)
  --eval-data DATA     evaluate on these samples after the last step
  --eval-every K, --eval-batches B  evaluate after every K steps too, on B
                       micro-batches of each rank (default: all data)
  --seed S             seed of random data and dropout (default 0)
  --weights PATH       begin with a safetensors file or Hugging Face folder
                       (default: the artifact); go on with that of
                       --save-optimizer, or not: --restart
  --weights-prefix P   prefix that only the model's or the file's names have
  --ignore-unused      accept weights with tensors that the model lacks
  --save FILE          write parameters and buffers after the last whole step
  --save-optimizer     write all that it takes to go on
  --save-rank-statistics  write each rank's batch norm statistics, as rankR/NAME
  --names hf           save the state_dict of your own model
  --on-nan ACTION      stop (default), continue, or skip the step
  --log FILE.jsonl     write a JSON object for each step and evaluation
  --profile FILE       print times by kernel, module and command, and write a
                       trace for https://ui.perfetto.dev
  --compare-plan MACHINE  print where the forecast for a machine and the run part
  --device DEVICE      auto (default), cuda:N or emulated:SEED
  --no-graph, --sync   GPU: do not replay graphs; wait for each command
  --no-libraries       GPU: shardc's own kernels instead of NVIDIA's libraries
  --tf32               GPU: products and convolutions of f32 in TF32
  --threads T          threads of each rank (default: cores / ranks)
  --poison             fill memory that must be written before it is read
  --quiet              print nothing but errors
  -h, --help; --version

exit codes:
  0 trained   1 output cannot be written   2 usage   4 bad artifact, weights
  or data   5 failure while training   6 loss or gradients not finite
  128 + signal: interrupted (130 by Ctrl-C)
)";

static constexpr char calibrateHelpPage[] =
    R"(shardrun calibrate: measure this machine for shardc plan
usage: shardrun calibrate -o MACHINE.json [options]

Measures for about half a minute how fast the processor, or a GPU, moves memory and
computes products, convolutions and attention. Nothing else should run meanwhile.

  -o, --output FILE    the machine file: shardc plan --machine ./FILE
  --name NAME          of the machine (default cpu-local or gpu-local)
  --device cuda:N      measure a GPU (default: the processor)
  --base MACHINE       of a GPU: a name or file, of which peaks, capacity and
                       links are taken, such as h100-sxm
  --threads T          of all ranks together (default: cores)
  -h, --help
)";

/// Where the signal handler finds the run to stop.
static Cancellation *running = nullptr;

static void stopOnSignals(Cancellation &cancellation) {
  running = &cancellation;
  struct sigaction action = {};
  action.sa_handler = [](int number) { running->interrupt(number); };
  // A second signal ends the process at once.
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

namespace {
struct CommandLine {
  std::string artifact;
  TrainOptions train;
  std::string device = "auto";
  std::string names = "model";
  std::string onNan = "stop";
  std::optional<std::string> machine;
  /// A GPU was asked for.
  bool isGpu = false;
  bool help = false;
  bool version = false;
};
} // namespace

static void declareOptions(CLI::App &app, CommandLine &line) {
  TrainOptions &train = line.train;
  app.set_help_flag();
  app.add_flag("-h,--help", line.help);
  app.add_flag("--version", line.version);
  app.add_option("MODEL.shardc", line.artifact);
  app.add_option("--steps", train.steps);
  app.add_option("--micro-batches", train.microBatches);
  app.add_option("--lr", train.learningRate);
  app.add_option("--weight-decay-scale", train.weightDecayScale);
  app.add_option("--data", train.data);
  app.add_flag("--replicate-data", train.replicateData);
  app.add_option("--token-shift", train.tokenShift);
  app.add_option("--eval-data", train.evalData);
  app.add_option("--eval-every", train.evalEvery);
  app.add_option("--eval-batches", train.evalBatches);
  app.add_option("--seed", train.seed);
  app.add_option("--weights", train.weights);
  app.add_option("--weights-prefix", train.weightsPrefix);
  app.add_flag("--ignore-unused", train.ignoreUnused);
  app.add_flag("--restart", train.restart);
  app.add_option("--save", train.save);
  app.add_flag("--save-optimizer", train.saveOptimizer);
  app.add_flag("--save-rank-statistics", train.saveRankStatistics);
  app.add_option("--names", line.names);
  app.add_option("--on-nan", line.onNan);
  app.add_option("--log", train.log);
  app.add_option("--profile", train.profile);
  app.add_option("--compare-plan", line.machine);
  app.add_option("--device", line.device);
  app.add_flag("!--no-graph", train.graphs);
  app.add_flag("!--no-libraries", train.libraries);
  app.add_flag("--tf32", train.tf32);
  app.add_flag("--sync", train.sync);
  app.add_option("--threads", train.threads);
  app.add_flag("--poison", train.poison);
  app.add_flag("--quiet", train.quiet);
}

/// A message of CLI11 in our form: lower case, one line, no final period.
static std::string ourMessage(const CLI::ParseError &error) {
  std::string message = error.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  if (!message.empty())
    message[0] = static_cast<char>(std::tolower(message[0]));
  while (message.ends_with('.') || message.ends_with(' '))
    message.pop_back();
  return message;
}

/// CLI11 takes an empty text for 0.
static void refuseEmptyNumbers(const CLI::App &app) {
  for (const CLI::Option *option : app.get_options()) {
    const std::string type = option->get_type_name();
    const bool isNumber = type == "INT" || type == "UINT" || type == "FLOAT";
    for (const std::string &text : option->results())
      if (isNumber && text.empty())
        throw CLI::ArgumentMismatch(option->get_name() +
                                    ": expected a number, found ''");
  }
}

/// Writes whole numbers such as 1e3 as their digits.
static std::string spellOut(std::string &text) {
  double number = 0;
  const char *const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  constexpr double exact = 9007199254740992; // Integers up to 2^53 are.
  if (text.find_first_of("eE.") != std::string::npos && error == std::errc() &&
      rest == end && std::abs(number) <= exact && number == std::floor(number))
    text = std::to_string(static_cast<int64_t>(number));
  return "";
}

/// The first argument that no option takes, and what may have been meant.
static Status unknownArgument(const CLI::App &app) {
  const std::string argument = app.remaining().front();
  if (!argument.starts_with('-'))
    return Status(ErrorCode::E0001, "unexpected argument '" + argument + "'");
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  const auto nearest =
      format::nearestName(argument.substr(0, argument.find('=')), names);
  return Status(ErrorCode::E0001,
                "unknown option '" + argument + "'" +
                    (nearest ? "; did you mean '" + *nearest + "'?" : ""))
      .setHelp(app.get_name() + " --help lists all options");
}

static Status parse(int argc, char **argv, CLI::App &app) {
  for (CLI::Option *option : app.get_options())
    if (option->get_type_name() == "INT")
      option->transform(CLI::Validator(spellOut, ""));
  try {
    app.parse(argc, argv);
    refuseEmptyNumbers(app);
  } catch (const CLI::ExtrasError &) {
    return unknownArgument(app);
  } catch (const CLI::ArgumentMismatch &error) {
    return Status(ErrorCode::E0002, ourMessage(error));
  } catch (const CLI::ParseError &error) {
    return Status(ErrorCode::E0001, ourMessage(error));
  }
  return Status();
}

static Status checkRange(const std::string &option, double value, double least,
                         double most) {
  if (value >= least && value <= most)
    return Status();
  auto text = [](double number) {
    std::ostringstream stream;
    stream << std::setprecision(12) << number;
    return stream.str();
  };
  return Status(ErrorCode::E0003, option + " must be from " + text(least) +
                                      " to " + text(most) + ", found " +
                                      text(value));
}

/// Reads --device into the training options: a kind, and a number after a colon
/// that need not be there.
static Status chooseDevice(CommandLine &line) {
  const std::string_view text = line.device;
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  uint64_t number = 0;
  bool isNumber = true;
  if (colon != std::string_view::npos) {
    const char *const end = text.data() + text.size();
    const auto [rest, error] =
        std::from_chars(text.data() + colon + 1, end, number);
    isNumber = error == std::errc() && rest == end;
  }
  if (isNumber && kind == "emulated")
    line.train.emulated = number;
  else if (isNumber && kind == "cuda" && number <= mostGpus)
    line.train.gpu = static_cast<int64_t>(number);
  else if (text != "auto")
    return Status(ErrorCode::E0002, "--device: expected auto, cuda, cuda:N, "
                                    "emulated or emulated:SEED, found '" +
                                        line.device + "'");
  line.isGpu = kind == "cuda";
  return Status();
}

/// Reads options that are one of some words.
static Status chooseWords(CommandLine &line) {
  using runtime::OnNan;
  if (line.names != "model" && line.names != "hf")
    return Status(ErrorCode::E0002,
                  "--names: expected model or hf, got '" + line.names + "'");
  line.train.saveStateDict = line.names == "hf";
  const std::pair<const char *, OnNan> actions[] = {
      {"stop", OnNan::Stop},
      {"continue", OnNan::Continue},
      {"skip", OnNan::Skip}};
  for (const auto &[word, action] : actions)
    if (line.onNan == word) {
      line.train.onNan = action;
      return Status();
    }
  return Status(ErrorCode::E0002,
                "--on-nan: expected stop, continue or skip, got '" +
                    line.onNan + "'");
}

static Status checkOptions(const CommandLine &line) {
  if (line.artifact.empty())
    return Status(ErrorCode::E0002, "expected the path of an artifact")
        .setHelp("shardrun MODEL.shardc; see shardrun --help");
  const TrainOptions &train = line.train;
  const auto orOne = [](int64_t number) {
    return static_cast<double>(number == 0 ? 1 : number);
  };
  const std::tuple<const char *, double, double, double> ranges[] = {
      {"--steps", static_cast<double>(train.steps), 1, 1e12},
      {"--micro-batches", static_cast<double>(train.microBatches), 1, 1e6},
      {"--lr", train.learningRate, 0, 1e6},
      {"--weight-decay-scale", train.weightDecayScale, 0, 1e6},
      // Zero is how an absent option looks.
      {"--eval-every", orOne(train.evalEvery), 1, 1e12},
      {"--eval-batches", orOne(train.evalBatches), 1, 1e6},
      {"--token-shift", static_cast<double>(train.tokenShift.value_or(0)), 0,
       1e6},
      {"--threads", orOne(train.threads), 1, 1024}};
  for (const auto &[option, value, least, most] : ranges)
    if (Status status = checkRange(option, value, least, most); !status.ok())
      return status;
  if (train.data.empty())
    return Status(ErrorCode::E0002, "expected --data DATA")
        .setHelp("--data random trains on random numbers");
  if (train.evalData.empty() && (train.evalEvery || train.evalBatches))
    return Status(ErrorCode::E0002,
                  "--eval-every and --eval-batches need --eval-data DATA");
  if (train.saveOptimizer && train.save.empty())
    return Status(ErrorCode::E0002, "--save-optimizer needs --save FILE");
  if (train.saveRankStatistics && train.save.empty())
    return Status(ErrorCode::E0002, "--save-rank-statistics needs --save FILE");
  if (train.saveStateDict && train.save.empty())
    return Status(ErrorCode::E0002, "--names needs --save FILE");
  if (train.weights.empty() &&
      (train.weightsPrefix || train.ignoreUnused || train.restart))
    return Status(ErrorCode::E0002, "--weights-prefix, --ignore-unused and "
                                    "--restart need --weights PATH");
  return Status();
}

static int fail(const Status &status, const Cancellation &cancellation) {
  std::cerr << render(status, "shardrun");
  if (status.code() == ErrorCode::E0501)
    return 128 + cancellation.signalNumber();
  return exitCode(status.code());
}

/// Reads --device and --base of a calibration.
static Status chooseCalibrated(CommandLine &line, const std::string &base,
                               CalibrationOptions &options) {
  if (Status status = chooseDevice(line); !status.ok())
    return status;
  if (line.train.emulated)
    return Status(ErrorCode::E0002, "--device: emulated devices are not fast");
  if (line.isGpu == base.empty())
    return Status(ErrorCode::E0002,
                  "--device cuda and --base go together: one GPU does not tell "
                  "peaks, capacity and links")
        .setHelp("such as --device cuda --base h100-sxm");
  if (options.name.empty())
    options.name = line.isGpu ? "gpu-local" : "cpu-local";
  if (!line.isGpu)
    return Status();
  options.gpu = line.train.gpu;
  StatusOr<format::Machine> machine = findMachine(base, "");
  if (!machine.ok())
    return machine.status();
  if (!machine->isGpu())
    return Status(ErrorCode::E0002, "--base " + base + " has no GPUs");
  options.base = std::move(*machine);
  return Status();
}

/// `shardrun calibrate`, of which `argv` has what follows.
static int runCalibrate(int argc, char **argv, Cancellation &cancellation) {
  CLI::App app("", "shardrun calibrate");
  CommandLine line;
  CalibrationOptions options;
  std::string path, base;
  app.set_help_flag();
  app.add_flag("-h,--help", line.help);
  app.add_option("-o,--output", path);
  app.add_option("--name", options.name);
  app.add_option("--device", line.device);
  app.add_option("--base", base);
  app.add_option("--threads", options.threads);
  if (Status status = parse(argc, argv, app); !status.ok())
    return fail(status, cancellation);
  if (line.help) {
    std::cout << calibrateHelpPage;
    return 0;
  }
  if (path.empty())
    return fail(Status(ErrorCode::E0002, "expected -o FILE")
                    .setHelp("shardrun calibrate -o machine.json"),
                cancellation);
  if (Status status = checkRange("--threads", options.threads, 0, 1024);
      !status.ok())
    return fail(status, cancellation);
  if (Status status = chooseCalibrated(line, base, options); !status.ok())
    return fail(status, cancellation);
  format::OutputFile file(path);
  if (Status status = file.status(); !status.ok())
    return fail(status, cancellation);
  stopOnSignals(cancellation);
  const StatusOr<format::Machine> machine =
      calibrate(options, cancellation, std::cout);
  if (!machine.ok())
    return fail(machine.status(), cancellation);
  file.write(format::printMachine(*machine));
  if (Status status = file.commit(); !status.ok())
    return fail(status, cancellation);
  std::cout << "wrote " << path << "\n";
  return 0;
}

/// Has the run compared with its forecast, if that was asked for.
static Status comparePlanAfter(CommandLine &line,
                               const format::Artifact &artifact) {
  if (!line.machine)
    return Status();
  StatusOr<format::Machine> machine = findMachine(*line.machine);
  if (!machine.ok())
    return machine.status();
  if (machine->target != artifact.manifest.target.kind)
    return Status(ErrorCode::E0308,
                  "--compare-plan " + *line.machine + ": its ranks run on " +
                      machine->target + ", and the artifact was compiled for " +
                      artifact.manifest.target.kind);
  if (line.train.quiet)
    return Status();
  line.train.onProfile = [&artifact, machine = std::move(*machine),
                          microBatches =
                              line.train.microBatches](const auto &profiles) {
    comparePlan(artifact, machine, microBatches, profiles, std::cout);
  };
  return Status();
}

static int run(int argc, char **argv, Cancellation &cancellation) {
  if (argc > 1 && std::string_view(argv[1]) == "calibrate")
    return runCalibrate(argc - 1, argv + 1, cancellation);
  CommandLine line;
  CLI::App app("", "shardrun");
  declareOptions(app, line);
  if (Status status = parse(argc, argv, app); !status.ok())
    return fail(status, cancellation);
  if (line.help || line.version) {
    std::cout << (line.help ? helpPage : "shardrun " SHARDC_VERSION "\n");
    return 0;
  }
  if (Status status = chooseDevice(line); !status.ok())
    return fail(status, cancellation);
  if (Status status = checkOnlyProcess(); !status.ok())
    return fail(status, cancellation);
  if (Status status = chooseWords(line); !status.ok())
    return fail(status, cancellation);
  if (Status status = checkOptions(line); !status.ok())
    return fail(status, cancellation);
  line.train.artifact = line.artifact;
  stopOnSignals(cancellation);
  StatusOr<format::LoadedArtifact> loaded = format::readArtifact(line.artifact);
  if (!loaded.ok())
    return fail(loaded.status(), cancellation);
  if (const std::string &kind = loaded->artifact.manifest.target.kind;
      line.isGpu && kind != "cuda")
    return fail(Status(ErrorCode::E0308, "--device " + line.device +
                                             ": the artifact was compiled for "
                                             "a processor")
                    .setHelp("compile it with --target cuda:sm_90"),
                cancellation);
  if (Status status = comparePlanAfter(line, loaded->artifact); !status.ok())
    return fail(status, cancellation);
  if (Status status =
          runtime::train(loaded->artifact, line.train, cancellation, std::cout);
      !status.ok())
    return fail(status, cancellation);
  return 0;
}

int main(int argc, char **argv) {
  Cancellation cancellation;
  try {
    return run(argc, argv, cancellation);
  } catch (const std::bad_alloc &) {
    return fail(Status(ErrorCode::E0503, "out of memory"), cancellation);
  }
}
