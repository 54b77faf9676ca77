//===- Calibration.cpp - A machine file from measurements -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each point of a curve is a few commands of one size on a device of its own,
// on random data. The median of several rounds counts.
//===----------------------------------------------------------------------===//

#include "tools/shardrun/Calibration.h"

#include "runtime/device/CpuDevice.h"
#include "runtime/format/CallWorkspace.h"
#include "runtime/format/LibraryCalls.h"
#include "runtime/format/Work.h"
#include "runtime/math/Functions.h"
#include "runtime/session/Devices.h"
#include "runtime/transport/InProcessTransport.h"
#include "tools/shardrun/CalibrationWork.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <ctime>
#include <fstream>
#include <functional>
#include <iomanip>
#include <map>
#include <random>
#include <thread>
#include <tuple>
#include <unistd.h>

namespace shardc {

using format::Command;
using format::CommandKind;
using format::Dtype;
using format::TensorReference;

static constexpr const char *sourceKey = "calibrate";

//===----------------------------------------------------------------------===//
// Measurements
//===----------------------------------------------------------------------===//

namespace {
using Clock = std::chrono::steady_clock;

/// Measures commands on the processor or on a GPU.
class Measurements {
public:
  Measurements(const CalibrationOptions &options,
               const runtime::Cancellation &cancellation)
      : options(options), cancellation(cancellation),
        spin(runtime::SpinPolicy::forThreads(options.threads)),
        group(format::shardMesh(1), {}, cancellation, spin) {}

  Status start();

  /// Seconds of the commands together.
  StatusOr<double> of(std::vector<Command> commands);

  /// The GPU in words.
  std::string description() const { return devices->description(); }

  /// Operations a second of a loop on all threads.
  template <typename Loop>
  double arithmetic();

private:
  const CalibrationOptions &options;
  const runtime::Cancellation &cancellation;
  const runtime::SpinPolicy spin;
  runtime::InProcessGroup group;
  /// Without kernels and commands.
  format::Artifact nothing;
  std::unique_ptr<runtime::DeviceMaker> devices;
  std::unique_ptr<runtime::WorkerPool> workers;
  std::unique_ptr<runtime::Transport> transport;

  StatusOr<size_t> prepare(Command &command, runtime::Device &device,
                           runtime::DeviceAddress &before) const;
  double typical(const std::function<void()> &run) const;
};

/// x / (1 + exp(-x)) of some numbers in the nearest cache with the functions of
/// kernels; the compiler counts 32 operations.
struct SiluLoop {
  static constexpr int64_t numbers = 1024, operations = 32;

