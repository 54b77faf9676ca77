//===- TrainCommand.cpp - shardrun MODEL.shardc ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The options of a training run, each with its range and what it needs, and
// the run itself: reads the artifact, checks it against the options, trains.
//===----------------------------------------------------------------------===//

#include "passes/CostModel/Machines.h"
#include "runtime/format/Artifact.h"
#include "runtime/format/TargetKinds.h"
#include "runtime/session/Processes.h"
#include "runtime/session/Session.h"
#include "runtime/train/Trainer.h"
#include "tools/shardrun/CommandOptions.h"
#include "tools/shardrun/Commands.h"
#include "tools/shardrun/ComparePlan.h"
#include "tools/shardrun/Launcher.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iostream>
#include <thread>

namespace shardc {

using runtime::OnNan;
using runtime::TrainOptions;

namespace {
/// What TrainOptions lack.
struct TrainLine {
  TrainOptions train;
  std::string device = "auto";
  /// The machine of --compare-plan.
  std::optional<std::string> machine;
  /// Seconds that a process waits for others.
  int64_t timeout = 600;
  bool version = false;
};
} // namespace

static void declareTraining(CommandOptions &options, TrainOptions &train) {
  options.startGroup("Training");
  options.add("--steps", train.steps, "K", "Optimizer steps of this run")
      .inRange(train.steps, 1, 1e12)
      .showDefault();
  options
      .add("--micro-batches", train.microBatches, "M",
           "Micro-batches per rank per step (gradient accumulation)")
      .inRange(train.microBatches, 1, 1e6)
      .showDefault();
  options.add("--lr", train.learningRate, "X", "Learning rate")
      .inRange(train.learningRate, 0, 1e6)
      .showDefault();
  options
      .add("--weight-decay-scale", train.weightDecayScale, "X",
           "Multiply every weight decay by X")
      .inRange(train.weightDecayScale, 0, 1e6)
      .showDefault();
  options.add(
      "--seed", train.seed, "S",
      "Seed of random data and dropout (default: 0, or that of a resumed run)");
  options.addWords<OnNan>(
      "--on-nan", train.onNan,
      {{"stop", OnNan::Stop},
       {"continue", OnNan::Continue},
       {"skip", OnNan::Skip}},
      "On a loss or gradient that is not finite: stop, apply the update "
      "anyway, or skip the step");
}

static void declareData(CommandOptions &options, TrainOptions &train) {
  options.startGroup("Data");
  options.add("--data", train.data, "DATA",
              "Training data (required): random, tokens:FILE, FILE.npy, or "
              "FILE.safetensors with a tensor per input, or a folder of such "
              "(docs/Data.md)");
  options
      .add("--token-shift", train.tokenShift, "N",
           "Distance from a token to its target (default: 1, or 0 if the model "
           "shifts targets itself)")
      .inRange(train.tokenShift, 0, 1e6);
  options.addFlag("--replicate-data", train.replicateData,
                  "Give every rank the same samples");

  const std::string evalData = "--eval-data DATA";
  options.startGroup("Evaluation");
  options.add("--eval-data", train.evalData, "DATA",
              "Evaluate on this data after the last step");
  options
      .add("--eval-every", train.evalEvery, "K",
           "Also evaluate after every K steps")
      .inRange(train.evalEvery, 1, 1e12)
      .needs(evalData);
  options
      .add("--eval-batches", train.evalBatches, "B",
           "Evaluate on B micro-batches per rank (default: all data)")
      .inRange(train.evalBatches, 1, 1e6)
      .needs(evalData);
}

static void declareFiles(CommandOptions &options, TrainLine &line) {
  TrainOptions &train = line.train;
  const std::string weights = "--weights PATH", save = "--save FILE";
  options.startGroup("Weights and checkpoints");
  options.add("--weights", train.weights, "PATH",
              "Initial weights: a safetensors file or a Hugging Face folder "
              "(default: the artifact's); a file written with "
              "--save-optimizer continues the run that wrote it");
  options
      .addFlag(
          "--restart", train.restart,
          "With a --save-optimizer file: load only parameters and buffers, and "
          "start at step 1")
      .needs(weights);
  options
      .add(
          "--weights-prefix", train.weightsPrefix, "PREFIX",
          "Prefix to add to, or strip from, the names in the file to match the "
          "model")
      .needs(weights);
  options
      .addFlag("--ignore-unused", train.ignoreUnused,
               "Ignore tensors in the file that the model does not have")
      .needs(weights);
  options.add("--save", train.save, "FILE.safetensors",
              "Write parameters and buffers after the last complete step");
  options
      .addFlag("--save-optimizer", train.saveOptimizer,
               "Also save everything needed to resume")
      .needs(save);
  options
      .addFlag("--save-rank-statistics", train.saveRankStatistics,
               "Also save each rank's BatchNorm statistics, as rankR/NAME")
      .needs(save);
  options
      .addWords<bool>(
          "--names", train.saveStateDict, {{"model", false}, {"hf", true}},
          "Names of saved tensors: model (as in the exported program) or hf "
          "(as in the state_dict of the module that was exported, before a "
          "loss was attached)")
      .needs(save);

  options.startGroup("Output");
  options.add("--log", train.log, "FILE.jsonl",
              "Write a JSON object per step and evaluation");
  options.add("--profile", train.profile, "FILE.json",
              "Print times by kernel, module and command, and write a trace "
              "for https://ui.perfetto.dev");
  options.add("--compare-plan", line.machine, "MACHINE",
              "Compare the run with the forecast for a machine");
  options.addFlag("--quiet", train.quiet, "Print only errors");
}

static void declareDevice(CommandOptions &options, TrainLine &line) {
  TrainOptions &train = line.train;
  options.startGroup("Device");
  options
      .add("--device", line.device, "DEVICE",
           "auto (what the artifact was compiled for), cuda, cuda:N, or "
           "emulated (everything on CPU threads, GPU kernels included; a "
           "stream runs only when another one waits for it, which exposes "
           "missing synchronization); "
           "emulated:SEED runs GPU blocks and threads in a random order")
      .showDefault();
  options
      .add("--threads", train.threads, "T",
           "Threads per rank (default: cores divided by ranks)")
      .inRange(train.threads, 1, 1024);
  options.addFlag("--tf32", train.tf32,
                  "GPU: use TF32 in f32 matmuls and convolutions");
  options.addFlag("--no-graph", train.graphs, "GPU: do not use CUDA graphs",
                  /*meaning=*/false);
  options.addFlag("--no-libraries", train.libraries,
                  "GPU: use shardc's own kernels instead of NVIDIA's libraries",
                  /*meaning=*/false);
  options.addFlag("--sync", train.sync, "GPU: wait for each command");
  options.addFlag("--poison", train.poison,
                  "Fill memory with NaN before it is written, to expose "
                  "uninitialized reads");

  options.startGroup("Processes");
  options
      .add("--timeout", line.timeout, "S",
           "Under mpirun: stop when another process does not answer for S "
           "seconds")
      .inRange(line.timeout, 1, 1e6)
      .showDefault();
}

StatusOr<DeviceChoice> parseDevice(const std::string &text) {
  /// No machine has more.
  constexpr uint64_t maxGpus = 1 << 16;
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  uint64_t number = 0;
  bool isNumber = true;
  if (colon != std::string::npos) {
    const char *const end = text.data() + text.size();
    const auto [rest, error] =
        std::from_chars(text.data() + colon + 1, end, number);
    isNumber = error == std::errc() && rest == end;
  }
  DeviceChoice choice;
  if (isNumber && kind == "emulated")
    choice.emulated = number;
  else if (isNumber && kind == format::cudaTarget && number <= maxGpus)
    choice.gpu = static_cast<int64_t>(number);
  else if (text != "auto")
    return Status(ErrorCode::E0001, "--device: expected auto, cuda, cuda:N, "
                                    "emulated or emulated:SEED, got '" +
                                        text + "'")
        .setHelp("an artifact that was compiled for CPUs runs on them without "
                 "--device");
  return choice;
}

/// Fails where an option asks for a GPU and the artifact is for processors.
static Status checkTarget(const TrainLine &line, bool isGpuChosen,
                          const format::Artifact &artifact) {
  if (artifact.manifest.target.isGpu())
    return Status();
  const TrainOptions &train = line.train;
  const std::string option = isGpuChosen        ? "--device " + line.device
                             : train.tf32       ? "--tf32"
                             : !train.graphs    ? "--no-graph"
                             : !train.libraries ? "--no-libraries"
                             : train.sync       ? "--sync"
                                                : "";
  if (option.empty())
    return Status();
  return Status(ErrorCode::E0308,
                option + ": the artifact was compiled for CPUs")
      .setHelp(
          line.device.starts_with("emulated")
              ? "recompile it with --target cuda:emulated"
              : "recompile it with --target cuda:CHIP, such as cuda:sm_90");
}

/// Fails where --token-shift is given and no data are tokens.
static Status checkTokenShift(const TrainOptions &train) {
  const auto mayBeTokens = [](const std::string &data) {
    return data.starts_with("tokens:") || data.ends_with(".npy");
  };
  if (!train.tokenShift || mayBeTokens(train.data) ||
      mayBeTokens(train.evalData))
    return Status();
  return Status(ErrorCode::E0001,
                "--token-shift: '" + train.data + "' holds no tokens")
      .setHelp("it applies to --data tokens:FILE and to one-dimensional .npy "
               "files, which are read as tokens");
}

/// Has the run compared with its forecast, if that was asked for.
static Status comparePlanAfter(TrainLine &line,
                               const format::Artifact &artifact) {
  if (!line.machine)
    return Status();
  StatusOr<format::Machine> machine = findMachine(*line.machine);
  if (!machine.ok())
    return machine.status();
  if (machine->target != artifact.manifest.target.kind)
    return Status(ErrorCode::E0308,
                  "--compare-plan: machine " + machine->name + " runs " +
                      machine->target +
                      " programs, and the artifact was compiled for " +
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

/// Fails where the processes are not the artifact's ranks (E0006).
static Status checkProcesses(const TrainLine &line, const Launch &launch,
                             const format::Artifact &artifact) {
  const int64_t ranks = artifact.manifest.mesh.ranks();
  if (ranks != launch.size)
    return Status(ErrorCode::E0006,
                  launch.launcher + " started " + std::to_string(launch.size) +
                      " processes, and the artifact has " +
                      std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks"))
        .setHelp("start one process for each rank, or compile with "
                 "--world-size " +
                 std::to_string(launch.size) +
                 "; without mpirun all ranks are in one process");
  if (artifact.manifest.target.isGpu() && !line.train.emulated)
    return Status(ErrorCode::E0006,
                  launch.launcher +
                      " started several processes, and ranks on GPUs train in "
                      "one, on one GPU")
        .setHelp("start shardrun without mpirun, or compile for CPUs");
  return Status();
}

/// Fails where something is missing on the command line, or does not fit.
static Status checkLine(const TrainLine &line) {
  if (line.train.artifact.empty())
    return Status(ErrorCode::E0002, "expected the path of an artifact")
        .setHelp("shardrun MODEL.shardc; see shardrun --help");
  if (line.train.data.empty())
    return Status(ErrorCode::E0002, "expected --data DATA")
        .setHelp("--data random trains on random numbers");
  return checkTokenShift(line.train);
}

/// Opens what the command line names, checks that it fits together, and trains.
/// `launch`: what started the other processes, if there are some, which all
/// come to know what is wrong with one.
static Status trainFile(TrainLine &line, const StatusOr<DeviceChoice> &device,
                        const std::optional<Launch> &launch,
                        const CommandContext &context) {
  Status status = device.status();
  if (status.ok())
    status = checkLine(line);
  format::LoadedArtifact loaded;
  if (status.ok())
    status = runtime::assign(loaded, format::readArtifact(line.train.artifact));
  if (status.ok() && launch)
    status = checkProcesses(line, *launch, loaded.artifact);
  if (status.ok())
    status = checkTarget(line, device->gpu.has_value(), loaded.artifact);
  if (status.ok())
    status = comparePlanAfter(line, loaded.artifact);
  status = agree(line.train.processes, std::move(status));
  if (!status.ok())
    return status;
  return runtime::train(loaded.artifact, line.train, context.cancellation,
                        std::cout);
}

/// Leaves what only one process prints and writes to the first one.
static void quietOthers(TrainOptions &train) {
  if (train.processes->rank() == 0)
    return;
  train.quiet = true;
  train.log.clear();
  train.profile.clear();
}

/// Who waited in vain learns for whom; of all that did, the first one reports,
/// and the others wait to be ended by it.
static void nameSilent(runtime::ProcessGroup &processes, Status &failure) {
  const std::vector<int64_t> silent = processes.findSilent();
  int64_t first = 0;
  while (std::find(silent.begin(), silent.end(), first) != silent.end())
    ++first;
  if (processes.rank() != first) {
    std::this_thread::sleep_for(std::chrono::seconds(5));
    processes.abort(exitCode(failure.code()));
  }
  std::string names;
  for (const int64_t rank : silent)
    names += (names.empty() ? "" : ", ") + std::to_string(rank);
  if (!silent.empty())
    failure.addNote((silent.size() == 1 ? "no answer from rank "
                                        : "no answer from ranks ") +
                    names);
}

/// Prints the failure of a run of several processes: that of all of them once,
/// before any of them ends, for which mpirun may end the others; that of this
/// one alone, which then ends all.
static void reportFailure(runtime::ProcessGroup &processes, Status failure) {
  const bool isAlone = processes.hasLeft();
  if (failure.code() == ErrorCode::E0510)
    nameSilent(processes, failure);
  if (isAlone)
    failure.addNote("reported by rank " + std::to_string(processes.rank()) +
                    " of " + std::to_string(processes.size()));
  std::cout.flush();
  if (isAlone || processes.rank() == 0)
    std::cerr << render(failure, "shardrun") << std::flush;
  // A launcher that ends a run may leave out what it has not read yet.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  if (isAlone || !processes.exchange("").ok())
    processes.abort(exitCode(failure.code()));
}

/// The processes that a launcher started. Fails with E0511 if MPI knows others,
/// as where mpirun is of another MPI: each process would be alone.
static StatusOr<std::unique_ptr<runtime::ProcessGroup>>
openProcesses(const Launch &launch, int64_t timeout) {
  StatusOr<std::unique_ptr<runtime::ProcessGroup>> processes =
      runtime::openMpi(launch.library, std::chrono::seconds(timeout));
  if (processes.ok() && (*processes)->size() != launch.size)
    return Status(ErrorCode::E0511,
                  launch.launcher + " started " + std::to_string(launch.size) +
                      " processes, and " + (*processes)->description() +
                      " connects " + std::to_string((*processes)->size()))
        .setHelp("start it with the mpirun of that MPI, and without variables "
                 "of another launcher");
  return processes;
}

/// `device`: the choice, or what is wrong with the command line.
static Status trainAs(TrainLine &line, const StatusOr<DeviceChoice> &device,
                      const CommandContext &context) {
  const StatusOr<std::optional<Launch>> launch = findLaunch();
  if (!launch.ok())
    return device.ok() ? launch.status() : device.status();
  std::unique_ptr<runtime::ProcessGroup> processes;
  if (*launch)
    if (Status status =
            runtime::assign(processes, openProcesses(**launch, line.timeout));
        !status.ok())
      return status;
  if (device.ok()) {
    line.train.emulated = device->emulated;
    line.train.gpu = device->gpu.value_or(0);
    context.catchSignals();
  }
  if (processes) {
    line.train.processes = processes.get();
    context.printsFailure = false;
    quietOthers(line.train);
  }
  Status status = trainFile(line, device, *launch, context);
  if (processes && !status.ok())
    reportFailure(*processes, status);
  return status;
}

Status runTrain(int argc, char **argv, const CommandContext &context) {
  CLI::App app("Train a compiled model", "shardrun");
  CommandOptions options(app);
  TrainLine line;
  app.add_option("MODEL.shardc", line.train.artifact,
                 "Artifact of shardc compile (required)");
  app.add_flag("--version", line.version, "Print the version and exit");
  declareTraining(options, line.train);
  declareData(options, line.train);
  declareFiles(options, line);
  declareDevice(options, line);
  app.footer(
      "See also shardrun calibrate --help, which measures this machine for "
      "shardc plan.\n\n"
      "Example:\n"
      "  shardrun model.shardc --data tokens:train.bin --steps 100\n\n"
      "Exit codes: 0 success, 1 output cannot be written, 2 usage error, 4 "
      "bad\n"
      "artifact, weights or data, 5 training failed, 6 loss or gradients not "
      "finite,\n128+N ended by signal N (130: Ctrl-C).");
  if (Status status = options.parse(argc, argv); !status.ok())
    return trainAs(line, status, context);
  if (options.wantsHelp() || line.version) {
    std::cout << (options.wantsHelp() ? app.help()
                                      : "shardrun " SHARDC_VERSION "\n");
    return Status();
  }
  return trainAs(line, parseDevice(line.device), context);
}

} // namespace shardc
