//===- ProgramValidator.cpp - Rules F5 to F19, F21 to F23 -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Checks every command of a program: its place in the order of events, its
// operands, and what only its kind asks for. One function for each kind that
// asks for something.
//===----------------------------------------------------------------------===//

#include "runtime/format/CallWorkspace.h"
#include "runtime/format/CommandKinds.h"
#include "runtime/format/LibraryCalls.h"
#include "runtime/format/Validator.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardc::format {

namespace {
class ProgramValidator {
public:
  explicit ProgramValidator(const Artifact &artifact)
      : artifact(artifact), program(artifact.program),
        mesh(artifact.manifest.mesh) {}

  Status run();

private:
  Status checkHeader();
  Status checkKernels();
  Status checkCommunicators();
  void check(const KernelSignature &kernel);
  void checkEvents(const Command &command);

  void checkCommand(const Command &command);
  void checkForm(const Command &command);
  void checkOperands(const Command &command,
                     const std::vector<Access> &accesses);
  void checkWorkspace(const Command &command);
  void checkKind(const Command &command);
  void checkLaunch(const Command &command);
  void checkCollective(const Command &command);
  void checkStrides(const BufferReference &reference, int64_t size);
  void checkAllGather(const Command &command);
  void checkReduceScatter(const Command &command);
  void checkAllReduce(const Command &command);
  void checkCopy(const Command &command);
  int64_t countMembers(const Command &command) const {
    return mesh.countMembers(communicatorOf(command, program).axes);
  }
  bool isContiguous(const TensorReference &tensor, const char *rule);

  std::optional<int64_t> spaceBytes(const BufferReference &reference) const;
  void checkRange(const BufferReference &reference, Access access,
                  int64_t alignment);
  void checkTensor(const TensorReference &tensor, Access access);
  void require(bool holds, const char *rule, const std::string &complaint);

  const Artifact &artifact;
  const Program &program;
  const Mesh &mesh;
  /// The signatures by their kernels' names.
  std::map<std::string_view, const KernelSignature *> kernels;
  /// For each event whether a command of the section before the current one
  /// records it.
  std::vector<bool> recorded;
  Status status;
};
} // namespace

void ProgramValidator::require(bool holds, const char *rule,
                               const std::string &complaint) {
  if (!holds && status.ok())
    status = Status(ErrorCode::E0309,
                    std::string("breaks rule ") + rule + ": " + complaint);
}

/// The size of the space that a reference points into, none if its index is
/// wrong.
std::optional<int64_t>
ProgramValidator::spaceBytes(const BufferReference &reference) const {
  const auto index = static_cast<size_t>(reference.index);
  auto inside = [&](size_t count) {
    return reference.index >= 0 && index < count;
  };
  const Parameters &parameters = artifact.parameters;
  switch (reference.space) {
  case Space::Arena:
    if (reference.index == 0)
      return program.arenaBytes;
    break;
  case Space::State:
    if (inside(parameters.states.size()))
      return parameters.states[index].elements *
             byteSize(parameters.states[index].dtype);
    break;
  case Space::Input:
    if (inside(parameters.inputs.size()))
      return elementCount(parameters.inputs[index].shape) *
             byteSize(parameters.inputs[index].dtype);
    break;
  case Space::Scalar:
    if (inside(program.scalars.size()))
      return byteSize(dtypeOf(program.scalars[index]));
    break;
  }
  return std::nullopt;
}

/// Whether the range begins at a multiple of `alignment` on every rank; spaces
/// begin at multiples of 64.
static bool isAligned(const BufferReference &reference, int64_t alignment) {
  return reference.offset % alignment == 0 &&
         std::all_of(reference.rankStrides.begin(), reference.rankStrides.end(),
                     [&](int64_t stride) { return stride % alignment == 0; });
}

/// F5: a range of a space of `size` bytes lies inside on every rank.
void ProgramValidator::checkStrides(const BufferReference &reference,
                                    int64_t size) {
  // The last rank's range is the furthest; the division keeps products small.
  int64_t room = size - reference.bytes - reference.offset;
  for (size_t axis = 0; axis < maxAxes; ++axis) {
    const int64_t stride = reference.rankStrides[axis];
    const int64_t last = axis < mesh.axes.size() ? mesh.axes[axis].size - 1 : 0;
    require(stride >= 0 && (axis < mesh.axes.size() || stride == 0) &&
                (last == 0 || stride <= room / last),
            "F5",
            "rank stride " + std::to_string(stride) + " leaves the " +
                spaceName(reference.space) + " of " + std::to_string(size) +
                " bytes");
    if (!status.ok())
      return;
    room -= last * stride;
  }
}

