//===- CommandMeanings.cpp - what each command does to bytes --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One function a command, for all ranks at once: the program is the same for
// every rank, so that a collective finds every rank's bytes at hand.
//===----------------------------------------------------------------------===//

#include "dialects/Fsdp/ModulePath.h"
#include "dialects/Reference/KernelEvaluation.h"
#include "dialects/Reference/LibraryEvaluation.h"
#include "dialects/Reference/ProgramExecution.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace shardc::reference {

/// Operands are read at the first launch; what launches write is poison until
/// it is complete.
LogicalResult ProgramExecution::executeLaunch(const Entry &entry) {
  exec::ComputeOp compute = entry.compute;
  if (!compute) {
    emitNumberedError(entry.op, "E0142")
        << "the reference interpreter needs to know what "
        << cast<exec::LaunchOp>(entry.op).getKernelAttr() << " computes";
    return failure();
  }
  auto &results = pending[compute];
  if (entry.launch == 0) {
    results.assign(memory.size(), {});
    Block &body = compute.getBody().front();
    for (auto [rank, bytes] : llvm::enumerate(memory)) {
      SmallVector<BoundedTensor> inputs, computed;
      for (auto [argument, reference] :
           llvm::zip_equal(body.getArguments(), compute.getOperands()))
        inputs.push_back(
            {argument.use_empty()
                 ? Tensor(cast<RankedTensorType>(argument.getType()))
                 : readReference(bytes, cast<exec::RefAttr>(reference), rank),
             {}});
      if (failed(evaluateKernel(compute.getBody(), inputs, computed)))
        return failure();
      results[rank].append(computed.begin(), computed.end());
    }
  }
  for (auto [rank, bytes] : llvm::enumerate(memory)) {
    for (const CommandOperand &operand : operandsOf(entry.op))
      if (operand.access == exec::Access::write)
        poisonReference(bytes, operand.reference, rank);
    for (unsigned output : entry.completes)
      write(rank, cast<exec::RefAttr>(compute.getOutputs()[output]),
            results[rank][output]);
  }
  return success();
}

LogicalResult ProgramExecution::executeCall(exec::CallOp call) {
  LibraryCallSite site{call, call.getCall(), call.getSettings(), {}};
  for (Attribute output : call.getOutputsAttr()) {
    MemRefType type = cast<exec::RefAttr>(output).getType();
    site.results.push_back(
        RankedTensorType::get(type.getShape(), type.getElementType()));
  }
  for (auto [rank, bytes] : llvm::enumerate(memory)) {
    SmallVector<BoundedTensor> operands, results;
    for (Attribute reference : call.getOperandsAttr())
      operands.push_back(
          {readReference(bytes, cast<exec::RefAttr>(reference), rank), {}});
    if (failed(evaluateLibraryCall(site, operands, table, results)))
      return failure();
    for (auto [output, result] :
         llvm::zip_equal(call.getOutputsAttr(), results))
      write(rank, cast<exec::RefAttr>(output), result);
  }
  return success();
}

void ProgramExecution::gather(exec::AllGatherOp gather) {
  exec::RefAttr buffer = gather.getBuffer();
  int64_t slot = gather.getSlot();
  for (int64_t rank = 0; rank < getRanks(); ++rank)
    for (int64_t other = 0; other < getRanks(); ++other)
      std::copy_n(
          memory[other].arena.begin() + buffer.getOffset() + other * slot, slot,
          memory[rank].arena.begin() + buffer.getOffset() + other * slot);
  for (int64_t rank = 0; rank < getRanks(); ++rank)
    write(rank, buffer, {readReference(memory[rank], buffer, rank), {}});
}

/// output[i] = ((output[i] + g_0[i]) + g_1[i]) + …, rounded every time.
void ProgramExecution::reduceScatter(exec::ReduceScatterOp reduction) {
  SmallVector<Tensor> gradients;
  for (auto [rank, bytes] : llvm::enumerate(memory))
    gradients.push_back(readReference(bytes, reduction.getBuffer(), rank));
  for (auto [rank, bytes] : llvm::enumerate(memory)) {
    Tensor output = readReference(bytes, reduction.getOutput(), rank);
    Rounding type(cast<FloatType>(output.getElementType()));
    int64_t first = static_cast<int64_t>(rank) * output.getNumElements();
    MutableArrayRef<double> sums = output.mutableFloats();
    for (const Tensor &gradient : gradients)
      for (auto [i, sum] : llvm::enumerate(sums))
        sum = type.round(sum + gradient.floats()[first + i]);
    write(rank, reduction.getOutput(), {output, {}});
  }
}

/// The sum in rank order, from rank 0's value; of pairs, their exact one.
void ProgramExecution::allReduce(exec::AllReduceOp reduction) {
  SmallVector<Tensor> values;
  for (auto [rank, bytes] : llvm::enumerate(memory))
    values.push_back(readReference(bytes, reduction.getBuffer(), rank));
  Tensor total = values[0];
  std::vector<double> bounds;
  Rounding type(cast<FloatType>(total.getElementType()));
  MutableArrayRef<double> sums = total.mutableFloats();
  if (reduction.getDoubleDouble()) {
    for (size_t i = 0; i < sums.size(); i += 2) {
      long double sum = 0;
      for (const Tensor &value : values)
        sum +=
            static_cast<long double>(value.floats()[i]) + value.floats()[i + 1];
      sums[i] = static_cast<double>(sum);
      sums[i + 1] =
          static_cast<double>(sum - static_cast<long double>(sums[i]));
      // The low part makes up for where the high part was rounded.
      bounds.insert(bounds.end(), 2, type.spacing(sums[i]));
    }
  } else {
    for (const Tensor &value : ArrayRef(values).drop_front())
      for (auto [sum, term] : llvm::zip_equal(sums, value.floats()))
        sum = type.round(sum + term);
  }
  for (int64_t rank = 0; rank < getRanks(); ++rank)
    write(rank, reduction.getBuffer(), {total, bounds});
}

LogicalResult ProgramExecution::execute(const Entry &entry) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(entry.op)
      .Case([&](exec::LaunchOp) { return executeLaunch(entry); })
      .Case([&](exec::CallOp call) { return executeCall(call); })
      .Case([&](exec::AllGatherOp op) { return gather(op), success(); })
      .Case([&](exec::ReduceScatterOp op) {
        return reduceScatter(op), success();
      })
      .Case([&](exec::AllReduceOp op) { return allReduce(op), success(); })
      .Case([&](exec::CopyOp copy) {
        for (auto [rank, bytes] : llvm::enumerate(memory))
          write(rank, copy.getTarget(),
                {readReference(bytes, copy.getSource(), rank), {}});
        return success();
      })
      .Case([&](exec::FillOp fill) {
        MemRefType type = fill.getTarget().getType();
        for (int64_t rank = 0; rank < getRanks(); ++rank)
          write(rank, fill.getTarget(),
                {Tensor(RankedTensorType::get(type.getShape(),
                                              type.getElementType())),
                 {}});
        return success();
      })
      .Default([](Operation *other) {
        return emitNumberedError(other, "E0142")
               << "the reference interpreter has no meaning for "
               << other->getName();
      });
}

} // namespace shardc::reference
