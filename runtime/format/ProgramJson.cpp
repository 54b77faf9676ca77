//===- ProgramJson.cpp - program.json -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Prints and parses the program. Members with their usual value (index and
// offset zero, no waits, contiguous strides) are left out.
//===----------------------------------------------------------------------===//

#include "runtime/format/CommandKinds.h"
#include "runtime/format/JsonDocuments.h"
#include "runtime/format/JsonField.h"
#include "runtime/format/JsonLines.h"

#include <algorithm>
#include <array>

using nlohmann::ordered_json;

namespace shardc::format {

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// The strides up to the last one that is not zero.
static std::vector<int64_t> withoutZeros(const AxisStrides &strides) {
  std::vector<int64_t> list(strides.begin(), strides.end());
  while (!list.empty() && list.back() == 0)
    list.pop_back();
  return list;
}

static ordered_json toJson(const BufferReference &reference) {
  ordered_json object;
  object["space"] = spaceName(reference.space);
  if (reference.index != 0)
    object["index"] = reference.index;
  if (reference.offset != 0)
    object["offset"] = reference.offset;
  if (reference.rankStrides != AxisStrides())
    object["rank_strides"] = withoutZeros(reference.rankStrides);
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
  if (kernel.threads != 1)
    object["threads"] = kernel.threads;
  if (kernel.sharedBytes != 0)
    object["shared_bytes"] = kernel.sharedBytes;
  if (kernel.f32Operations != 0)
    object["f32_operations"] = kernel.f32Operations;
  if (kernel.f64Operations != 0)
    object["f64_operations"] = kernel.f64Operations;
  object["operands"] = toJson(kernel.operands);
  return object;
}

static ordered_json toJson(const CommunicatorShape &communicator) {
  ordered_json object;
  object["axes"] = communicator.axes;
  object["stream"] = communicator.stream;
  return object;
}

static ordered_json toJson(const Section &section) {
  ordered_json object;
  object["name"] = section.name;
  if (section.run != Run::Training)
    object["run"] = runNames[static_cast<size_t>(section.run)];
  if (section.repeat != Repeat::Once)
    object["repeat"] = repeatNames[static_cast<size_t>(section.repeat)];
  if (section.condition)
    object["if"] = *section.condition;
  return object;
}

static ordered_json toJson(const Command &command, const Program &program) {
  ordered_json object;
  object["kind"] = kindName(command);
  object["section"] =
      program.sections.at(static_cast<size_t>(command.section)).name;
  object["stream"] = command.stream;
  if (!command.waits.empty())
    object["waits"] = command.waits;
  if (command.records)
    object["records"] = *command.records;
  object["module"] = command.module;
  object["label"] = command.label;
  if (!command.callee.empty())
    object["callee"] = command.callee;
  object["operands"] = toJson(command.operands);
  if (!command.attributes.empty())
    object["attributes"] = toJson(command.attributes);
  if (command.workspace)
    object["workspace"] = toJson(*command.workspace);
  return object;
}

static ordered_json toJson(const Scalar &scalar) {
  return scalarNames[static_cast<size_t>(scalar)];
}

std::string printProgram(const Program &program) {
  ordered_json root;
  root["arena_bytes"] = program.arenaBytes;
  root["streams"] = program.streams;
  root["communicators"] = toJson(program.communicators);
  root["event_count"] = program.eventCount;
  root["scalars"] = toJson(program.scalars);
  root["sections"] = toJson(program.sections);
  root["kernels"] = toJson(program.kernels);
  root["commands"] = ordered_json::array();
  for (const Command &command : program.commands)
    root["commands"].push_back(toJson(command, program));
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

static AxisStrides parseStrides(const JsonField &field) {
  const std::vector<int64_t> list = field.integers();
  AxisStrides strides = {};
  if (list.size() > strides.size())
    field.fail("more than " + std::to_string(maxAxes) + " strides");
  std::copy(list.begin(), list.end(), strides.begin());
  return strides;
}

static BufferReference parseBuffer(const JsonField &field) {
  BufferReference reference;
  reference.space = parseWord<Space>(field["space"], spaceNames, "space");
  reference.index = integerOr(field, "index", 0);
  reference.offset = integerOr(field, "offset", 0);
  if (std::optional<JsonField> strides = field.find("rank_strides"))
    reference.rankStrides = parseStrides(*strides);
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
  kernel.threads = integerOr(field, "threads", 1);
  kernel.sharedBytes = integerOr(field, "shared_bytes", 0);
  kernel.f32Operations = integerOr(field, "f32_operations", 0);
  kernel.f64Operations = integerOr(field, "f64_operations", 0);
  for (const JsonField &element : field["operands"].elements())
    kernel.operands.push_back(
        {element["bytes"].integer(), element["alignment"].integer(),
         parseWord<Access>(element["access"], accessNames, "access")});
  return kernel;
}

static CommandKind parseKind(const JsonField &field) {
  const std::string name = field.text();
  for (const CommandKindInfo &info : commandKinds())
    if (info.name == name)
      return info.kind;
  field.fail("unknown kind of command '" + name + "'");
}

static Section parseSection(const JsonField &field) {
  Section section;
  section.name = field["name"].text();
  if (std::optional<JsonField> run = field.find("run"))
    section.run = parseWord<Run>(*run, runNames, "run");
  if (std::optional<JsonField> repeat = field.find("repeat"))
    section.repeat = parseWord<Repeat>(*repeat, repeatNames, "repeat");
  if (std::optional<JsonField> condition = field.find("if"))
    section.condition = condition->integer();
  return section;
}

static int64_t parseSectionName(const JsonField &field,
                                const std::vector<Section> &sections) {
  const std::string name = field.text();
  for (size_t i = 0; i < sections.size(); ++i)
    if (sections[i].name == name)
      return static_cast<int64_t>(i);
  field.fail("unknown section '" + name + "'");
}

static Command parseCommand(const JsonField &field, const Program &program) {
  Command command;
  command.kind = parseKind(field["kind"]);
  command.section = parseSectionName(field["section"], program.sections);
  command.stream = integerOr(field, "stream", 0);
  if (std::optional<JsonField> waits = field.find("waits"))
    command.waits = waits->integers();
  if (std::optional<JsonField> records = field.find("records"))
    command.records = records->integer();
  if (std::optional<JsonField> module = field.find("module"))
    command.module = module->text();
  if (std::optional<JsonField> label = field.find("label"))
    command.label = label->text();
  if (std::optional<JsonField> callee = field.find("callee"))
    command.callee = callee->text();
  command.operands = parseTensors(field["operands"]);
  if (std::optional<JsonField> attributes = field.find("attributes"))
    command.attributes = attributes->attributes();
  if (std::optional<JsonField> workspace = field.find("workspace"))
    command.workspace = parseBuffer(*workspace);
  return command;
}

StatusOr<Program> parseProgram(Bytes text) {
  Program program;
  Status status = parseDocument(
      text, "program.json", ErrorCode::E0307, [&](const JsonField &root) {
        program.arenaBytes = root["arena_bytes"].integer();
        program.streams = root["streams"].texts();
        for (const JsonField &field : root["communicators"].elements())
          program.communicators.push_back(
              {field["axes"].integers(), field["stream"].integer()});
        program.eventCount = root["event_count"].integer();
        for (const JsonField &field : root["scalars"].elements())
          program.scalars.push_back(
              parseWord<Scalar>(field, scalarNames, "scalar"));
        for (const JsonField &field : root["sections"].elements())
          program.sections.push_back(parseSection(field));
        for (const JsonField &field : root["kernels"].elements())
          program.kernels.push_back(parseKernel(field));
        for (const JsonField &field : root["commands"].elements())
          program.commands.push_back(parseCommand(field, program));
      });
  if (!status.ok())
    return status;
  return program;
}

} // namespace shardc::format