void ProgramValidator::checkRange(const BufferReference &reference,
                                  Access access, int64_t alignment) {
  const std::string space = spaceName(reference.space);
  const std::optional<int64_t> size = spaceBytes(reference);
  require(size.has_value(), "F5",
          "there is no " + space + " " + std::to_string(reference.index));
  if (!size)
    return;
  require(reference.offset >= 0 && reference.bytes >= 0 &&
              reference.offset <= *size &&
              reference.bytes <= *size - reference.offset,
          "F5",
          std::to_string(reference.bytes) + " bytes at offset " +
              std::to_string(reference.offset) + " leave the " + space +
              " of " + std::to_string(*size) + " bytes");
  if (status.ok())
    checkStrides(reference, *size);
  require(isAligned(reference, alignment), "F5",
          "offset " + std::to_string(reference.offset) +
              " is not a multiple of " + std::to_string(alignment));
  require(access == Access::Read || reference.space == Space::Arena ||
              reference.space == Space::State,
          "F6", "a command writes into " + space + " memory");
}

/// Whether products of the extents stay far from overflowing, even where one
/// of them is zero.
static bool isBounded(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) {
    const int64_t factor = std::max<int64_t>(extent, 1);
    if (extent < 0 || factor > maxElements / count)
      return false;
    count *= factor;
  }
  return true;
}

void ProgramValidator::checkTensor(const TensorReference &tensor,
                                   Access access) {
  const int64_t elementBytes = byteSize(tensor.dtype);
  checkRange(tensor.buffer, access, elementBytes);
  require(tensor.strides.empty() ||
              tensor.strides.size() == tensor.shape.size(),
          "F7", "a tensor has another number of strides than dimensions");
  require(isBounded(tensor.shape), "F7",
          "a tensor has a negative extent or too many elements");
  if (!status.ok() || std::count(tensor.shape.begin(), tensor.shape.end(), 0))
    return;
  // The last element's position; stops as soon as it leaves the range, so that
  // nothing overflows.
  const int64_t room = tensor.buffer.bytes / elementBytes;
  int64_t last = 0, dense = 1;
  bool inside = room > 0;
  for (size_t i = tensor.shape.size(); inside && i-- > 0;) {
    const int64_t extent = tensor.shape[i];
    const int64_t stride = tensor.strides.empty() ? dense : tensor.strides[i];
    inside = extent > 0 && stride >= 0 &&
             (extent == 1 || stride == 0 || extent - 1 <= room / stride);
    if (!inside)
      break;
    last += extent > 1 ? (extent - 1) * stride : 0;
    inside = last < room;
    dense *= extent;
  }
  require(inside, "F7",
          "a tensor leaves its range of " +
              std::to_string(tensor.buffer.bytes) + " bytes");
}

/// Whether two ranges have a byte in common on one of the ranks.
static bool overlap(const BufferReference &a, const BufferReference &b,
                    const Mesh &mesh) {
  return a.space == b.space && a.index == b.index &&
         overlap({a.offset, a.bytes, a.rankStrides},
                 {b.offset, b.bytes, b.rankStrides}, mesh);
}

void ProgramValidator::checkEvents(const Command &command) {
  require(command.stream >= 0 &&
              command.stream < static_cast<int64_t>(program.streams.size()),
          "F8",
          "stream " + std::to_string(command.stream) + " of " +
              std::to_string(program.streams.size()));
  for (const int64_t event : command.waits)
    require(event >= 0 && event < program.eventCount &&
                recorded[static_cast<size_t>(event)],
            "F9",
            "waits for event " + std::to_string(event) +
                ", which no earlier command of its section records");
  if (!command.records)
    return;
  const int64_t event = *command.records;
  require(event >= 0 && event < program.eventCount &&
              !recorded[static_cast<size_t>(event)],
          "F9",
          "records event " + std::to_string(event) + " of " +
              std::to_string(program.eventCount) +
              ", or records it a second time");
  if (status.ok())
    recorded[static_cast<size_t>(event)] = true;
}

