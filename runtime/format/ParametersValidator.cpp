//===- ParametersValidator.cpp - Rules F1 to F4 ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Checks inputs, states and the layout of segments, so that sizes computed
// from them later neither overflow nor disagree.
//===----------------------------------------------------------------------===//

#include "runtime/format/Validator.h"

#include <algorithm>
#include <set>

namespace shardc::format {

static Status broken(const std::string &rule, const std::string &complaint) {
  return Status(ErrorCode::E0309,
                "parameters.json breaks rule " + rule + ": " + complaint);
}

/// The product of a shape, or none if it exceeds maxElements.
static std::optional<int64_t> boundedCount(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 0 || extent > maxElements ||
        (extent != 0 && count > maxElements / extent))
      return std::nullopt;
    count *= extent;
  }
  return count;
}

static Status checkInputs(const std::vector<Input> &inputs) {
  if (inputs.empty())
    return broken("F1", "there is no input");
  std::set<std::string_view> names;
  for (const Input &input : inputs) {
    const std::string quoted = "input '" + input.name + "'";
    if (!names.insert(input.name).second)
      return broken("F1", quoted + " appears twice");
    const std::optional<int64_t> count = boundedCount(input.shape);
    if (!count || *count == 0)
      return broken("F1", quoted + " needs from 1 to " +
                              std::to_string(maxElements) + " elements");
    if ((input.upperBound || input.ignoreIndex) && !isInteger(input.dtype))
      return broken("F1", quoted + " has an upper bound but is no integer");
    if (input.upperBound && *input.upperBound < 1)
      return broken("F1", quoted + " has no value below its upper bound " +
                              std::to_string(*input.upperBound));
  }
  return Status();
}

static bool mayHaveSegment(Role role) {
  return role != Role::Buffer && role != Role::Metric;
}
static bool needsSegment(Role role) {
  return mayHaveSegment(role) && role != Role::Optimizer;
}

/// Whether the mean that a variance is around is there.
static bool hasMean(const State &variance, const Parameters &parameters) {
  return variance.role == Role::Buffer && isFloat(variance.dtype) &&
         std::any_of(parameters.states.begin(), parameters.states.end(),
                     [&](const State &state) {
                       return state.role == Role::Buffer &&
                              state.name == variance.mean &&
                              state.dtype == variance.dtype &&
                              state.shape == variance.shape;
                     });
}

static Status checkState(const State &state, const Parameters &parameters) {
  const std::string quoted = "state '" + state.name + "'";
  if (state.elements < 0 || state.elements > maxElements)
    return broken("F2", quoted + " has " + std::to_string(state.elements) +
                            " elements");
  if (state.segment ? !mayHaveSegment(state.role) : needsSegment(state.role))
    return broken("F2",
                  quoted + " of role '" + std::string(roleName(state.role)) +
                      (state.segment ? "' has" : "' lacks") + " a segment");
  if (state.role == Role::Optimizer && state.key.empty())
    return broken("F2", quoted + " has no key");
  if (state.role == Role::Buffer &&
      boundedCount(state.shape) != std::optional(state.elements))
    return broken("F2", quoted + " has another number of elements than its "
                                 "shape");
  if (!state.mean.empty() && !hasMean(state, parameters))
    return broken("F2", quoted + " is around '" + state.mean +
                            "', which is no buffer of its dtype and shape");
  if (!state.segment)
    return Status();
  if (*state.segment < 0 ||
      *state.segment >= static_cast<int64_t>(parameters.segments.size()))
    return broken("F2", quoted + " names segment " +
                            std::to_string(*state.segment) + " of " +
                            std::to_string(parameters.segments.size()));
  const Segment &segment =
      parameters.segments[static_cast<size_t>(*state.segment)];
  const bool isWhole = state.role == Role::Accumulated;
  const int64_t expected = isWhole ? segment.elements : segment.shardElements;
  if (state.elements != expected || !isFloat(state.dtype))
    return broken("F2", quoted + " must be of floats, with the " +
                            std::to_string(expected) +
                            " elements of its segment" +
                            (isWhole ? "" : "'s shard"));
  return Status();
}

