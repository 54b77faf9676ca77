//===- Parameters.h - What a rank keeps between steps ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The in-memory form of `parameters.json`: the inputs of one micro-batch, the
// persistent states of one rank, and how the model's parameters lie in the
// flat segments that those states are shards of.
//
// A segment is the concatenation, with zero padding, of row-major parameters
// of one dtype. With S = shardElements, rank r's shard is elements
// [r * S, (r + 1) * S): for world size 2,
//
//   fc.weight (4 x 3)         fc.bias (3)   padding
//   [ 0 … 11              ]   [12 13 14]    [15]       elements = 16
//   |----- rank 0: 0 … 7 -----|---- rank 1: 8 … 15 ---|   S = 8
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_PARAMETERS_H
#define SHARDC_RUNTIME_FORMAT_PARAMETERS_H

#include "runtime/format/Dtype.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::format {

/// One model input of one micro-batch of one rank.
struct Input {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<int64_t> shape;
  /// Integer inputs only: every value must be in [0, upperBound), such as the
  /// rows of the embedding that it indexes. Absent: not checked, and random
  /// data cannot be made for it.
  std::optional<int64_t> upperBound;
  /// The one value outside [0, upperBound) that is allowed: a target that the
  /// loss ignores.
  std::optional<int64_t> ignoreIndex;
  /// A target that the model itself shifts: the prediction at position i is
  /// compared with element i + 1.
  bool isShifted = false;

  bool operator==(const Input &) const = default;
};

/// Whether a sample is a whole micro-batch: inputs have different first
/// dimensions or none, such as a graph's nodes and edges or a number that
/// changes from step to step.
bool isSampleWhole(const std::vector<Input> &inputs);

/// How many samples a micro-batch has: the first dimension of its inputs, or
/// one.
int64_t samplesOfMicroBatch(const std::vector<Input> &inputs);

/// Tokens of a micro-batch: the elements of the first input, if those are
/// integers.
std::optional<int64_t> tokensOfMicroBatch(const std::vector<Input> &inputs);

/// Elements of one sample of an input.
int64_t elementsOfSample(const std::vector<Input> &inputs, size_t index);

enum class Role {
  Parameter,
  Gradient,
  Optimizer,
  Buffer,
  Metric,
  /// Whole gradients of a segment, which a rank adds up until it reduces them.
  Accumulated
};

/// Persistent memory of one rank. Parameters start as this rank's shard of the
/// weights, buffers as the weights' tensor of the same name, all else as zero.
struct State {
  std::string name;
  Role role = Role::Parameter;
  /// Of what an optimizer keeps, such as "exp_avg".
  std::string key;
  Dtype dtype = Dtype::F32;
  /// Elements that one rank holds.
  int64_t elements = 0;
  /// The segment it is a shard of; absent for buffers, metrics, and what an
  /// optimizer keeps once for the whole model, the same on every rank.
  std::optional<int64_t> segment;
  /// Buffers only; `aliases` are the other names of a tied one, `mean` is the
  /// buffer with the mean of each element that this is the variance of, and one
  /// that is not persistent is in no state_dict.
  std::vector<int64_t> shape;
  std::vector<std::string> aliases;
  std::string mean;
  bool isPersistent = true;

  bool operator==(const State &) const = default;
};

/// One model parameter inside a segment; `offset` counts elements. Aliases are
/// the other names of a tied parameter.
struct SegmentParameter {
  std::string name;
  std::vector<std::string> aliases;
  std::vector<int64_t> shape;
  int64_t offset = 0;

  bool operator==(const SegmentParameter &) const = default;
};

/// A flat run of parameters of one dtype in a group. `dtype` is the dtype in
/// which it is gathered. It is divided among the ranks that differ on `axes` of
/// the mesh alone: `elements` is as many times shardElements.
struct Segment {
  int64_t group = 0;
  std::vector<int64_t> axes;
  Dtype dtype = Dtype::F32;
  int64_t elements = 0;
  int64_t shardElements = 0;
  std::vector<SegmentParameter> parameters;

  bool operator==(const Segment &) const = default;
};

/// An FSDP group: the segments that are gathered together.
struct Group {
  std::string name;
  std::vector<int64_t> segments;

  bool operator==(const Group &) const = default;
};

struct Parameters {
  std::vector<Input> inputs;
  std::vector<State> states;
  std::vector<Group> groups;
  std::vector<Segment> segments;

  bool operator==(const Parameters &) const = default;
};

/// The spelling in parameters.json, such as "gradient".
std::string_view roleName(Role role);
std::optional<Role> parseRole(std::string_view name);

/// What a state is: its role, or the key of what an optimizer keeps.
inline std::string_view kindOf(const State &state) {
  return state.role == Role::Optimizer ? std::string_view(state.key)
                                       : roleName(state.role);
}

/// The metrics that every program fills: the loss summed over micro-batches
/// and ranks, and the sum of squares of the summed gradient as a pair.
inline constexpr std::string_view lossMetric = "loss";
inline constexpr std::string_view gradientNormMetric = "gradient_norm_squares";

/// The key of what the optimizer keeps, in f64, of what the gradients of a step
/// are scaled by, beside their number. Without it they are not.
inline constexpr std::string_view lossScaleKey = "loss_scale";

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_PARAMETERS_H