/// F16.
void ProgramValidator::check(const KernelSignature &kernel) {
  require(kernels.emplace(kernel.name, &kernel).second, "F16",
          "there are two kernels '" + kernel.name + "'");
  const std::string wrong =
      checkSignature(kernel, artifact.manifest.target.kind == cpuTarget);
  require(wrong.empty(), "F16", wrong);
}

/// F18.
void ProgramValidator::checkForm(const Command &command) {
  const CommandKindInfo &info = infoOf(command.kind);
  require(info.hasCallee != command.callee.empty(), "F18",
          info.hasCallee ? "it names no callee"
                         : "it names a callee, '" + command.callee + "'");
  require(info.hasCallee || info.takes(command.operands.size()), "F18",
          "it takes " + std::to_string(info.operands.size()) +
              " operands, got " + std::to_string(command.operands.size()));
  // A library call's attributes are its own affair.
  if (command.kind == CommandKind::Call)
    return;
  for (const auto &[name, value] : command.attributes) {
    const auto rule = std::find_if(
        info.attributes.begin(), info.attributes.end(),
        [&](const AttributeRule &one) { return one.name == name; });
    require(rule != info.attributes.end() &&
                rule->usual.index() == value.index(),
            "F18", "attribute '" + name + "' is unknown or has another type");
  }
}

/// F5 to F7 and F22 for each operand, F17 for each pair.
void ProgramValidator::checkOperands(const Command &command,
                                     const std::vector<Access> &accesses) {
  for (size_t i = 0; i < accesses.size(); ++i)
    checkTensor(command.operands[i], accesses[i]);
  const std::string wrong = status.ok() ? checkScalars(program, command) : "";
  require(wrong.empty(), "F22", wrong);
  for (size_t i = 0; status.ok() && i < accesses.size(); ++i)
    for (size_t j = 0; j < accesses.size() && accesses[i] != Access::Read; ++j)
      require(i == j || !overlap(command.operands[i].buffer,
                                 command.operands[j].buffer, mesh),
              "F17",
              "operand " + std::to_string(i) + " is written and overlaps " +
                  "operand " + std::to_string(j));
}

void ProgramValidator::checkLaunch(const Command &command) {
  const KernelSignature &kernel = *kernels.find(command.callee)->second;
  const auto extent = attributeOr<int64_t>(command.attributes, "extent", 0);
  require(extent >= 0 && extent <= kernel.extent, "F10",
          "extent " + std::to_string(extent) + " is not from 0 to " +
              std::to_string(kernel.extent) + ", the greatest of kernel '" +
              kernel.name + "'");
  for (size_t i = 0; i < command.operands.size(); ++i) {
    const BufferReference &operand = command.operands[i].buffer;
    const KernelOperand &expected = kernel.operands[i];
    const std::string name =
        "operand " + std::to_string(i) + " of kernel '" + kernel.name + "'";
    require(operand.bytes == expected.bytes, "F10",
            name + " has " + std::to_string(expected.bytes) + " bytes, got " +
                std::to_string(operand.bytes));
    require(isAligned(operand, expected.alignment), "F10",
            name + " must begin at a multiple of " +
                std::to_string(expected.alignment) + " bytes on every rank");
  }
}

/// Whether the tensor is row-major and all of its range.
bool ProgramValidator::isContiguous(const TensorReference &tensor,
                                    const char *rule) {
  require(tensor.strides.empty() &&
              elementCount(tensor.shape) * byteSize(tensor.dtype) ==
                  tensor.buffer.bytes,
          rule, "an operand is not the whole of its range, in row-major order");
  return status.ok();
}

void ProgramValidator::checkAllGather(const Command &command) {
  const int64_t bytes = command.operands[0].buffer.bytes;
  const auto slot = attributeOr<int64_t>(command.attributes, "slot_bytes", 0);
  isContiguous(command.operands[0], "F12");
  const int64_t members = countMembers(command);
  require(slot >= 0 && slot <= bytes / members && slot * members == bytes,
          "F12",
          "a buffer of " + std::to_string(bytes) + " bytes is not " +
              std::to_string(members) + " slots of " + std::to_string(slot));
}

