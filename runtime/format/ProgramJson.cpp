//===- ProgramJson.cpp - program.json -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Prints and parses the program: one pair of functions for each kind of
// command. Members with their usual value (index, offset and byte zero, no
// waits, contiguous strides) are left out.
//
//===----------------------------------------------------------------------===//

#include "runtime/format/JsonDocuments.h"
#include "runtime/format/JsonField.h"
#include "runtime/format/JsonLines.h"

#include <array>

using nlohmann::ordered_json;

namespace shardc::format {

static constexpr std::array<std::string_view, 5> spaceNames = {
    "arena", "state", "input", "scalar", "constant"};
static constexpr std::array<std::string_view, 3> sectionNames = {
    "begin", "micro_batch", "update"};
static constexpr std::array<std::string_view, 3> scalarNames = {
    "learning_rate", "gradient_scale", "bias_correction"};
static constexpr std::array<std::string_view, 3> accessNames = {"read", "write",
                                                                "read_write"};

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static ordered_json toJson(const BufferReference &reference) {
  ordered_json object;
  object["space"] = spaceNames[static_cast<size_t>(reference.space)];
  if (reference.index != 0)
    object["index"] = reference.index;
  if (reference.offset != 0)
    object["offset"] = reference.offset;
  if (reference.rankStride != 0)
    object["rank_stride"] = reference.rankStride;
  object["bytes"] = reference.bytes;
  return object;
}

static ordered_json toJson(const TensorReference &reference) {
  ordered_json object = toJson(reference.buffer);
  object["dtype"] = dtypeName(reference.dtype);
  object["shape"] = reference.shape;
  if (!reference.strides.empty())
    object["strides"] = reference.strides;
  return object;
}

static ordered_json toJson(const KernelOperand &operand) {
  ordered_json object;
  object["bytes"] = operand.bytes;
  object["alignment"] = operand.alignment;
  object["access"] = accessNames[static_cast<size_t>(operand.access)];
  return object;
}

template <typename Element>
static ordered_json toJson(const std::vector<Element> &elements) {
  ordered_json array = ordered_json::array();
  for (const Element &element : elements)
    array.push_back(toJson(element));
  return array;
}

static ordered_json toJson(const KernelSignature &kernel) {
  ordered_json object;
  object["name"] = kernel.name;
  object["extent"] = kernel.extent;
  object["operands"] = toJson(kernel.operands);
  return object;
}

static void print(const LaunchCommand &command, ordered_json &object) {
  object["kernel"] = command.kernel;
  object["extent"] = command.extent;
  object["operands"] = toJson(command.operands);
}

static void print(const LibraryCommand &command, ordered_json &object) {
  object["call"] = command.call;
  object["attributes"] = toJson(command.attributes);
  object["operands"] = toJson(command.operands);
  object["results"] = toJson(command.results);
}

static void print(const AllGatherCommand &command, ordered_json &object) {
  object["buffer"] = toJson(command.buffer);
  object["slot_bytes"] = command.slotBytes;
}

static void print(const ReduceScatterCommand &command, ordered_json &object) {
  object["buffer"] = toJson(command.buffer);
  object["dtype"] = dtypeName(command.dtype);
  object["elements"] = command.elements;
  object["output"] = toJson(command.output);
}

static void print(const AllReduceCommand &command, ordered_json &object) {
  object["buffer"] = toJson(command.buffer);
  object["dtype"] = dtypeName(command.dtype);
  object["elements"] = command.elements;
  if (command.doubleDouble)
    object["double_double"] = true;
}

static void print(const CopyCommand &command, ordered_json &object) {
  object["source"] = toJson(command.source);
  object["target"] = toJson(command.target);
}

static void print(const FillCommand &command, ordered_json &object) {
  object["target"] = toJson(command.target);
  object["byte"] = command.byte;
}

static ordered_json toJson(const Command &command) {
  ordered_json object;
  object["kind"] = commandKind(command.action);
  object["section"] = sectionNames[static_cast<size_t>(command.section)];
  object["stream"] = command.stream;
  if (!command.waits.empty())
    object["waits"] = command.waits;
  if (command.records)
    object["records"] = *command.records;
  object["module"] = command.module;
  object["label"] = command.label;
  std::visit([&](const auto &action) { print(action, object); },
             command.action);
  return object;
}

static ordered_json toJson(const Scalar &scalar) {
  ordered_json object;
  object["kind"] = scalarNames[static_cast<size_t>(scalar.kind)];
  object["dtype"] = dtypeName(scalar.dtype);
  if (scalar.kind == ScalarKind::BiasCorrection)
    object["beta"] = scalar.beta;
  return object;
}

std::string printProgram(const Program &program) {
  ordered_json root;
  root["arena_bytes"] = program.arenaBytes;
  root["streams"] = program.streams;
  root["event_count"] = program.eventCount;
  root["scalars"] = toJson(program.scalars);
  root["kernels"] = toJson(program.kernels);
  root["commands"] = toJson(program.commands);
  return printLines(root);
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

/// The position of a word in `names`, as the enumeration that it spells.
template <typename Enumeration, size_t Count>
static Enumeration parseWord(const JsonField &field,
                             const std::array<std::string_view, Count> &names,
                             const std::string &what) {
  const std::string word = field.text();
  for (size_t i = 0; i < Count; ++i)
    if (names[i] == word)
      return static_cast<Enumeration>(i);
  field.fail("unknown " + what + " '" + word + "'");
}

static int64_t integerOr(const JsonField &object, const std::string &key,
                         int64_t absent) {
  const std::optional<JsonField> field = object.find(key);
  return field ? field->integer() : absent;
}

static BufferReference parseBuffer(const JsonField &field) {
  BufferReference reference;
  reference.space = parseWord<Space>(field["space"], spaceNames, "space");
  reference.index = integerOr(field, "index", 0);
  reference.offset = integerOr(field, "offset", 0);
  reference.rankStride = integerOr(field, "rank_stride", 0);
  reference.bytes = field["bytes"].integer();
  return reference;
}

static TensorReference parseTensor(const JsonField &field) {
  TensorReference reference;
  reference.buffer = parseBuffer(field);
  reference.dtype = field["dtype"].dtype();
  reference.shape = field["shape"].integers();
  if (std::optional<JsonField> strides = field.find("strides"))
    reference.strides = strides->integers();
  return reference;
}

static std::vector<TensorReference> parseTensors(const JsonField &field) {
  std::vector<TensorReference> tensors;
  for (const JsonField &element : field.elements())
    tensors.push_back(parseTensor(element));
  return tensors;
}

static KernelSignature parseKernel(const JsonField &field) {
  KernelSignature kernel{field["name"].text(), field["extent"].integer(), {}};
  for (const JsonField &element : field["operands"].elements())
    kernel.operands.push_back(
        {element["bytes"].integer(), element["alignment"].integer(),
         parseWord<Access>(element["access"], accessNames, "access")});
  return kernel;
}

static Action parseLaunch(const JsonField &field) {
  LaunchCommand command{field["kernel"].text(), field["extent"].integer(), {}};
  for (const JsonField &element : field["operands"].elements())
    command.operands.push_back(parseBuffer(element));
  return command;
}

static Action parseLibrary(const JsonField &field) {
  LibraryCommand command;
  command.call = field["call"].text();
  if (std::optional<JsonField> attributes = field.find("attributes"))
    command.attributes = attributes->attributes();
  command.operands = parseTensors(field["operands"]);
  command.results = parseTensors(field["results"]);
  return command;
}

static Action parseAllGather(const JsonField &field) {
  return AllGatherCommand{parseBuffer(field["buffer"]),
                          field["slot_bytes"].integer()};
}

static Action parseReduceScatter(const JsonField &field) {
  return ReduceScatterCommand{
      parseBuffer(field["buffer"]), field["dtype"].dtype(),
      field["elements"].integer(), parseBuffer(field["output"])};
}

static Action parseAllReduce(const JsonField &field) {
  const std::optional<JsonField> pairs = field.find("double_double");
  return AllReduceCommand{parseBuffer(field["buffer"]), field["dtype"].dtype(),
                          field["elements"].integer(),
                          pairs && pairs->boolean()};
}

static Action parseCopy(const JsonField &field) {
  return CopyCommand{parseBuffer(field["source"]),
                     parseBuffer(field["target"])};
}

static Action parseFill(const JsonField &field) {
  const std::optional<JsonField> byte = field.find("byte");
  return FillCommand{parseBuffer(field["target"]),
                     static_cast<uint8_t>(byte ? byte->integer(0, 255) : 0)};
}

static Action parseAction(const JsonField &field) {
  static const std::map<std::string, Action (*)(const JsonField &)> parsers = {
      {"launch", parseLaunch},
      {"library", parseLibrary},
      {"all_gather", parseAllGather},
      {"reduce_scatter", parseReduceScatter},
      {"all_reduce", parseAllReduce},
      {"copy", parseCopy},
      {"fill", parseFill}};
  const JsonField kind = field["kind"];
  auto parser = parsers.find(kind.text());
  if (parser == parsers.end())
    kind.fail("unknown kind of command '" + kind.text() + "'");
  return parser->second(field);
}

static Command parseCommand(const JsonField &field) {
  Command command;
  command.section =
      parseWord<Section>(field["section"], sectionNames, "section");
  command.stream = integerOr(field, "stream", 0);
  if (std::optional<JsonField> waits = field.find("waits"))
    command.waits = waits->integers();
  if (std::optional<JsonField> records = field.find("records"))
    command.records = records->integer();
  if (std::optional<JsonField> module = field.find("module"))
    command.module = module->text();
  if (std::optional<JsonField> label = field.find("label"))
    command.label = label->text();
  command.action = parseAction(field);
  return command;
}

static Scalar parseScalar(const JsonField &field) {
  Scalar scalar;
  scalar.kind = parseWord<ScalarKind>(field["kind"], scalarNames, "scalar");
  if (std::optional<JsonField> dtype = field.find("dtype"))
    scalar.dtype = dtype->dtype();
  if (scalar.kind == ScalarKind::BiasCorrection)
    scalar.beta = field["beta"].number();
  return scalar;
}

StatusOr<Program> parseProgram(Bytes text) {
  Program program;
  Status status = parseDocument(
      text, "program.json", ErrorCode::E0307, [&](const JsonField &root) {
        program.arenaBytes = root["arena_bytes"].integer();
        program.streams = root["streams"].texts();
        program.eventCount = root["event_count"].integer();
        for (const JsonField &field : root["scalars"].elements())
          program.scalars.push_back(parseScalar(field));
        for (const JsonField &field : root["kernels"].elements())
          program.kernels.push_back(parseKernel(field));
        for (const JsonField &field : root["commands"].elements())
          program.commands.push_back(parseCommand(field));
      });
  if (!status.ok())
    return status;
  return program;
}

} // namespace shardc::format
