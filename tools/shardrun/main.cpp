//===- main.cpp - shardrun: train a compiled artifact ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the command line and the artifact, trains, and turns a failure into a
// message and an exit code. Ctrl-C stops all ranks between two commands.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/Machines.h"
#include "runtime/format/Artifact.h"
#include "runtime/format/OutputFile.h"
#include "runtime/train/Trainer.h"
#include "tools/command_line/CommandLine.h"
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

/// Whole numbers may be written as 1e3, which becomes their digits.
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

/// Declares the options of one group of the help page.
class OptionGroup {
public:
  OptionGroup(CLI::App &app, const char *name) : app(app), name(name) {}

  /// An option whose value has the type name `type`.
  template <typename T>
  CLI::Option *add(const char *flag, T &value, const char *type,
                   const char *help) {
    CLI::Option *option = app.add_option(flag, value, help);
    if constexpr (std::is_integral_v<T> ||
                  std::is_same_v<T, std::optional<int64_t>>)
      option->transform(CLI::Validator(spellOut, ""));
    return option->type_name(type)->group(name);
  }
  void add(const char *flag, bool &value, const char *help) {
    app.add_flag(flag, value, help)->group(name);
  }
  /// A flag that clears `value`.
  void addNegated(const char *flag, bool &value, const char *help) {
    app.add_flag_callback(flag, [&value] { value = false; }, help)->group(name);
  }

private:
  CLI::App &app;
  const char *name;
};
} // namespace

static void declareTraining(CLI::App &app, CommandLine &line) {
  TrainOptions &train = line.train;
  OptionGroup training(app, "Training");
  training.add("--steps", train.steps, "K", "Optimizer steps of this run")
      ->capture_default_str();
  training
      .add("--micro-batches", train.microBatches, "M",
           "Micro-batches per rank per step (gradient accumulation)")
      ->capture_default_str();
  training.add("--lr", train.learningRate, "X", "Learning rate")
      ->capture_default_str();
  training
      .add("--weight-decay-scale", train.weightDecayScale, "X",
           "Multiply every weight decay by X")
      ->capture_default_str();
  training.add(
      "--seed", train.seed, "S",
      "Seed of random data and dropout (default: 0, or that of a resumed run)");
  training
      .add("--on-nan", line.onNan, "stop|continue|skip",
           "What to do when the loss or a gradient is not finite")
      ->capture_default_str();

  OptionGroup data(app, "Data");
  data.add("--data", train.data, "DATA",
           "Training data (required): random, tokens:FILE, FILE.npy, or "
           "FILE.safetensors with a tensor per input (docs/Data.md)");
  data.add("--token-shift", train.tokenShift, "N",
           "Distance from a token to its target (default: 1, or 0 if the model "
           "shifts targets itself)");
  data.add("--replicate-data", train.replicateData,
           "Give every rank the same samples");

  OptionGroup evaluation(app, "Evaluation");
  evaluation.add("--eval-data", train.evalData, "DATA",
                 "Evaluate on this data after the last step");
  evaluation.add("--eval-every", train.evalEvery, "K",
                 "Evaluate after every K steps, too");
  evaluation.add("--eval-batches", train.evalBatches, "B",
                 "Evaluate on B micro-batches per rank (default: all data)");
}

static void declareFiles(CLI::App &app, CommandLine &line) {
  TrainOptions &train = line.train;
  OptionGroup weights(app, "Weights and checkpoints");
  weights.add("--weights", train.weights, "PATH",
              "Initial weights: a safetensors file or a Hugging Face folder "
              "(default: the artifact's); a file written with "
              "--save-optimizer continues the run that wrote it");
  weights.add(
      "--restart", train.restart,
      "With a --save-optimizer file: load only parameters and buffers, and "
      "start at step 1");
  weights.add(
      "--weights-prefix", train.weightsPrefix, "PREFIX",
      "Prefix of all names in the model that the names in the file lack, "
      "or the reverse");
  weights.add("--ignore-unused", train.ignoreUnused,
              "Accept tensors that the model does not have");
  weights.add("--save", train.save, "FILE.safetensors",
              "Write parameters and buffers after the last complete step");
  weights.add("--save-optimizer", train.saveOptimizer,
              "Save everything needed to resume, too");
  weights.add("--save-rank-statistics", train.saveRankStatistics,
              "Save each rank's BatchNorm statistics, too, as rankR/NAME");
  weights
      .add("--names", line.names, "model|hf",
           "Names of saved tensors: as exported (model), or as in the "
           "state_dict "
           "of the model that was given to the export helper (hf)")
      ->capture_default_str();

  OptionGroup output(app, "Output");
  output.add("--log", train.log, "FILE.jsonl",
             "Write a JSON object per step and evaluation");
  output.add("--profile", train.profile, "FILE.json",
             "Print times by kernel, module and command, and write a trace for "
             "https://ui.perfetto.dev");
  output.add("--compare-plan", line.machine, "MACHINE",
             "Compare the run with the forecast for a machine");
  output.add("--quiet", train.quiet, "Print only errors");
}