void ProgramValidator::checkReduceScatter(const Command &command) {
  const TensorReference &buffer = command.operands[0];
  const TensorReference &output = command.operands[1];
  if (!isContiguous(buffer, "F13") || !isContiguous(output, "F13"))
    return;
  require(isFloat(buffer.dtype), "F13", "the buffer must be of floats");
  const int64_t elements = elementCount(output.shape);
  const int64_t all = elementCount(buffer.shape);
  const int64_t members = countMembers(command);
  require(elements <= all / members && elements * members == all, "F13",
          "a buffer of " + std::to_string(all) + " elements is not " +
              std::to_string(members) + " times " + std::to_string(elements));
  require((output.dtype == Dtype::F32 || output.dtype == Dtype::F64) &&
              isLossless(buffer.dtype, output.dtype) &&
              output.buffer.rankStrides == AxisStrides(),
          "F13",
          "the output must be f32 or f64, not narrower than the buffer, and at "
          "the same place on each rank");
  if (command.operands.size() > 2) {
    const TensorReference &number = command.operands[2];
    require(number.buffer.space == Space::Scalar &&
                program.scalars[static_cast<size_t>(number.buffer.index)] ==
                    Scalar::MicroBatch,
            "F13", "the third operand must be the scalar 'micro_batch'");
  }
  if (!status.ok() || output.buffer.space != Space::State)
    return;
  const State &state =
      artifact.parameters.states[static_cast<size_t>(output.buffer.index)];
  require(output.dtype == state.dtype && output.buffer.offset == 0 &&
              state.elements == elements,
          "F13",
          "the output must be the whole of a state with " +
              std::to_string(elements) + " elements");
}

void ProgramValidator::checkAllReduce(const Command &command) {
  const TensorReference &buffer = command.operands[0];
  isContiguous(buffer, "F14");
  require(buffer.dtype == Dtype::F32 || buffer.dtype == Dtype::F64, "F14",
          "the buffer must be f32 or f64");
  require(
      !attributeOr(command.attributes, "double_double", false) ||
          (buffer.dtype == Dtype::F64 && elementCount(buffer.shape) % 2 == 0),
      "F14", "double_double needs pairs of f64");
}

void ProgramValidator::checkCopy(const Command &command) {
  const TensorReference &source = command.operands[0];
  const TensorReference &target = command.operands[1];
  if (!isContiguous(source, "F15") || !isContiguous(target, "F15"))
    return;
  require(source.buffer.bytes == target.buffer.bytes, "F15",
          "copies " + std::to_string(source.buffer.bytes) + " bytes into " +
              std::to_string(target.buffer.bytes));
}

/// F21 for a command.
void ProgramValidator::checkCollective(const Command &command) {
  const auto number =
      attributeOr<int64_t>(command.attributes, "communicator", 0);
  const auto count = static_cast<int64_t>(program.communicators.size());
  require(number >= 0 && number < count, "F21",
          "communicator " + std::to_string(number) + " of " +
              std::to_string(count));
  if (!status.ok())
    return;
  const int64_t stream = communicatorOf(command, program).stream;
  require(stream == command.stream, "F21",
          "communicator " + std::to_string(number) + " is on stream " +
              std::to_string(stream) + ", the command on stream " +
              std::to_string(command.stream));
}

/// F23, of a call with the operands that it takes.
void ProgramValidator::checkWorkspace(const Command &command) {
  const bool isCall = command.kind == CommandKind::Call;
  const bool isCpu = artifact.manifest.target.kind == cpuTarget;
  require(!command.workspace || (isCall && !isCpu), "F23",
          "only library calls on a GPU have a workspace");
  if (!status.ok() || !isCall || isCpu)
    return;
  const int64_t min = kernelWorkspaceBytes(command);
  const BufferReference range = command.workspace.value_or(BufferReference());
  require(range.bytes >= min, "F23",
          "a workspace of at least " + std::to_string(min) +
              " bytes is needed, got " + std::to_string(range.bytes));
  if (!status.ok() || !command.workspace)
    return;
  checkRange(range, Access::Write, workspaceAlignment);
  require(range.space == Space::Arena && range.rankStrides == AxisStrides(),
          "F23", "a workspace is in the arena, at the same place on each rank");
  for (const TensorReference &operand : command.operands)
    require(!overlap(range, operand.buffer, mesh), "F17",
            "the workspace overlaps an operand");
}

void ProgramValidator::checkKind(const Command &command) {
  switch (command.kind) {
  case CommandKind::Launch:
    return;
  case CommandKind::Call:
    if (Status call = checkLibraryCall(command); !call.ok())
      require(false, "F11", call.message());
    return;
  case CommandKind::AllGather:
    return checkAllGather(command);
  case CommandKind::ReduceScatter:
    return checkReduceScatter(command);
  case CommandKind::AllReduce:
    return checkAllReduce(command);
  case CommandKind::Copy:
    return checkCopy(command);
  case CommandKind::Fill: {
    const auto byte = attributeOr<int64_t>(command.attributes, "byte", 0);
    require(byte >= 0 && byte <= 255, "F18", "attribute 'byte' is no byte");
    isContiguous(command.operands[0], "F18");
    return;
  }
  }
}

