//===- ParametersJson.cpp - parameters.json -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Prints and parses inputs, states, groups and segments.
//===----------------------------------------------------------------------===//

#include "runtime/format/JsonDocuments.h"
#include "runtime/format/JsonField.h"
#include "runtime/format/JsonLines.h"

#include <array>
#include <limits>

using nlohmann::ordered_json;

namespace shardc::format {

static constexpr std::array<std::string_view, 6> roleNames = {
    "parameter", "gradient", "optimizer", "buffer", "metric", "accumulated"};

std::string_view roleName(Role role) {
  return roleNames[static_cast<size_t>(role)];
}

std::optional<Role> parseRole(std::string_view name) {
  for (size_t i = 0; i < roleNames.size(); ++i)
    if (roleNames[i] == name)
      return static_cast<Role>(i);
  return std::nullopt;
}

static ordered_json toJson(const Input &input) {
  ordered_json object;
  object["name"] = input.name;
  object["dtype"] = dtypeName(input.dtype);
  object["shape"] = input.shape;
  if (input.upperBound)
    object["upper_bound"] = *input.upperBound;
  if (input.ignoreIndex)
    object["ignore_index"] = *input.ignoreIndex;
  if (input.isShifted)
    object["shifted"] = true;
  return object;
}

static ordered_json toJson(const State &state) {
  ordered_json object;
  object["name"] = state.name;
  object["role"] = roleName(state.role);
  if (state.role == Role::Optimizer)
    object["key"] = state.key;
  object["dtype"] = dtypeName(state.dtype);
  object["elements"] = state.elements;
  if (state.segment)
    object["segment"] = *state.segment;
  if (state.role == Role::Buffer)
    object["shape"] = state.shape;
  if (!state.aliases.empty())
    object["aliases"] = state.aliases;
  if (!state.mean.empty())
    object["mean"] = state.mean;
  if (!state.isPersistent)
    object["persistent"] = false;
  return object;
}

static ordered_json toJson(const Segment &segment) {
  ordered_json parameters = ordered_json::array();
  for (const SegmentParameter &parameter : segment.parameters) {
    ordered_json object;
    object["name"] = parameter.name;
    if (!parameter.aliases.empty())
      object["aliases"] = parameter.aliases;
    object["shape"] = parameter.shape;
    object["offset"] = parameter.offset;
    parameters.push_back(std::move(object));
  }
  ordered_json object;
  object["group"] = segment.group;
  object["axes"] = segment.axes;
  object["dtype"] = dtypeName(segment.dtype);
  object["elements"] = segment.elements;
  object["shard_elements"] = segment.shardElements;
  object["parameters"] = std::move(parameters);
  return object;
}

std::string printParameters(const Parameters &parameters) {
  ordered_json root;
  for (const char *member : {"inputs", "states", "groups", "segments"})
    root[member] = ordered_json::array();
  for (const Input &input : parameters.inputs)
    root["inputs"].push_back(toJson(input));
  for (const State &state : parameters.states)
    root["states"].push_back(toJson(state));
  for (const Group &group : parameters.groups)
    root["groups"].push_back(
        {{"name", group.name}, {"segments", group.segments}});
  for (const Segment &segment : parameters.segments)
    root["segments"].push_back(toJson(segment));
  return printLines(root);
}

static Input parseInput(const JsonField &field) {
  Input input;
  input.name = field["name"].text();
  input.dtype = field["dtype"].dtype();
  input.shape = field["shape"].integers();
  if (std::optional<JsonField> bound = field.find("upper_bound"))
    input.upperBound = bound->integer(1);
  if (std::optional<JsonField> ignored = field.find("ignore_index"))
    input.ignoreIndex = ignored->integer(std::numeric_limits<int64_t>::min());
  if (std::optional<JsonField> shifted = field.find("shifted"))
    input.isShifted = shifted->boolean();
  return input;
}

static State parseState(const JsonField &field) {
  State state;
  state.name = field["name"].text();
  const JsonField roleField = field["role"];
  const std::optional<Role> role = parseRole(roleField.text());
  if (!role)
    roleField.fail("unknown role '" + roleField.text() + "'");
  state.role = *role;
  if (state.role == Role::Optimizer)
    state.key = field["key"].text();
  state.dtype = field["dtype"].dtype();
  state.elements = field["elements"].integer();
  if (std::optional<JsonField> segment = field.find("segment"))
    state.segment = segment->integer();
  if (state.role == Role::Buffer)
    state.shape = field["shape"].integers();
  if (std::optional<JsonField> aliases = field.find("aliases"))
    state.aliases = aliases->texts();
  if (std::optional<JsonField> mean = field.find("mean"))
    state.mean = mean->text();
  if (std::optional<JsonField> persistent = field.find("persistent"))
    state.isPersistent = persistent->boolean();
  return state;
}

static Segment parseSegment(const JsonField &field) {
  Segment segment;
  segment.group = field["group"].integer();
  segment.axes = field["axes"].integers();
  segment.dtype = field["dtype"].dtype();
  segment.elements = field["elements"].integer();
  segment.shardElements = field["shard_elements"].integer();
  for (const JsonField &element : field["parameters"].elements()) {
    SegmentParameter parameter;
    parameter.name = element["name"].text();
    if (std::optional<JsonField> aliases = element.find("aliases"))
      parameter.aliases = aliases->texts();
    parameter.shape = element["shape"].integers();
    parameter.offset = element["offset"].integer();
    segment.parameters.push_back(std::move(parameter));
  }
  return segment;
}

StatusOr<Parameters> parseParameters(Bytes text) {
  Parameters parameters;
  Status status = parseDocument(
      text, "parameters.json", ErrorCode::E0307, [&](const JsonField &root) {
        for (const JsonField &field : root["inputs"].elements())
          parameters.inputs.push_back(parseInput(field));
        for (const JsonField &field : root["states"].elements())
          parameters.states.push_back(parseState(field));
        for (const JsonField &field : root["groups"].elements())
          parameters.groups.push_back(
              {field["name"].text(), field["segments"].integers()});
        for (const JsonField &field : root["segments"].elements())
          parameters.segments.push_back(parseSegment(field));
      });
  if (!status.ok())
    return status;
  return parameters;
}

} // namespace shardc::format