  [[gnu::always_inline]] static void run(int64_t rounds, float *values) {
    ElementaryFunctions<MachineArithmetic> functions;
    for (int64_t round = 0; round < rounds; ++round)
      for (int64_t i = 0; i < numbers; ++i)
        values[i] = 1 - values[i] / (1 + functions.exp(-values[i]));
  }
};

/// Runs a loop with the vectors of --cpu x86-64-v3, which kernels have unless
/// they are compiled for another processor.
#if defined(__x86_64__)
template <typename Loop>
[[gnu::target("avx2,fma,bmi2")]] void runAsKernel(int64_t rounds,
                                                  float *values) {
  Loop::run(rounds, values);
}
#else
template <typename Loop>
void runAsKernel(int64_t rounds, float *values) {
  Loop::run(rounds, values);
}
#endif
} // namespace

static StatusOr<std::unique_ptr<runtime::DeviceMaker>> openProcessor() {
  auto kernels = runtime::KernelLibrary::load({}, {}, "calibrate");
  if (!kernels.ok())
    return kernels.status();
  return std::unique_ptr<runtime::DeviceMaker>(
      std::make_unique<runtime::CpuDeviceMaker>(std::move(*kernels)));
}

Status Measurements::start() {
  runtime::DeviceOptions device;
  device.cuda.graphs = false;
  if (options.gpu) {
    device.cuda.device = *options.gpu;
    nothing.manifest.target.kind = format::cudaTarget;
    nothing.manifest.target.chips = {options.base->processor.chip};
  }
  nothing.program.streams = {"compute"};
  auto opened = options.gpu
                    ? runtime::openDevices(nothing, device, cancellation)
                    : openProcessor();
  if (!opened.ok())
    return opened.status();
  devices = std::move(*opened);
  auto started = runtime::WorkerPool::create(options.threads, spin);
  if (!started.ok())
    return started.status();
  workers = std::move(*started);
  transport = group.transport(0);
  return Status();
}

/// Numbers from 2^-8 to 1, as f32 and as pairs of bf16, which repeat.
static std::vector<uint32_t> randomNumbers(size_t bytes) {
  constexpr size_t different = 1 << 16;
  std::mt19937 random(1);
  std::vector<uint32_t> words(bytes / sizeof(uint32_t) + 1);
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = i < different ? 0x3b803b80U + (random() & 0x03ff03ffU)
                             : words[i - different];
  return words;
}

/// Its operands get numbers: pages that nobody has written are all one. A copy
/// reads what the one `before` wrote.
StatusOr<size_t> Measurements::prepare(Command &command,
                                       runtime::Device &device,
                                       runtime::DeviceAddress &before) const {
  if (command.kind == CommandKind::Call)
    if (Status status = checkLibraryCall(command); !status.ok())
      return status;
  std::vector<size_t> sizes;
  for (const TensorReference &operand : command.operands)
    sizes.push_back(static_cast<size_t>(operand.buffer.bytes));
  if (options.gpu && command.kind == CommandKind::Call) {
    command.workspace = format::BufferReference();
    command.workspace->bytes = format::callWorkspaceBytes(command);
    sizes.push_back(static_cast<size_t>(command.workspace->bytes));
  }
  auto memory =
      device.take(sizes, runtime::Content::Undefined, "the calibration");
  if (!memory.ok())
    return memory.status();
  for (size_t i = 0; i < command.operands.size(); ++i) {
    const std::vector<uint32_t> numbers = randomNumbers(sizes[i]);
    device.copyToDevice(memory->ranges[i],
                        reinterpret_cast<const std::byte *>(numbers.data()),
                        sizes[i]);
    if (Status status = device.synchronize(); !status.ok())
      return status;
  }
  std::vector<runtime::DeviceAddress> &operands = memory->ranges;
  const runtime::DeviceAddress workspace =
      command.workspace ? operands.back() : runtime::DeviceAddress();
  operands.resize(command.operands.size());
  if (command.kind == CommandKind::Copy) {
    if (before != runtime::DeviceAddress())
      operands[0] = before;
    before = operands[1];
  }
  return device.prepare(command, operands, workspace);
}

/// The median of rounds that together take about a tenth of a second, and five
/// at least: a step is the sum of many commands, not of the fastest ones.
double Measurements::typical(const std::function<void()> &run) const {
  constexpr double enough = 0.1;
  constexpr size_t min = 5;
  run();
  std::vector<double> rounds;
  double all = 0;
  while (all < enough || rounds.size() < min) {
    const Clock::time_point begin = Clock::now();
    run();
    const std::chrono::duration<double> seconds = Clock::now() - begin;
    rounds.push_back(seconds.count());
    all += seconds.count();
  }
  const auto middle =
      rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 2);
  std::nth_element(rounds.begin(), middle, rounds.end());
  return *middle;
}

/// As often as it takes to have more operands than caches hold: in a step,
/// weights come from memory.
static std::vector<Command> repeated(const std::vector<Command> &commands) {
  constexpr int64_t enough = int64_t(1) << 26, max = 64;
  int64_t bytes = 0;
  for (const Command &command : commands)
    for (const TensorReference &operand : command.operands)
      bytes += operand.buffer.bytes;
  std::vector<Command> all;
  for (int64_t i = 0; i < std::clamp<int64_t>(enough / bytes, 1, max); ++i)
    all.insert(all.end(), commands.begin(), commands.end());
  return all;
}

StatusOr<double> Measurements::of(std::vector<Command> commands) {
  auto made = devices->make({*transport, *workers});
  if (!made.ok())
    return made.status();
  runtime::Device &device = **made;
  std::vector<size_t> prepared;
  runtime::DeviceAddress before = {};
  for (Command &command : commands) {
    const auto number = prepare(command, device, before);
    if (!number.ok())
      return number.status();
    prepared.push_back(*number);
  }
  if (Status status = device.takeScratch(); !status.ok())
    return status;
  Status failure;
  auto run = [&](int times) {
    for (int time = 0; time < times; ++time)
      for (const size_t command : prepared)
        if (Status status = device.enqueue(command); !status.ok())
          failure = status;
    if (Status status = device.synchronize(); !status.ok())
      failure = status;
  };
  // A GPU begins some microseconds after it was told to.
  int times = 1;
  if (devices->runsLate()) {
    constexpr double enough = 5e-3;
    times = std::clamp(static_cast<int>(enough / typical([&] { run(1); })), 1,
                       1000);
  }
  const double seconds = typical([&] { run(times); }) / times;
  if (!failure.ok())
    return failure;
  const Status stopped = cancellation.reason();
  return stopped.ok() ? StatusOr<double>(seconds) : stopped;
}