static void declareDevice(CLI::App &app, CommandLine &line) {
  TrainOptions &train = line.train;
  OptionGroup device(app, "Device");
  device
      .add("--device", line.device, "DEVICE",
           "auto, cuda, cuda:N, emulated or emulated:SEED")
      ->capture_default_str();
  device.add("--threads", train.threads, "T",
             "Threads per rank (default: cores divided by ranks)");
  device.add("--tf32", train.tf32,
             "GPU: use TF32 in f32 matmuls and convolutions");
  device.addNegated("--no-graph", train.graphs, "GPU: do not use CUDA graphs");
  device.addNegated(
      "--no-libraries", train.libraries,
      "GPU: use shardc's own kernels instead of NVIDIA's libraries");
  device.add("--sync", train.sync, "GPU: wait for each command");
  device.add("--poison", train.poison,
             "Fill memory with NaN before it is written, to expose "
             "uninitialized reads");
}

static void declareOptions(CLI::App &app, CommandLine &line) {
  app.add_option("MODEL.shardc", line.artifact,
                 "Artifact of shardc compile (required)");
  app.add_flag("--version", line.version, "Print the version and exit");
  declareTraining(app, line);
  declareFiles(app, line);
  declareDevice(app, line);
  app.footer(
      "See also shardrun calibrate --help, which measures this machine for "
      "shardc plan.\n\n"
      "Example:\n"
      "  shardrun model.shardc --data tokens:train.bin --steps 100\n\n"
      "Exit codes: 0 success, 1 output cannot be written, 2 usage error, 4 "
      "bad\n"
      "artifact, weights or data, 5 training failed, 6 loss or gradients not "
      "finite,\n128+N ended by signal N (130: Ctrl-C).");
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

static Status parse(int argc, char **argv, CLI::App &app) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError &) {
    return Status(ErrorCode::E0001, describeUnknown(app))
        .setHelp(app.get_name() + " --help lists all options");
  } catch (const CLI::ArgumentMismatch &error) {
    return Status(ErrorCode::E0002, ourMessage(error));
  } catch (const CLI::ParseError &error) {
    return Status(ErrorCode::E0001, ourMessage(error));
  }
  if (const CLI::Option *option = findEmptyNumber(app))
    return Status(ErrorCode::E0002,
                  option->get_name() + ": expected a number, got ''");
  return Status();
}

/// An empty command line with a flag for its help page.
static void prepare(CLI::App &app, CommandLine &line) {
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag();
  app.add_flag("-h,--help", line.help, "Print this help message and exit");
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
                                      " to " + text(most) + ", got " +
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
                                    "emulated or emulated:SEED, got '" +
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
    return Status(ErrorCode::E0002,
                  "--device: emulated devices cannot be calibrated");
  if (line.isGpu == base.empty())
    return Status(ErrorCode::E0002,
                  "--device cuda needs --base, and --base needs --device cuda: "
                  "peaks, capacity and links cannot be measured on one GPU")
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
  CLI::App app("Measure this machine for shardc plan", "shardrun calibrate");
  CommandLine line;
  CalibrationOptions options;
  std::string path, base;
  prepare(app, line);
  OptionGroup group(app, "Options");
  group.add("-o,--output", path, "MACHINE.json",
            "Machine file to write, for shardc plan --machine ./MACHINE.json");
  group.add("--name", options.name, "NAME",
            "Name of the machine (default: cpu-local or gpu-local)");
  group.add("--device", line.device, "cuda:N",
            "GPU to measure (default: the CPU)");
  group.add("--base", base, "MACHINE",
            "For a GPU: machine to take peaks, capacity and links from, such "
            "as h100-sxm");
  group.add("--threads", options.threads, "T",
            "Total number of threads over all ranks (default: cores)");
  app.footer("Measures memory bandwidth, matmuls, convolutions and attention "
             "for about half a\nminute. Nothing else should run meanwhile.");
  if (Status status = parse(argc, argv, app); !status.ok())
    return fail(status, cancellation);
  if (line.help) {
    std::cout << app.help();
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
  CLI::App app("Train a compiled model", "shardrun");
  prepare(app, line);
  declareOptions(app, line);
  if (Status status = parse(argc, argv, app); !status.ok())
    return fail(status, cancellation);
  if (line.help || line.version) {
    std::cout << (line.help ? app.help() : "shardrun " SHARDC_VERSION "\n");
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
    return fail(
        Status(ErrorCode::E0308, "--device " + line.device +
                                     ": the artifact was compiled for "
                                     "CPUs")
            .setHelp(
                "recompile it with --target cuda:CHIP, such as cuda:sm_90"),
        cancellation);
  if (line.train.tf32 && loaded->artifact.manifest.target.kind != "cuda")
    return fail(
        Status(ErrorCode::E0308, "--tf32: the artifact was compiled for CPUs"),
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
