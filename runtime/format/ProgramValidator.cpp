//===- ProgramValidator.cpp - rules F5 to F17 -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Checks every command of a program: its byte ranges, its place in the order
// of events, and the arguments of its kind. One function for each kind.
//
//===----------------------------------------------------------------------===//

#include "runtime/format/LibraryCalls.h"
#include "runtime/format/Validator.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <map>

namespace shardc::format {

namespace {
/// No tensor has more elements and no launch more iterations.
constexpr int64_t mostElements = int64_t(1) << 48;

class ProgramValidator {
public:
  explicit ProgramValidator(const Artifact &artifact)
      : artifact(artifact), program(artifact.program),
        worldSize(artifact.manifest.worldSize) {}

  Status run();

private:
  Status checkHeader();
  Status checkKernels();
  void check(const KernelSignature &kernel);
  void checkEvents(const Command &command);

  void check(const LaunchCommand &command);
  void checkOperand(const LaunchCommand &command, const KernelSignature &kernel,
                    size_t index);
  void check(const LibraryCommand &command);
  void check(const AllGatherCommand &command);
  void check(const ReduceScatterCommand &command);
  void check(const AllReduceCommand &command);
  void check(const CopyCommand &command);
  void check(const FillCommand &command);

  std::optional<int64_t> spaceBytes(const BufferReference &reference) const;
  void checkRange(const BufferReference &reference, Access access,
                  int64_t alignment);
  void checkTensor(const TensorReference &tensor, Access access);
  void checkSeparate(const BufferReference &written,
                     const BufferReference &other, const std::string &what);
  void require(bool holds, const char *rule, const std::string &complaint);

