//===- main.cpp - shardrun: train a compiled artifact ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the command line and the artifact, trains, and turns a failure into a
// message and an exit code. Ctrl-C stops all ranks between two commands.
//
//===----------------------------------------------------------------------===//

#include "runtime/format/Artifact.h"
#include "runtime/train/Trainer.h"

#include <CLI/CLI.hpp>

#include <charconv>
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
usage: shardrun MODEL.shardc [options]

The artifact's ranks run as threads of this process, and share a GPU.

  --steps K            optimizer steps (default 10)
  --micro-batches M    micro-batches of each rank in a step (default 1)
  --lr X               learning rate (default 0.001)
  --weight-decay-scale X  what weight decays are multiplied by (default 1)
  --data DATA          random (default), tokens:FILE, FILE.npy or
                       FILE.safetensors with one tensor for each input
  --replicate-data     give every rank the same samples
  --eval-data DATA     evaluate on these samples after the last step; the
                       artifact is compiled with --evaluation
  --eval-every K       evaluate after every K steps too
  --eval-batches B     micro-batches of each rank in it (default: all data)
  --seed S             seed of random data and of dropout (default 0)
  --weights FILE       initial parameters and buffers, as safetensors
                       (default: those in the artifact)
  --save FILE          write parameters, buffers, merged statistics at the end
  --save-optimizer     write the optimizer's states there as well
  --save-rank-statistics  and each rank's of batch norms, as rankR/NAME
  --log FILE.jsonl     one JSON object a step (step, loss, gradient_norm,
                       seconds, …) and an evaluation: docs/Format.md
  --profile FILE       print where the time goes by kernel, module and command,
                       and write a trace that https://ui.perfetto.dev opens
  --device DEVICE      auto (default), cuda:N, the GPU of that number, or
                       emulated:SEED, which emulates streams and GPU threads
  --no-graph, --sync   GPU: do not replay graphs; wait for each command
  --no-libraries       GPU: shardc's own kernels instead of NVIDIA's libraries
  --tf32               GPU: products and convolutions of f32 in TF32
  --threads T          threads of each rank (default: cores / ranks)
  --poison             fill memory that the program has to write before it
                       reads it with NaN and huge integers, and guard its ends
  --quiet              print nothing but errors
  -h, --help           print this page; --version: the version

examples:
  shardrun nanogpt.shardc --data tokens:text.bin --steps 100 --lr 3e-4
  shardrun resnet.shardc --data images.safetensors --micro-batches 2 --log loss.jsonl

exit codes:
  0 trained   1 output cannot be written   2 usage
  4 corrupt or unsupported artifact, weights or data   5 failure while training
  130 interrupted by Ctrl-C (128 + signal)
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
  app.add_option("--eval-data", train.evalData);
  app.add_option("--eval-every", train.evalEvery);
  app.add_option("--eval-batches", train.evalBatches);
  app.add_option("--seed", train.seed);
  app.add_option("--weights", train.weights);
  app.add_option("--save", train.save);
  app.add_flag("--save-optimizer", train.saveOptimizer);
  app.add_flag("--save-rank-statistics", train.saveRankStatistics);
  app.add_option("--log", train.log);
  app.add_option("--profile", train.profile);
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

static Status parse(int argc, char **argv, CommandLine &line) {
  CLI::App app;
  declareOptions(app, line);
  try {
    app.parse(argc, argv);
    refuseEmptyNumbers(app);
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
      {"--threads", orOne(train.threads), 1, 1024}};
  for (const auto &[option, value, least, most] : ranges)
    if (Status status = checkRange(option, value, least, most); !status.ok())
      return status;
  if (train.evalData.empty() && (train.evalEvery || train.evalBatches))
    return Status(ErrorCode::E0002,
                  "--eval-every and --eval-batches need --eval-data DATA");
  if (train.saveOptimizer && train.save.empty())
    return Status(ErrorCode::E0002, "--save-optimizer needs --save FILE");
  if (train.saveRankStatistics && train.save.empty())
    return Status(ErrorCode::E0002, "--save-rank-statistics needs --save FILE");
  return Status();
}

static int fail(const Status &status, const Cancellation &cancellation) {
  std::cerr << render(status, "shardrun");
  if (status.code() == ErrorCode::E0501)
    return 128 + cancellation.signalNumber();
  return exitCode(status.code());
}

static int run(int argc, char **argv, Cancellation &cancellation) {
  CommandLine line;
  if (Status status = parse(argc, argv, line); !status.ok())
    return fail(status, cancellation);
  if (line.help || line.version) {
    std::cout << (line.help ? helpPage : "shardrun " SHARDC_VERSION "\n");
    return 0;
  }
  if (Status status = chooseDevice(line); !status.ok())
    return fail(status, cancellation);
  if (Status status = checkOptions(line); !status.ok())
    return fail(status, cancellation);
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