template <typename Loop>
double Measurements::arithmetic() {
  constexpr int64_t rounds = 1 << 10;
  std::vector<std::vector<float>> values(
      static_cast<size_t>(options.threads),
      std::vector<float>(Loop::numbers, 0.5F));
  const double seconds = typical([&] {
    workers->run(options.threads, [&](int64_t part, int) {
      runAsKernel<Loop>(rounds, values[static_cast<size_t>(part)].data());
    });
  });
  return static_cast<double>(rounds * Loop::numbers * Loop::operations *
                             options.threads) /
         seconds;
}

//===----------------------------------------------------------------------===//
// Curves
//===----------------------------------------------------------------------===//

namespace {
/// Bytes or operations of a command, and how many of them a second.
using Rates = std::vector<std::pair<double, double>>;

class Calibrator {
public:
  Calibrator(const CalibrationOptions &options, Measurements &measurements,
             std::ostream &out)
      : options(options), measurements(measurements), out(out) {}

  Status measure();
  format::Machine machine() const;

private:
  const CalibrationOptions &options;
  Measurements &measurements;
  std::ostream &out;
  Rates memory, products, convolutions, attention, attentionBackward, depthwise;
  std::map<Dtype, double> peaks;
  double f32Rate = 0, f64Rate = 0, commandSeconds = 0;

  Status addRate(Rates &rates, const std::vector<Command> &once);
  Status measureCurve(const std::string &name, const Points &points,
                      Rates &rates);
  Status measureProcessor();
  void setProcessor(format::Machine &machine) const;
  void setCurves(format::Machine &machine, double productRate) const;
};
} // namespace

/// Of a command without kernel, on one rank.
static format::Work workOf(const Command &command) {
  return format::workOf(command, format::Program(), format::shardMesh(1));
}

/// What one of several equal commands does: bytes where it moves them.
static double amountOf(const std::vector<Command> &commands) {
  double amount = 0;
  for (const Command &command : commands) {
    const format::Work work = workOf(command);
    amount +=
        static_cast<double>(work.callOperations > 0 && !work.isDepthwise
                                ? work.callOperations - work.hiddenOperations
                                : work.movedBytes());
  }
  return amount / static_cast<double>(commands.size());
}

Status Calibrator::addRate(Rates &rates, const std::vector<Command> &once) {
  const std::vector<Command> commands = repeated(once);
  const auto seconds = measurements.of(commands);
  if (!seconds.ok())
    return seconds.status();
  const double amount = amountOf(commands);
  rates.emplace_back(amount,
                     amount * static_cast<double>(commands.size()) / *seconds);
  return Status();
}

static double peakOf(const Rates &rates) {
  double peak = 0;
  for (const auto &[size, rate] : rates)
    peak = std::max(peak, rate);
  return peak;
}

Status Calibrator::measureCurve(const std::string &name, const Points &points,
                                Rates &rates) {
  if (points.empty())
    return Status();
  out << std::left << std::setw(20) << name << std::right << std::fixed
      << std::setprecision(0);
  for (const std::vector<Command> &commands : points) {
    if (Status status = addRate(rates, commands); !status.ok())
      return status;
    out << std::setw(8) << rates.back().second / 1e9 << std::flush;
  }
  out << (&rates == &memory || &rates == &depthwise ? "  GB/s" : "  GFLOP/s")
      << std::endl;
  return Status();
}

/// What a GPU has of its base.
Status Calibrator::measureProcessor() {
  f32Rate = measurements.arithmetic<SiluLoop>();
  // Convolutions can be the fastest.
  for (const Rates *rates :
       {&products, &convolutions, &attention, &attentionBackward})
    peaks[Dtype::F32] = std::max(peaks[Dtype::F32], peakOf(*rates));
  // Of products of one size: the curve by sizes is that of f32.
  Rates rates;
  for (const Dtype dtype : {Dtype::F32, Dtype::BF16, Dtype::F64}) {
    if (Status status = addRate(rates, shardc::products(dtype, 512, 768, 768));
        !status.ok())
      return status;
    peaks[dtype] =
        peaks[Dtype::F32] * rates.back().second / rates.front().second;
  }
  const format::Command sum = sumOfSquares();
  const auto summing = measurements.of({sum});
  if (!summing.ok())
    return summing.status();
  f64Rate = static_cast<double>(workOf(sum).f64Operations) / *summing;
  const auto seconds = measurements.of({smallestFill()});
  if (!seconds.ok())
    return seconds.status();
  commandSeconds = *seconds;
  return Status();
}