  const Artifact &artifact;
  const Program &program;
  const int64_t worldSize;
  /// The signatures by their kernels' names.
  std::map<std::string_view, const KernelSignature *> kernels;
  /// For each event whether a command before the current one records it.
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
  case Space::Constant:
    if (reference.index == 0)
      return static_cast<int64_t>(artifact.constants.size());
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
      return byteSize(program.scalars[index].dtype);
    break;
  }
  return std::nullopt;
}

/// Whether the range begins at a multiple of `alignment` on every rank; spaces
/// begin at multiples of 64.
static bool isAligned(const BufferReference &reference, int64_t alignment) {
  return reference.offset % alignment == 0 &&
         reference.rankStride % alignment == 0;
}

void ProgramValidator::checkRange(const BufferReference &reference,
                                  Access access, int64_t alignment) {
  static const char *const names[] = {"arena", "state", "input", "scalar",
                                      "constant"};
  const std::string space = names[static_cast<size_t>(reference.space)];
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
  if (!status.ok())
    return;
  // The last rank's range is the furthest; the division keeps the product
  // small.
  const int64_t stride = reference.rankStride;
  require(stride >= 0 && stride <= *size / worldSize &&
              stride * (worldSize - 1) <=
                  *size - reference.bytes - reference.offset,
          "F5",
          "rank stride " + std::to_string(stride) + " leaves the " + space +
              " of " + std::to_string(*size) + " bytes");
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
    if (extent < 0 || factor > mostElements / count)
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

/// Whether ranges that lie inside their spaces have a byte in common on one of
/// the ranks.
static bool overlap(const BufferReference &a, const BufferReference &b,
                    int64_t worldSize) {
  if (a.space != b.space || a.index != b.index || a.bytes == 0 || b.bytes == 0)
    return false;
  // On rank r, b begins `distance` + r * `drift` bytes behind a, and they meet
  // where that is in (-b.bytes, a.bytes).
  const int64_t distance = b.offset - a.offset;
  const int64_t drift = b.rankStride - a.rankStride;
  if (drift < 0)
    return overlap(b, a, worldSize);
  if (drift == 0)
    return -b.bytes < distance && distance < a.bytes;
  // The first rank on which b does not end before a.
  const int64_t before = -b.bytes - distance;
  const int64_t rank = before < 0 ? 0 : before / drift + 1;
  return rank < worldSize && distance + rank * drift < a.bytes;
}

/// F17 for one pair of a command.
void ProgramValidator::checkSeparate(const BufferReference &written,
                                     const BufferReference &other,
                                     const std::string &what) {
  if (status.ok() && overlap(written, other, worldSize))
    require(false, "F17", what + " overlaps another operand or result");
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
                ", which no earlier command records");
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

static bool isSymbolName(const std::string &name) {
  return !name.empty() && name.size() < 1024 &&
         std::all_of(
             name.begin(), name.end(),
             [](unsigned char character) {
               return std::isalnum(character) || character == '_' ||
                      character == '.' || character == '$';
             });
}

/// F16.
void ProgramValidator::check(const KernelSignature &kernel) {
  constexpr size_t mostOperands = 1024;
  constexpr uint64_t mostAlignment = 64;
  require(isSymbolName(kernel.name), "F16",
          "kernel name '" + kernel.name + "' is no symbol");
  require(kernels.emplace(kernel.name, &kernel).second, "F16",
          "there are two kernels '" + kernel.name + "'");
  require(kernel.extent >= 0 && kernel.extent <= mostElements, "F16",
          "greatest extent " + std::to_string(kernel.extent) + " of kernel '" +
              kernel.name + "' is not from 0 to " +
              std::to_string(mostElements));
  require(kernel.operands.size() <= mostOperands, "F16",
          "kernel '" + kernel.name + "' has more than " +
              std::to_string(mostOperands) + " operands");
  for (const KernelOperand &operand : kernel.operands) {
    const auto alignment = static_cast<uint64_t>(operand.alignment);
    require(operand.bytes >= 0 && std::has_single_bit(alignment) &&
                alignment <= mostAlignment,
            "F16",
            "kernel '" + kernel.name + "' has an operand of " +
                std::to_string(operand.bytes) + " bytes at multiples of " +
                std::to_string(operand.alignment));
  }
}

void ProgramValidator::check(const LaunchCommand &command) {
  require(!artifact.kernels.empty(), "F10", "the artifact has no kernels.so");
  const auto found = kernels.find(command.kernel);
  require(found != kernels.end(), "F10",
          "there is no kernel '" + command.kernel + "'");
  if (!status.ok())
    return;
  const KernelSignature &kernel = *found->second;
  require(command.extent >= 0 && command.extent <= kernel.extent, "F10",
          "extent " + std::to_string(command.extent) + " is not from 0 to " +
              std::to_string(kernel.extent) + ", the greatest of kernel '" +
              kernel.name + "'");
  require(command.operands.size() == kernel.operands.size(), "F10",
          "kernel '" + kernel.name + "' takes " +
              std::to_string(kernel.operands.size()) + " operands, found " +
              std::to_string(command.operands.size()));
  for (size_t i = 0; status.ok() && i < command.operands.size(); ++i)
    checkOperand(command, kernel, i);
  for (size_t i = 0; status.ok() && i < command.operands.size(); ++i)
    for (size_t j = 0; j < command.operands.size(); ++j)
      if (i != j && kernel.operands[i].access != Access::Read)
        checkSeparate(command.operands[i], command.operands[j],
                      "operand " + std::to_string(i));
}

/// One operand of a launch against its kernel's signature.
void ProgramValidator::checkOperand(const LaunchCommand &command,
                                    const KernelSignature &kernel,
                                    size_t index) {
  const BufferReference &operand = command.operands[index];
  const KernelOperand &expected = kernel.operands[index];
  const std::string name =
      "operand " + std::to_string(index) + " of kernel '" + kernel.name + "'";
  checkRange(operand, expected.access, 1);
  require(operand.bytes == expected.bytes, "F10",
          name + " has " + std::to_string(expected.bytes) + " bytes, found " +
              std::to_string(operand.bytes));
  require(isAligned(operand, expected.alignment), "F10",
          name + " must begin at a multiple of " +
              std::to_string(expected.alignment) + " bytes on every rank");
}

void ProgramValidator::check(const LibraryCommand &command) {
  for (const TensorReference &operand : command.operands)
    checkTensor(operand, Access::Read);
  for (const TensorReference &result : command.results)
    checkTensor(result, Access::Write);
  if (status.ok())
    if (Status call = checkLibraryCall(command); !call.ok())
      require(false, "F11", call.message());
  for (size_t i = 0; status.ok() && i < command.results.size(); ++i) {
    const std::string name = "result " + std::to_string(i);
    for (const TensorReference &operand : command.operands)
      checkSeparate(command.results[i].buffer, operand.buffer, name);
    for (size_t j = 0; j < i; ++j)
      checkSeparate(command.results[i].buffer, command.results[j].buffer, name);
  }
}

void ProgramValidator::check(const AllGatherCommand &command) {
  checkRange(command.buffer, Access::Write, 1);
  require(command.slotBytes >= 0 &&
              command.slotBytes <= command.buffer.bytes / worldSize &&
              command.slotBytes * worldSize == command.buffer.bytes,
          "F12",
          "a buffer of " + std::to_string(command.buffer.bytes) +
              " bytes is not " + std::to_string(worldSize) + " slots of " +
              std::to_string(command.slotBytes));
}

void ProgramValidator::check(const ReduceScatterCommand &command) {
  const int64_t elementBytes = byteSize(command.dtype);
  checkRange(command.buffer, Access::Read, elementBytes);
  checkRange(command.output, Access::Write, 1);
  require(command.dtype == Dtype::F32 || command.dtype == Dtype::BF16 ||
              command.dtype == Dtype::F64,
          "F13", "dtype must be f32, bf16 or f64");
  require(
      command.elements >= 0 &&
          command.elements <= command.buffer.bytes / elementBytes / worldSize &&
          command.elements * worldSize * elementBytes == command.buffer.bytes,
      "F13",
      "a buffer of " + std::to_string(command.buffer.bytes) + " bytes is not " +
          std::to_string(worldSize) + " times " +
          std::to_string(command.elements) + " elements");
  require(command.output.space == Space::State, "F13",
          "the output must be a state");
  if (!status.ok())
    return;
  const State &output =
      artifact.parameters.states[static_cast<size_t>(command.output.index)];
  require((output.dtype == Dtype::F32 || output.dtype == Dtype::F64) &&
              isLossless(command.dtype, output.dtype) &&
              command.output.offset == 0 &&
              output.elements == command.elements &&
              command.output.bytes == output.elements * byteSize(output.dtype),
          "F13",
          "the output must be the whole of a state with " +
              std::to_string(command.elements) +
              " elements of f32 or f64, not narrower than the buffer");
  checkSeparate(command.output, command.buffer, "the output");
}

void ProgramValidator::check(const AllReduceCommand &command) {
  const int64_t elementBytes = byteSize(command.dtype);
  checkRange(command.buffer, Access::Write, elementBytes);
  require(command.dtype == Dtype::F32 || command.dtype == Dtype::F64, "F14",
          "dtype must be f32 or f64");
  require(command.elements >= 0 &&
              command.elements <= command.buffer.bytes / elementBytes &&
              command.elements * elementBytes == command.buffer.bytes,
          "F14",
          "a buffer of " + std::to_string(command.buffer.bytes) +
              " bytes does not have " + std::to_string(command.elements) +
              " elements");
  require(!command.doubleDouble ||
              (command.dtype == Dtype::F64 && command.elements % 2 == 0),
          "F14", "double_double needs pairs of f64");
}

void ProgramValidator::check(const CopyCommand &command) {
  checkRange(command.source, Access::Read, 1);
  checkRange(command.target, Access::Write, 1);
  const BufferReference &source = command.source, &target = command.target;
  require(source.bytes == target.bytes, "F15",
          "copies " + std::to_string(source.bytes) + " bytes into " +
              std::to_string(target.bytes));
  require(!status.ok() || !overlap(source, target, worldSize), "F15",
          "source and target overlap");
}

void ProgramValidator::check(const FillCommand &command) {
  checkRange(command.target, Access::Write, 1);
}

Status ProgramValidator::checkHeader() {
  constexpr int64_t mostEvents = 1 << 24;
  require(program.eventCount >= 0 && program.eventCount <= mostEvents, "F9",
          std::to_string(program.eventCount) + " events exceed the limit of " +
              std::to_string(mostEvents));
  require(program.arenaBytes >= 0 && program.arenaBytes < (int64_t(1) << 50),
          "F5", "arena of " + std::to_string(program.arenaBytes) + " bytes");
  for (const Scalar &scalar : program.scalars)
    require(scalar.dtype == Dtype::F32 || scalar.dtype == Dtype::F64, "F5",
            "a scalar must be f32 or f64");
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

Status ProgramValidator::run() {
  if (!checkHeader().ok() || !checkKernels().ok())
    return Status(ErrorCode::E0309, "program.json " + status.message());
  recorded.assign(static_cast<size_t>(program.eventCount), false);
  // Running order: section by section, each in list order.
  for (const Section section :
       {Section::Begin, Section::MicroBatch, Section::Update})
    for (size_t i = 0; i < program.commands.size(); ++i) {
      const Command &command = program.commands[i];
      if (command.section != section)
        continue;
      checkEvents(command);
      std::visit([&](const auto &action) { check(action); }, command.action);
      if (!status.ok())
        return Status(ErrorCode::E0309,
                      "program.json, command " + std::to_string(i) + " (" +
                          commandKind(command.action) + ") " + status.message())
            .addNote("in module '" + command.module + "', '" + command.label +
                     "'");
    }
  return Status();
}

Status validateProgram(const Artifact &artifact) {
  return ProgramValidator(artifact).run();
}

Status validate(const Artifact &artifact) {
  if (Status status =
          validateParameters(artifact.parameters, artifact.manifest.worldSize);
      !status.ok())
    return status;
  return validateProgram(artifact);
}

} // namespace shardc::format
