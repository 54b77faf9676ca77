//===- Program.cpp - the commands that one rank runs each step ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Small questions about shapes and kernels that readers of a program ask.
//
//===----------------------------------------------------------------------===//

#include "runtime/format/Program.h"

#include <algorithm>
#include <bit>

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
  for (const KernelOperand &operand : signature.operands)
    text += ";" + std::to_string(operand.bytes) + ":" +
            std::to_string(operand.alignment) + ":" +
            accesses[static_cast<size_t>(operand.access)];
  return text;
}

std::array<std::byte, 8> bytesOf(Scalar scalar, const ScalarValues &values) {
  using Bytes = std::array<std::byte, 8>;
  switch (scalar) {
  case Scalar::LearningRate:
    return std::bit_cast<Bytes>(values.learningRate);
  case Scalar::MicroBatches:
    return std::bit_cast<Bytes>(static_cast<double>(values.microBatches));
  case Scalar::Seed:
    return std::bit_cast<Bytes>(values.seed);
  case Scalar::Step:
    return std::bit_cast<Bytes>(values.step);
  case Scalar::Slice:
    return std::bit_cast<Bytes>(values.slice);
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
    if (scalar == Scalar::Slice && section.repeat == Repeat::Once)
      return "section '" + section.name + "', which runs for no micro-batch, " +
             "reads scalar '" + name + "'";
  }
  return "";
}

int64_t countRuns(Repeat repeat, int64_t microBatches) {
  switch (repeat) {
  case Repeat::Once:
    return 1;
  case Repeat::MicroBatches:
    return microBatches;
  case Repeat::OnlyMicroBatch:
    return microBatches == 1;
  case Repeat::FirstMicroBatch:
  case Repeat::LastMicroBatch:
    return microBatches > 1;
  case Repeat::MiddleMicroBatches:
    return std::max<int64_t>(microBatches - 2, 0);
  }
  return 0;
}

std::string checkRepeats(const std::vector<Repeat> &repeats) {
  for (const int64_t microBatches : {1, 2, 3, 4}) {
    int64_t taken = 0;
    for (const Repeat repeat : repeats)
      if (repeat != Repeat::Once)
        taken += countRuns(repeat, microBatches);
    if (taken != microBatches)
      return "sections take " + std::to_string(taken) + " micro-batches of " +
             std::to_string(microBatches);
  }
  const auto find = [&](Repeat repeat) {
    return std::find(repeats.begin(), repeats.end(), repeat);
  };
  if (find(Repeat::FirstMicroBatch) > find(Repeat::MiddleMicroBatches) ||
      find(Repeat::MiddleMicroBatches) > find(Repeat::LastMicroBatch))
    return "the first, middle and last micro-batches are in this order";
  return {};
}

std::vector<SectionRun> runsOfSections(const Program &program,
                                       int64_t microBatches) {
  std::vector<Repeat> repeats;
  for (const Section &section : program.sections)
    repeats.push_back(section.repeat);
  return runsOfSections(repeats, microBatches);
}

std::vector<SectionRun> runsOfSections(const std::vector<Repeat> &repeats,
                                       int64_t microBatches) {
  std::vector<SectionRun> runs;
  int64_t microBatch = 0;
  for (size_t i = 0; i < repeats.size(); ++i) {
    for (int64_t run = 0; run < countRuns(repeats[i], microBatches); ++run) {
      runs.push_back({i, {}});
      if (repeats[i] != Repeat::Once)
        runs.back().microBatch = microBatch++;
    }
  }
  return runs;
}

} // namespace shardc::format