Status Calibrator::measure() {
  out << "rates of each kind of work, from the smallest to the largest size\n";
  const Workloads work =
      workloads(options.gpu.has_value(), options.gpu ? 1 : options.threads);
  for (const auto &[name, points, rates] :
       {std::tuple("memory", &work.memory, &memory),
        {"matmuls", &work.products, &products},
        {"convolutions", &work.convolutions, &convolutions},
        {"depthwise", &work.depthwise, &depthwise},
        {"attention", &work.attention, &attention},
        {"attention, backward", &work.attentionBackward, &attentionBackward}})
    if (Status status = measureCurve(name, *points, *rates); !status.ok())
      return status;
  return options.gpu ? Status() : measureProcessor();
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

static format::Figure figure(double value) { return {value, sourceKey}; }

/// What of `peak` is reached; sizes that are equal count once.
static format::Efficiency efficiency(const Rates &rates, double peak) {
  std::map<double, double> shares;
  for (const auto &[size, rate] : rates)
    shares[size] = std::min(1.0, rate / peak);
  return {{{shares.begin(), shares.end()}}, sourceKey};
}

/// The processor, as the system calls it.
static std::string processorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      return line.substr(line.find(':') + 2);
  return "processor";
}

static std::string today() {
  const std::time_t now = std::time(nullptr);
  std::array<char, 16> text;
  std::strftime(text.data(), text.size(), "%Y-%m-%d", std::gmtime(&now));
  return text.data();
}

void Calibrator::setCurves(format::Machine &machine, double productRate) const {
  format::Processor &processor = machine.processor;
  processor.products = efficiency(products, productRate);
  processor.convolutions = efficiency(convolutions, productRate);
  processor.attention = efficiency(attention, productRate);
  processor.attentionBackward = efficiency(attentionBackward, productRate);
  machine.memory.efficiency =
      efficiency(memory, machine.memory.bytesPerSecond.value);
  if (!depthwise.empty())
    machine.memory.depthwise =
        efficiency(depthwise, machine.memory.bytesPerSecond.value);
}

void Calibrator::setProcessor(format::Machine &machine) const {
  machine.target = format::cpuTarget;
  machine.processor.units = figure(options.threads);
  for (const auto &[dtype, peak] : peaks)
    machine.processor.productRates[dtype] = figure(peak);
  machine.processor.f32Rate = figure(f32Rate);
  machine.processor.f64Rate = figure(f64Rate);
  machine.processor.commandSeconds = figure(commandSeconds);
  const double bandwidth = peakOf(memory);
  machine.memory.bytes = figure(static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                                static_cast<double>(sysconf(_SC_PAGESIZE)));
  machine.memory.bytesPerSecond = figure(bandwidth);
  machine.memory.contextBytes = figure(0);
  machine.memory.communicatorBytes = figure(0);
  machine.overlapSlowdown = figure(0);
  setCurves(machine, peaks.at(Dtype::F32));
  // Ranks copy from each other's memory.
  const format::CollectiveRate rate = {machine.memory.efficiency,
                                       figure(commandSeconds), figure(0)};
  machine.levels = {{"memory", 0, figure(bandwidth / 2), rate, rate, rate}};
}

format::Machine Calibrator::machine() const {
  format::Machine machine;
  std::string measured = processorName();
  if (options.gpu) {
    machine = *options.base;
    measured = measurements.description();
    setCurves(machine, machine.processor.productRates.at(Dtype::BF16).value);
    // They were fitted with the base's efficiencies.
    machine.runtimes.clear();
    machine.description =
        measured + "; what is not measured is that of " + machine.name;
  } else {
    setProcessor(machine);
    machine.description =
        std::to_string(options.threads) +
        (options.threads == 1 ? " thread of " : " threads of ") + measured;
  }
  machine.name = options.name;
  machine.sources[sourceKey] = {"shardrun calibrate on " + measured, today()};
  return machine;
}

StatusOr<format::Machine> calibrate(const CalibrationOptions &given,
                                    const runtime::Cancellation &cancellation,
                                    std::ostream &out) {
  CalibrationOptions options = given;
  if (options.threads == 0)
    options.threads =
        std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  Measurements measurements(options, cancellation);
  if (Status status = measurements.start(); !status.ok())
    return status;
  Calibrator calibrator(options, measurements, out);
  if (Status status = calibrator.measure(); !status.ok())
    return status;
  return calibrator.machine();
}

} // namespace shardc
