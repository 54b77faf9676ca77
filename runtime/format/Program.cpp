//===- Program.cpp - The commands that one rank runs each step ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Small questions about shapes and kernels that readers of a program ask.
//===----------------------------------------------------------------------===//

#include "runtime/format/Program.h"

#include <algorithm>
#include <bit>
#include <cctype>

namespace shardc::format {

std::vector<int64_t> contiguousStrides(const std::vector<int64_t> &shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    strides[i] = stride;
  return strides;
}

int64_t elementCount(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

std::string signatureText(const KernelSignature &signature) {
  static const char *const accesses[] = {"r", "w", "rw"};
  std::string text = std::to_string(signature.extent);
  if (signature.threads != 1 || signature.sharedBytes != 0)
    text += "x" + std::to_string(signature.threads) + "+" +
            std::to_string(signature.sharedBytes);
  for (const KernelOperand &operand : signature.operands)
    text += ";" + std::to_string(operand.bytes) + ":" +
            std::to_string(operand.alignment) + ":" +
            accesses[static_cast<size_t>(operand.access)];
  return text;
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

std::string checkSignature(const KernelSignature &kernel, bool isCpu) {
  constexpr int64_t maxExtent = int64_t(1) << 48;
  constexpr size_t maxOperands = 1024;
  constexpr uint64_t maxAlignment = 64;
  // What a GPU gives without being asked for more (CUDA C++ Programming Guide,
  // technical specifications per compute capability).
  constexpr int64_t maxThreads = 1024, maxSharedBytes = int64_t(48) << 10;
  const std::string quoted = "kernel '" + kernel.name + "'";
  if (!isSymbolName(kernel.name))
    return "kernel name '" + kernel.name + "' is no symbol";
  if (kernel.extent < 0 || kernel.extent > maxExtent)
    return "greatest extent " + std::to_string(kernel.extent) + " of " +
           quoted + " is not from 0 to " + std::to_string(maxExtent);
  if (kernel.threads < 1 || kernel.sharedBytes < 0 ||
      kernel.threads > (isCpu ? 1 : maxThreads) ||
      kernel.sharedBytes > (isCpu ? 0 : maxSharedBytes))
    return quoted + " has blocks of " + std::to_string(kernel.threads) +
           " threads that share " + std::to_string(kernel.sharedBytes) +
           " bytes";
  if (kernel.operands.size() > maxOperands)
    return quoted + " has more than " + std::to_string(maxOperands) +
           " operands";
  for (const KernelOperand &operand : kernel.operands) {
    const auto alignment = static_cast<uint64_t>(operand.alignment);
    if (operand.bytes < 0 || !std::has_single_bit(alignment) ||
        alignment > maxAlignment)
      return quoted + " has an operand of " + std::to_string(operand.bytes) +
             " bytes at multiples of " + std::to_string(operand.alignment);
  }
  return "";
}

std::array<std::byte, 8> bytesOf(Scalar scalar, const ScalarValues &values) {
  using Bytes = std::array<std::byte, 8>;
  switch (scalar) {
  case Scalar::LearningRate:
    return std::bit_cast<Bytes>(values.learningRate);
  case Scalar::MicroBatches:
    return std::bit_cast<Bytes>(static_cast<double>(values.microBatches));
  case Scalar::WeightDecayScale:
    return std::bit_cast<Bytes>(values.weightDecayScale);
  case Scalar::Seed:
    return std::bit_cast<Bytes>(values.seed);
  case Scalar::Step:
    return std::bit_cast<Bytes>(values.step);
  case Scalar::Slice:
    return std::bit_cast<Bytes>(values.slice);
  case Scalar::Shard:
    return std::bit_cast<Bytes>(values.shard);
  case Scalar::Ranks:
    return std::bit_cast<Bytes>(values.ranks);
  case Scalar::MicroBatch:
    return std::bit_cast<Bytes>(values.microBatch);
  }
  return {};
}

std::string checkScalars(const Program &program, const Command &command) {
  const Section &section =
      program.sections[static_cast<size_t>(command.section)];
  for (const TensorReference &operand : command.operands) {
    if (operand.buffer.space != Space::Scalar)
      continue;
    const Scalar scalar =
        program.scalars[static_cast<size_t>(operand.buffer.index)];
    const std::string name(scalarNames[static_cast<size_t>(scalar)]);
    if (operand.dtype != dtypeOf(scalar))
      return "scalar '" + name + "' is " +
             std::string(dtypeName(dtypeOf(scalar))) + ", not " +
             std::string(dtypeName(operand.dtype));
    if ((scalar == Scalar::Slice || scalar == Scalar::MicroBatch) &&
        section.repeat == Repeat::Once)
      return "section '" + section.name + "', which runs for no micro-batch, " +
             "reads scalar '" + name + "'";
  }
  return "";
}

bool isSampleWhole(const std::vector<Input> &inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [&](const Input &input) {
    return input.shape.empty() || inputs[0].shape.empty() ||
           input.shape[0] != inputs[0].shape[0];
  });
}

int64_t samplesOfMicroBatch(const std::vector<Input> &inputs) {
  return isSampleWhole(inputs) ? 1 : inputs[0].shape[0];
}

std::optional<int64_t> tokensOfMicroBatch(const std::vector<Input> &inputs) {
  if (inputs.empty() || !isInteger(inputs[0].dtype))
    return std::nullopt;
  return elementCount(inputs[0].shape);
}

int64_t elementsOfSample(const std::vector<Input> &inputs, size_t index) {
  return elementCount(inputs[index].shape) / samplesOfMicroBatch(inputs);
}

} // namespace shardc::format
