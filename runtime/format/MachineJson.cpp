//===- MachineJson.cpp - Machine files ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Prints and parses machines. A figure is an object with its value and the key
// of its source, an efficiency one with points.
//===----------------------------------------------------------------------===//

#include "runtime/format/Machine.h"

#include "runtime/format/JsonField.h"
#include "runtime/format/TargetKinds.h"

#include <algorithm>
#include <cmath>
#include <set>

using nlohmann::ordered_json;

namespace shardc::format {

double Curve::at(double size) const {
  if (size <= points.front().first)
    return points.front().second;
  for (size_t i = 1; i < points.size(); ++i) {
    const auto [size0, value0] = points[i - 1];
    const auto [size1, value1] = points[i];
    if (size <= size1)
      return value0 + (value1 - value0) * (std::log(size) - std::log(size0)) /
                          (std::log(size1) - std::log(size0));
  }
  return points.back().second;
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {
/// Reads the members of one machine; sources first, because figures name them.
class MachineReader {
public:
  explicit MachineReader(const JsonField &root) : root(root) {}

  Machine read();

private:
  const JsonField &root;
  Machine machine;

  void readSources();
  std::string source(const JsonField &field) const;
  Figure figure(const JsonField &field, double min, double max) const;
  Figure count(const JsonField &field) const;
  Figure bytes(const JsonField &field) const;
  Figure seconds(const JsonField &field) const;
  Efficiency efficiency(const JsonField &field) const;
  Processor processor(const JsonField &field) const;
  MachineMemory memory(const JsonField &field) const;
  CollectiveRate collective(const JsonField &field) const;
  NetworkLevel level(const JsonField &field) const;
  void readLevels();
  void readRuntimes();
};
} // namespace

/// Fails at a member of `field` that is none of `names`.
static void expectMembers(const JsonField &field,
                          const std::set<std::string> &names) {
  for (const auto &[name, member] : field.members())
    if (!names.contains(name))
      member.fail("unknown member '" + name + "'");
}

static FigureSource parseSource(const JsonField &field) {
  expectMembers(field, {"title", "date"});
  FigureSource source = {field["title"].text(), field["date"].text()};
  if (source.date.size() < 4 ||
      source.date.find_first_not_of("0123456789-") != std::string::npos)
    field["date"].fail("expected a date such as 2026-11, got '" + source.date +
                       "'");
  return source;
}

void MachineReader::readSources() {
  for (const auto &[key, field] : root["sources"].members())
    machine.sources[key] = parseSource(field);
}

std::string MachineReader::source(const JsonField &field) const {
  std::string key = field["source"].text();
  if (!machine.sources.contains(key))
    field["source"].fail("'" + key + "' is none of the file's sources");
  return key;
}

Figure MachineReader::figure(const JsonField &field, double min,
                             double max) const {
  expectMembers(field, {"value", "source"});
  const double value = field["value"].number();
  if (!(value >= min && value <= max))
    field["value"].fail("expected a number from " + ordered_json(min).dump() +
                        " to " + ordered_json(max).dump() + ", got " +
                        ordered_json(value).dump());
  return {value, source(field)};
}

/// Of units, or of what they do in a second.
Figure MachineReader::count(const JsonField &field) const {
  return figure(field, 1, 1e18);
}

Figure MachineReader::bytes(const JsonField &field) const {
  return figure(field, 0, 1e15);
}

Figure MachineReader::seconds(const JsonField &field) const {
  return figure(field, 0, 1e3);
}

Efficiency MachineReader::efficiency(const JsonField &field) const {
  expectMembers(field, {"points", "source"});
  Efficiency read;
  double last = 0;
  for (const JsonField &point : field["points"].elements()) {
    const std::vector<JsonField> pair = point.elements();
    if (pair.size() != 2)
      point.fail("expected a size and a share");
    const double size = pair[0].number(), share = pair[1].number();
    if (!(size > last))
      pair[0].fail("expected sizes above 0 in ascending order");
    if (!(share > 0 && share <= 1))
      pair[1].fail("expected a share above 0 and at most 1, got " +
                   ordered_json(share).dump());
    read.curve.points.emplace_back(last = size, share);
  }
  if (read.curve.points.empty())
    field["points"].fail("expected a point");
  read.source = source(field);
  return read;
}

Processor MachineReader::processor(const JsonField &field) const {
  expectMembers(field, {"chip", "units", "product_operations_per_second",
                        "f32_operations_per_second",
                        "f64_operations_per_second", "product_efficiency",
                        "convolution_efficiency", "attention_efficiency",
                        "attention_backward_efficiency", "command_seconds"});
  Processor read;
  if (const std::optional<JsonField> chip = field.find("chip"))
    read.chip = chip->text();
  if (read.chip.empty() == (machine.target == cudaTarget))
    field.fail(read.chip.empty() ? "a GPU has a member 'chip'"
                                 : "a processor has no member 'chip'");
  read.units = count(field["units"]);
  const JsonField rates = field["product_operations_per_second"];
  for (const auto &[name, rate] : rates.members()) {
    const std::optional<Dtype> dtype = parseDtype(name);
    if (!dtype || !isFloat(*dtype))
      rate.fail("'" + name + "' is no floating-point dtype");
    read.productRates[*dtype] = count(rate);
  }
  // What a processor has no units for it computes in f32.
  std::vector<Dtype> needed = {Dtype::F32, Dtype::F64};
  if (!read.chip.empty())
    needed.insert(needed.end(), {Dtype::BF16, Dtype::F16});
  for (const Dtype dtype : needed)
    if (!read.productRates.contains(dtype))
      rates.fail("expected a member '" + std::string(dtypeName(dtype)) + "'");
  read.f32Rate = count(field["f32_operations_per_second"]);
  read.f64Rate = count(field["f64_operations_per_second"]);
  read.products = efficiency(field["product_efficiency"]);
  read.convolutions = efficiency(field["convolution_efficiency"]);
  read.attention = efficiency(field["attention_efficiency"]);
  read.attentionBackward = efficiency(field["attention_backward_efficiency"]);
  read.commandSeconds = seconds(field["command_seconds"]);
  return read;
}

MachineMemory MachineReader::memory(const JsonField &field) const {
  expectMembers(field, {"bytes", "bytes_per_second", "efficiency",
                        "depthwise_convolution_efficiency", "context_bytes",
                        "communicator_bytes"});
  MachineMemory read;
  read.bytes = figure(field["bytes"], 1, 1e15);
  read.bytesPerSecond = count(field["bytes_per_second"]);
  read.efficiency = efficiency(field["efficiency"]);
  if (const auto depthwise = field.find("depthwise_convolution_efficiency"))
    read.depthwise = efficiency(*depthwise);
  read.contextBytes = bytes(field["context_bytes"]);
  read.communicatorBytes = bytes(field["communicator_bytes"]);
  return read;
}

CollectiveRate MachineReader::collective(const JsonField &field) const {
  expectMembers(field, {"efficiency", "start_seconds", "step_seconds"});
  return {efficiency(field["efficiency"]), seconds(field["start_seconds"]),
          seconds(field["step_seconds"])};
}

NetworkLevel MachineReader::level(const JsonField &field) const {
  expectMembers(field, {"name", "ranks", "bytes_per_second", "all_gather",
                        "reduce_scatter", "all_reduce"});
  NetworkLevel read;
  read.name = field["name"].text();
  if (const std::optional<JsonField> ranks = field.find("ranks"))
    read.ranks = ranks->integer(1);
  read.bytesPerSecond = count(field["bytes_per_second"]);
  read.allGather = collective(field["all_gather"]);
  read.reduceScatter = collective(field["reduce_scatter"]);
  read.allReduce = collective(field["all_reduce"]);
  return read;
}

void MachineReader::readLevels() {
  const JsonField list = root["levels"];
  int64_t inner = 1;
  for (const JsonField &field : list.elements()) {
    if (!machine.levels.empty() && machine.levels.back().ranks == 0)
      field.fail("the level before connects any number of ranks");
    machine.levels.push_back(level(field));
    const int64_t ranks = machine.levels.back().ranks;
    const bool isFirst = machine.levels.size() == 1;
    if (ranks != 0 && (ranks <= inner || ranks % inner != 0))
      field["ranks"].fail(
          (isFirst ? std::string("expected at least 2 ranks, or none for a "
                                 "last level")
                   : "expected more than the " + std::to_string(inner) +
                         " ranks that the level before connects, a multiple "
                         "of them, or none for the last level") +
          "; found " + std::to_string(ranks));
    inner = ranks;
  }
  if (machine.levels.empty() || machine.levels.back().ranks != 0)
    list.fail("expected a last level without 'ranks', which connects any "
              "number of them");
}

void MachineReader::readRuntimes() {
  const std::optional<JsonField> runtimes = root.find("runtimes");
  if (!runtimes)
    return;
  expectMembers(*runtimes, {"shardrun", "fsdp2"});
  for (const auto &[name, field] : runtimes->members()) {
    expectMembers(field, {"products", "attention", "memory"});
    const auto share = [&](const char *key) {
      return figure(field[key], 0.01, 10);
    };
    machine.runtimes[name] = {share("products"), share("attention"),
                              share("memory")};
  }
}

Machine MachineReader::read() {
  expectMembers(root, {"name", "description", "target", "sources", "processor",
                       "memory", "overlap_slowdown", "levels", "runtimes"});
  machine.name = root["name"].text();
  if (std::any_of(machine.name.begin(), machine.name.end(),
                  [](char c) { return static_cast<unsigned char>(c) < ' '; }))
    root["name"].fail("expected a name on one line");
  machine.description = root["description"].text();
  machine.target = root["target"].text();
  if (machine.target != cpuTarget && machine.target != cudaTarget)
    root["target"].fail("expected 'cpu' or 'cuda', got '" + machine.target +
                        "'");
  readSources();
  machine.processor = processor(root["processor"]);
  machine.memory = memory(root["memory"]);
  machine.overlapSlowdown = figure(root["overlap_slowdown"], 0, 100);
  readLevels();
  readRuntimes();
  return std::move(machine);
}

StatusOr<Machine> parseMachine(Bytes text, const std::string &path) {
  Machine machine;
  Status status =
      parseFile(text, path, ErrorCode::E0408, [&](const JsonField &root) {
        machine = MachineReader(root).read();
      });
  if (!status.ok())
    return status.setHelp("docs/Machines.md says what a machine file has");
  return machine;
}

StatusOr<Chip> parseChip(Bytes text, const std::string &path) {
  Chip chip;
  Status status =
      parseFile(text, path, ErrorCode::E0408, [&](const JsonField &root) {
        expectMembers(root, {"name", "registers", "threads", "blocks",
                             "shared_bytes", "reserved_bytes", "source"});
        chip = {root["name"].text(),
                root["registers"].integer(1),
                root["threads"].integer(1),
                root["blocks"].integer(1),
                root["shared_bytes"].integer(1),
                root["reserved_bytes"].integer(0),
                parseSource(root["source"])};
      });
  if (!status.ok())
    return status;
  return chip;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static ordered_json toJson(const Figure &figure) {
  return {{"value", figure.value}, {"source", figure.source}};
}

static ordered_json toJson(const Efficiency &efficiency) {
  ordered_json points = ordered_json::array();
  for (const auto &[size, share] : efficiency.curve.points)
    points.push_back({size, share});
  return {{"points", points}, {"source", efficiency.source}};
}

static ordered_json toJson(const Processor &processor) {
  ordered_json object;
  if (!processor.chip.empty())
    object["chip"] = processor.chip;
  object["units"] = toJson(processor.units);
  for (const auto &[dtype, rate] : processor.productRates)
    object["product_operations_per_second"][std::string(dtypeName(dtype))] =
        toJson(rate);
  object["f32_operations_per_second"] = toJson(processor.f32Rate);
  object["f64_operations_per_second"] = toJson(processor.f64Rate);
  object["product_efficiency"] = toJson(processor.products);
  object["convolution_efficiency"] = toJson(processor.convolutions);
  object["attention_efficiency"] = toJson(processor.attention);
  object["attention_backward_efficiency"] = toJson(processor.attentionBackward);
  object["command_seconds"] = toJson(processor.commandSeconds);
  return object;
}

static ordered_json toJson(const MachineMemory &memory) {
  ordered_json object = {
      {"bytes", toJson(memory.bytes)},
      {"bytes_per_second", toJson(memory.bytesPerSecond)},
      {"efficiency", toJson(memory.efficiency)},
      {"context_bytes", toJson(memory.contextBytes)},
      {"communicator_bytes", toJson(memory.communicatorBytes)}};
  if (memory.depthwise)
    object["depthwise_convolution_efficiency"] = toJson(*memory.depthwise);
  return object;
}

static ordered_json toJson(const CollectiveRate &rate) {
  return {{"efficiency", toJson(rate.efficiency)},
          {"start_seconds", toJson(rate.startSeconds)},
          {"step_seconds", toJson(rate.stepSeconds)}};
}

static ordered_json toJson(const NetworkLevel &level) {
  ordered_json object;
  object["name"] = level.name;
  if (level.ranks != 0)
    object["ranks"] = level.ranks;
  object["bytes_per_second"] = toJson(level.bytesPerSecond);
  object["all_gather"] = toJson(level.allGather);
  object["reduce_scatter"] = toJson(level.reduceScatter);
  object["all_reduce"] = toJson(level.allReduce);
  return object;
}

std::string printMachine(const Machine &machine) {
  ordered_json root;
  root["name"] = machine.name;
  root["description"] = machine.description;
  root["target"] = machine.target;
  root["sources"] = ordered_json::object();
  for (const auto &[key, source] : machine.sources)
    root["sources"][key] = {{"title", source.title}, {"date", source.date}};
  root["processor"] = toJson(machine.processor);
  root["memory"] = toJson(machine.memory);
  root["overlap_slowdown"] = toJson(machine.overlapSlowdown);
  root["levels"] = ordered_json::array();
  for (const NetworkLevel &level : machine.levels)
    root["levels"].push_back(toJson(level));
  for (const auto &[name, rates] : machine.runtimes)
    root["runtimes"][name] = {{"products", toJson(rates.products)},
                              {"attention", toJson(rates.attention)},
                              {"memory", toJson(rates.memory)}};
  return root.dump(2) + "\n";
}

} // namespace shardc::format
