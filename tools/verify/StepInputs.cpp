//===- StepInputs.cpp - Samples as the interpreter takes them -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads what each rank's feed reads.
//===----------------------------------------------------------------------===//

#include "tools/verify/StepInputs.h"

#include "dialects/Reference/TensorBytes.h"
#include "runtime/format/Program.h"

using namespace mlir;

namespace shardc::verify {

using reference::Tensor;

/// One micro-batch of input `number` of one rank.
static StatusOr<Tensor> readInput(const runtime::DataSource &data,
                                  const std::vector<format::Input> &inputs,
                                  size_t number, RankedTensorType type,
                                  int64_t firstSample) {
  int64_t batch = format::samplesOfMicroBatch(inputs);
  int64_t sampleBytes =
      format::elementsOfSample(inputs, number) * byteSize(inputs[number].dtype);
  std::vector<std::byte> bytes(batch * sampleBytes);
  if (Status status =
          data.readRange(number, firstSample, batch, sampleBytes, bytes.data());
      !status.ok())
    return status;
  return reference::fromBytes(type, bytes);
}

StatusOr<StepInputs> readStepInputs(const runtime::DataSource &data,
                                    const std::vector<format::Input> &inputs,
                                    TypeRange types,
                                    const runtime::SampleOrder &order,
                                    int64_t step) {
  StepInputs all;
  for (int64_t microBatch = 0; microBatch < order.microBatches; ++microBatch) {
    auto &arguments = all.emplace_back(inputs.size());
    for (auto [number, tensors] : llvm::enumerate(arguments))
      for (int64_t rank = 0; rank < order.worldSize; ++rank) {
        StatusOr<Tensor> tensor = readInput(
            data, inputs, number, cast<RankedTensorType>(types[number]),
            order.firstSample(step, microBatch, rank));
        if (!tensor.ok())
          return tensor.status();
        tensors.push_back(std::move(*tensor));
      }
  }
  return all;
}

} // namespace shardc::verify
