//===- Machine.h - What a program is planned for --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A machine as data: what one rank computes with, and how ranks are connected.
// Machine files are JSON (docs/Machines.md): every figure in them says what it
// is from. passes/CostModel/machines has those that shardc knows by name;
// passes/CostModel turns work into seconds with them.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_MACHINE_H
#define SHARDC_RUNTIME_FORMAT_MACHINE_H

#include "runtime/format/Bytes.h"
#include "runtime/format/Dtype.h"
#include "runtime/format/Status.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardc::format {

/// A quantity that depends on a size: straight lines between points over the
/// logarithm of the size, and the nearest point's value outside of them.
struct Curve {
  /// Size and value, sizes ascending; at least one.
  std::vector<std::pair<double, double>> points;

  double at(double size) const;

  bool operator==(const Curve &) const = default;
};

/// Where figures are from: a publication or a measurement, and its date
/// (2026, 2026-11 or 2026-11-27).
struct FigureSource {
  std::string title;
  std::string date;

  bool operator==(const FigureSource &) const = default;
};

/// A figure and the key of its source.
struct Figure {
  double value = 0;
  std::string source;

  bool operator==(const Figure &) const = default;
};

/// What is reached of a rate, from 0 to 1, by a size.
struct Efficiency {
  Curve curve;
  std::string source;

  bool operator==(const Efficiency &) const = default;
};

/// What one multiprocessor of a GPU's chip holds at a time.
struct Chip {
  /// As ptxas names it, such as "sm_90".
  std::string name;
  /// Of 32 bits.
  int64_t registers = 0;
  int64_t threads = 0;
  int64_t blocks = 0;
  /// Bytes that blocks share among their threads, all blocks together, and
  /// those of them that the system takes for each block.
  int64_t sharedBytes = 0;
  int64_t reservedBytes = 0;
  FigureSource source;
};

/// What computes for one rank.
struct Processor {
  /// Of a GPU: its chip, such as "sm_90"; empty for a processor.
  std::string chip;
  /// Of a GPU: multiprocessors; else cores of the machine, all ranks together.
  Figure units;
  /// Peak operations a second of products by the dtype of their operands.
  std::map<Dtype, Figure> productRates;
  /// Outside of units for products.
  Figure f32Rate, f64Rate;
  /// By operations of a call.
  Efficiency products, convolutions, attention, attentionBackward;
  /// Seconds that a command takes at least, and that pass between two on a
  /// stream.
  Figure commandSeconds;

  bool operator==(const Processor &) const = default;
};

struct MachineMemory {
  /// Of one rank on a GPU; else of the machine, all ranks together.
  Figure bytes;
  Figure bytesPerSecond;
  /// By bytes that a command moves.
  Efficiency efficiency;
  /// Of depthwise convolutions, where they are not computed at the rates of
  /// other convolutions: by bytes of their operands and results.
  std::optional<Efficiency> depthwise;
  /// What is taken beside a program's own memory: by the driver's context with
  /// loaded code, and by each communicator.
  Figure contextBytes, communicatorBytes;

  bool operator==(const MachineMemory &) const = default;
};

/// How one kind of collective does on a level.
struct CollectiveRate {
  /// What is reached of the level's bandwidth by the bytes of the whole tensor.
  Efficiency efficiency;
  /// Seconds before the first byte moves, and of each step of a ring.
  Figure startSeconds, stepSeconds;

  bool operator==(const CollectiveRate &) const = default;
};

/// One level of the topology: what connects units of the level before.
struct NetworkLevel {
  std::string name;
  /// Ranks that it connects, all together; 0: any number.
  int64_t ranks = 0;
  /// That one rank sends, and as much that it receives at the same time.
  Figure bytesPerSecond;
  CollectiveRate allGather, reduceScatter, allReduce;

  bool operator==(const NetworkLevel &) const = default;
};

/// What a runtime reaches of the rates that a machine has for kernels by
/// themselves, such as 0.8: of products and convolutions, of attention, and of
/// memory. Fitted to measured steps.
struct RuntimeRates {
  Figure products, attention, memory;

  bool operator==(const RuntimeRates &) const = default;
};

struct Machine {
  std::string name;
  std::string description;
  /// What programs are compiled for: a name of TargetKinds.h.
  std::string target;
  std::map<std::string, FigureSource> sources;
  Processor processor;
  MachineMemory memory;
  /// By how much of its time a command takes longer while another rank's data
  /// arrives: 0.2 for a fifth.
  Figure overlapSlowdown;
  /// The innermost first; the last one connects any number of ranks.
  std::vector<NetworkLevel> levels;
  /// By the name of a runtime: "shardrun" or "fsdp2". Of one that is not
  /// listed nothing is known, and the rates stand as they are.
  std::map<std::string, RuntimeRates> runtimes;

  bool isGpu() const { return !processor.chip.empty(); }

  bool operator==(const Machine &) const = default;
};

/// The machine that a file says; fails with E0408, which names file, line and
/// key: for members that are missing or unknown, figures that are negative or
/// impossible, and sources that are not listed.
StatusOr<Machine> parseMachine(Bytes text, const std::string &path);

/// The chip that a file says; fails as parseMachine does.
StatusOr<Chip> parseChip(Bytes text, const std::string &path);

/// The file of a machine.
std::string printMachine(const Machine &machine);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_MACHINE_H
