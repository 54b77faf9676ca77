//===- Summary.h - What the compiler decided, for people ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The in-memory form of `summary.json`: the figures that `shardc inspect`
// prints. Execution does not depend on it.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_SUMMARY_H
#define SHARDC_RUNTIME_FORMAT_SUMMARY_H

#include "runtime/format/Attributes.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shardc::format {

/// One FSDP group: `parameters` counts elements of the model's parameters
/// (without padding); the others count collectives of one step with one
/// micro-batch, and the bytes that one rank receives (gathers) or sends
/// (reductions) in all of them.
struct GroupSummary {
  std::string name;
  int64_t parameters = 0;
  int64_t gatherBytes = 0;
  int64_t gathers = 0;
  int64_t reduceBytes = 0;
  int64_t reduces = 0;
  /// "always", "never" or another policy word, or a number of ranks.
  std::string reshard;
  /// Sums over replicas.
  int64_t allReduceBytes = 0;
  int64_t allReduces = 0;

  bool operator==(const GroupSummary &) const = default;
};

/// "sgd" or "adamw" with its numbers, such as {"momentum": 0.9}.
struct OptimizerSummary {
  std::string kind;
  Attributes attributes;

  bool operator==(const OptimizerSummary &) const = default;
};

/// What one kernel of a GPU takes on one chip: registers of a thread, bytes
/// that the threads of a block share, and bytes of a thread's stack, which is
/// memory.
struct KernelSummary {
  std::string name;
  std::string chip;
  int64_t registers = 0;
  int64_t sharedBytes = 0;
  int64_t localBytes = 0;

  bool operator==(const KernelSummary &) const = default;
};

/// What backward computes again in one micro-batch: operators, their
/// floating-point operations, those of them of products, convolutions and
/// attention, and the bytes of results that would have been kept.
struct RecomputeSummary {
  int64_t operators = 0;
  int64_t operations = 0;
  int64_t callOperations = 0;
  int64_t bytes = 0;

  bool operator==(const RecomputeSummary &) const = default;
};

/// What an optimizer whose steps are made of whole matrices costs in one step:
/// gathers, the bytes that one rank receives in them, and the floating-point
/// operations of its matrix products.
struct UpdateSummary {
  int64_t gathers = 0;
  int64_t gatherBytes = 0;
  int64_t operations = 0;

  bool operator==(const UpdateSummary &) const = default;
};

struct Summary {
  int64_t arenaBytes = 0;
  /// Waits of a step with one micro-batch that only serve buffers that have
  /// bytes of earlier ones: what memory costs in time where streams run beside
  /// each other.
  int64_t reuseWaits = 0;
  /// Bytes of one rank's states by kind (kindOf).
  std::map<std::string, int64_t> persistentBytes;
  /// Of programs with workspaces: the bytes of the arena that are in use at the
  /// command at which most are, by what they are for.
  std::map<std::string, int64_t> peakBytes = {};
  std::vector<GroupSummary> groups;
  RecomputeSummary recomputed = {};
  OptimizerSummary optimizer;
  UpdateSummary update = {};
  /// Of chips whose machine code the artifact has.
  std::vector<KernelSummary> kernels = {};
  /// The compile options that made it.
  Attributes options;

  bool operator==(const Summary &) const = default;
};

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_SUMMARY_H