void ProgramValidator::checkCommand(const Command &command) {
  checkEvents(command);
  checkForm(command);
  if (command.kind == CommandKind::Launch) {
    require(!artifact.code.empty(), "F10", "the artifact has no code");
    const auto kernel = kernels.find(command.callee);
    require(kernel != kernels.end(), "F10",
            "there is no kernel '" + command.callee + "'");
    require(kernel == kernels.end() ||
                kernel->second->operands.size() == command.operands.size(),
            "F10",
            "kernel '" + command.callee +
                "' takes another number of operands "
                "than " +
                std::to_string(command.operands.size()));
  }
  if (!status.ok())
    return;
  std::optional<std::vector<Access>> accesses = accessesOf(command, program);
  require(accesses.has_value(), "F11",
          "there is no library call '" + command.callee +
              "' that takes these operands");
  if (!accesses)
    return;
  // A kernel's signature says more of its operands than they do.
  if (command.kind == CommandKind::Launch)
    checkLaunch(command);
  if (status.ok())
    checkOperands(command, *accesses);
  if (status.ok() && isCollective(command.kind))
    checkCollective(command);
  if (status.ok())
    checkKind(command);
  if (status.ok())
    checkWorkspace(command);
}

Status ProgramValidator::checkHeader() {
  constexpr int64_t maxEvents = 1 << 24;
  require(program.eventCount >= 0 && program.eventCount <= maxEvents, "F9",
          std::to_string(program.eventCount) + " events exceed the limit of " +
              std::to_string(maxEvents));
  require(program.arenaBytes >= 0 && program.arenaBytes < (int64_t(1) << 50),
          "F5", "arena of " + std::to_string(program.arenaBytes) + " bytes");
  return status;
}

Status ProgramValidator::checkKernels() {
  for (const KernelSignature &kernel : program.kernels) {
    check(kernel);
    if (!status.ok())
      break;
  }
  return status;
}

/// F20 and F21 for the table.
Status ProgramValidator::checkCommunicators() {
  const auto streams = static_cast<int64_t>(program.streams.size());
  for (size_t i = 0; i < program.communicators.size(); ++i) {
    const CommunicatorShape &one = program.communicators[i];
    const std::string quoted = "communicator " + std::to_string(i);
    require(areAxesOf(mesh, one.axes), "F20",
            quoted + " names axes that the mesh does not have, or not in "
                     "order");
    require(one.stream >= 0 && one.stream < streams, "F21",
            quoted + " is on stream " + std::to_string(one.stream) + " of " +
                std::to_string(streams));
    require(std::count(program.communicators.begin(),
                       program.communicators.end(), one) == 1,
            "F21", quoted + " appears twice");
  }
  return status;
}

Status ProgramValidator::run() {
  if (checkHeader().ok() && checkCommunicators().ok()) {
    const std::string complaint =
        checkSections(program, artifact.parameters.states);
    require(complaint.empty(), "F19", complaint);
  }
  if (!status.ok() || !checkKernels().ok())
    return Status(ErrorCode::E0309, "program.json " + status.message());
  // Running order: section by section, each in list order.
  for (size_t section = 0; section < program.sections.size(); ++section) {
    recorded.assign(static_cast<size_t>(program.eventCount), false);
    for (size_t i = 0; i < program.commands.size(); ++i) {
      const Command &command = program.commands[i];
      if (command.section != static_cast<int64_t>(section))
        continue;
      checkCommand(command);
      if (!status.ok())
        return Status(ErrorCode::E0309, "program.json, command " +
                                            std::to_string(i) + " (" +
                                            std::string(kindName(command)) +
                                            ") " + status.message())
            .addNote("in " + moduleOf(command) + ", '" + command.label + "'");
    }
  }
  return Status();
}

Status validateProgram(const Artifact &artifact) {
  return ProgramValidator(artifact).run();
}

Status validate(const Artifact &artifact) {
  if (Status status =
          validateParameters(artifact.parameters, artifact.manifest.mesh);
      !status.ok())
    return status;
  return validateProgram(artifact);
}

} // namespace shardc::format