static Status checkStates(const Parameters &parameters) {
  const State *loss = nullptr, *norm = nullptr;
  std::set<std::pair<Role, std::string_view>> names;
  for (const State &state : parameters.states) {
    if (Status status = checkState(state, parameters); !status.ok())
      return status;
    if (!names.insert({state.role, state.name}).second)
      return broken("F2", "state '" + state.name + "' appears twice");
    if (state.role == Role::Metric && state.name == lossMetric)
      loss = &state;
    if (state.role == Role::Metric && state.name == gradientNormMetric)
      norm = &state;
  }
  if (!loss || loss->elements != 1 ||
      (loss->dtype != Dtype::F32 && loss->dtype != Dtype::F64))
    return broken("F3", "expected a metric 'loss' with one f32 or f64 element");
  if (!norm || norm->elements != 2 || norm->dtype != Dtype::F64)
    return broken("F3", "expected a metric 'gradient_norm_squares' with two "
                        "f64 elements");
  return Status();
}

/// F20 for the mesh itself.
static Status checkMesh(const Mesh &mesh) {
  if (mesh.axes.empty() || mesh.axes.size() > maxAxes)
    return broken("F20",
                  "the mesh has " + std::to_string(mesh.axes.size()) + " axes");
  std::set<std::string_view> names;
  int64_t ranks = 1;
  for (const MeshAxis &axis : mesh.axes) {
    if (axis.name.empty() || !names.insert(axis.name).second)
      return broken("F20", "two axes of the mesh are called '" + axis.name +
                               "', or one has no name");
    if (axis.size < 1 || axis.size > maxRanks / ranks)
      return broken("F20", "axis '" + axis.name + "' has size " +
                               std::to_string(axis.size) +
                               ", the mesh from 1 to " +
                               std::to_string(maxRanks) + " ranks");
    ranks *= axis.size;
  }
  return Status();
}

bool areAxesOf(const Mesh &mesh, const std::vector<int64_t> &axes) {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] < 0 || axes[i] >= static_cast<int64_t>(mesh.axes.size()) ||
        (i > 0 && axes[i] <= axes[i - 1]))
      return false;
  return true;
}

static Status checkSegment(const Segment &segment, size_t index,
                           const Mesh &mesh) {
  const std::string quoted = "segment " + std::to_string(index);
  if (!areAxesOf(mesh, segment.axes))
    return broken("F20", quoted + " names axes that the mesh does not have, or "
                                  "not in order");
  const int64_t shards = mesh.countMembers(segment.axes);
  if (segment.shardElements < 0 || segment.elements > maxElements ||
      segment.shardElements > maxElements / shards ||
      segment.elements != segment.shardElements * shards)
    return broken("F4", quoted + " has " + std::to_string(segment.elements) +
                            " elements, expected " + std::to_string(shards) +
                            " shards of " +
                            std::to_string(segment.shardElements));
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const SegmentParameter &parameter : segment.parameters) {
    const std::optional<int64_t> count = boundedCount(parameter.shape);
    if (!count || parameter.offset < 0 || parameter.offset > segment.elements ||
        *count > segment.elements - parameter.offset)
      return broken("F4", "parameter '" + parameter.name + "' leaves " +
                              quoted + " of " +
                              std::to_string(segment.elements) + " elements");
    if (*count > 0)
      ranges.emplace_back(parameter.offset, parameter.offset + *count);
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second)
      return broken("F4", "two parameters of " + quoted +
                              " overlap at element " +
                              std::to_string(ranges[i].first));
  return Status();
}

static Status checkGroups(const Parameters &parameters) {
  std::set<int64_t> named;
  for (size_t i = 0; i < parameters.groups.size(); ++i)
    for (const int64_t segment : parameters.groups[i].segments) {
      if (segment < 0 ||
          segment >= static_cast<int64_t>(parameters.segments.size()) ||
          parameters.segments[static_cast<size_t>(segment)].group !=
              static_cast<int64_t>(i) ||
          !named.insert(segment).second)
        return broken("F4", "group '" + parameters.groups[i].name +
                                "' and segment " + std::to_string(segment) +
                                " do not name each other once");
    }
  if (named.size() != parameters.segments.size())
    return broken("F4", "a segment belongs to no group");
  return Status();
}

Status validateParameters(const Parameters &parameters, const Mesh &mesh) {
  if (Status status = checkMesh(mesh); !status.ok())
    return status;
  if (Status status = checkInputs(parameters.inputs); !status.ok())
    return status;
  std::set<std::string_view> names;
  for (size_t i = 0; i < parameters.segments.size(); ++i) {
    if (Status status = checkSegment(parameters.segments[i], i, mesh);
        !status.ok())
      return status;
    for (const SegmentParameter &parameter : parameters.segments[i].parameters)
      if (!names.insert(parameter.name).second)
        return broken("F4", "parameter '" + parameter.name + "' appears twice");
  }
  if (Status status = checkGroups(parameters); !status.ok())
    return status;
  return checkStates(parameters);
}

} // namespace shardc::format
