//===- CommandMeanings.cpp - What each command does to bytes --------------===//
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

/// The results of a kernel, by rank, on what its inputs held when they were
/// `known`, and hold now where they are not.
template <typename KernelOp>
FailureOr<std::vector<SmallVector<BoundedTensor>>>
ProgramExecution::evaluate(KernelOp kernel, const KnownInputs &known) {
  std::vector<SmallVector<BoundedTensor>> results(memory.size());
  for (int64_t rank = 0; rank < getRanks(); ++rank) {
    SmallVector<BoundedTensor> inputs;
    for (auto [number, argument, input] : llvm::enumerate(
             kernel.getBody().front().getArguments(), kernel.getInputs())) {
      auto found = known.find(number);
      if (argument.use_empty())
        inputs.push_back(
            {Tensor(cast<RankedTensorType>(argument.getType())), {}});
      else if (found != known.end())
        inputs.push_back({found->second[rank], {}});
      else
        inputs.push_back({read(rank, input), {}});
    }
    if (failed(evaluateKernel(kernel.getBody(), inputs, results[rank])))
      return failure();
  }
  return results;
}

LogicalResult ProgramExecution::executeRun(exec::RunOp run) {
  auto results = evaluate(run, {});
  if (failed(results))
    return failure();
  for (auto [rank, tensors] : llvm::enumerate(*results))
    for (auto [output, tensor] : llvm::zip_equal(run.getOutputs(), tensors))
      write(rank, output, tensor);
  return success();
}

/// An input is read by the first launch that has it as an operand, and need not
/// hold anything before; what launches write is poison until it is complete.
LogicalResult ProgramExecution::executeLaunch(const Entry &entry) {
  exec::ComputeOp compute = entry.compute;
  exec::CommandInterface command = entry.command;
  if (!compute) {
    emitNumberedError(command, "E0142")
        << "the reference interpreter needs to know what "
        << cast<exec::LaunchOp>(command.getOperation()).getKernelAttr()
        << " computes";
    return failure();
  }
  KnownInputs &known = pending[compute];
  if (entry.launch == 0)
    known.clear();
  for (auto [number, input] : llvm::enumerate(compute.getInputs()))
    if (llvm::is_contained(command->getOperands(), input) &&
        !known.contains(number))
      for (int64_t rank = 0; rank < getRanks(); ++rank)
        known[number].push_back(read(rank, input));
  std::vector<SmallVector<BoundedTensor>> results;
  if (!entry.completes.empty()) {
    auto computed = evaluate(compute, known);
    if (failed(computed))
      return failure();
    results = std::move(*computed);
  }
  for (auto [rank, bytes] : llvm::enumerate(memory)) {
    for (const auto &[reference, access] : references.getOperands(command))
      if (access == exec::Access::write)
        poisonReference(bytes, reference);
    for (unsigned output : entry.completes)
      write(rank, compute.getOutputs()[output], results[rank][output]);
  }
  return success();
}

static RankedTensorType tensorOf(Value memory) {
  auto type = cast<MemRefType>(memory.getType());
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

void ProgramExecution::poisonWorkspace(exec::CallOp call) {
  if (Value workspace = call.getWorkspace())
    for (RankBytes &bytes : memory)
      poisonReference(bytes, references.get(workspace));
}

/// An engine may write all of its workspace before it reads an operand, and
/// after it has written a result.
LogicalResult ProgramExecution::executeCall(exec::CallOp call) {
  poisonWorkspace(call);
  LibraryCallSite site{call, call.getCall(), call.getSettings(), {}};
  for (Value output : call.getOutputs())
    site.results.push_back(tensorOf(output));
  for (int64_t rank = 0; rank < getRanks(); ++rank) {
    SmallVector<BoundedTensor> operands, results;
    for (Value input : call.getInputs())
      operands.push_back({read(rank, input), {}});
    if (failed(evaluateLibraryCall(site, operands, table, results)))
      return failure();
    for (auto [output, result] : llvm::zip_equal(call.getOutputs(), results))
      write(rank, output, result);
  }
  poisonWorkspace(call);
  return success();
}

std::vector<int64_t>
ProgramExecution::membersWith(int64_t rank,
                              exec::CollectiveInterface collective) const {
  const format::Mesh &mesh = references.getMesh();
  return mesh.members(rank, exec::getAxes(collective, mesh));
}

void ProgramExecution::gather(exec::AllGatherOp gather) {
  exec::Reference buffer = references.get(gather.getBuffer());
  auto slot = static_cast<int64_t>(gather.getSlot());
  for (int64_t rank = 0; rank < getRanks(); ++rank)
    for (auto [number, other] : llvm::enumerate(membersWith(rank, gather))) {
      int64_t at = buffer.offset + static_cast<int64_t>(number) * slot;
      std::copy_n(memory[other].arena.begin() + at, slot,
                  memory[rank].arena.begin() + at);
    }
  for (int64_t rank = 0; rank < getRanks(); ++rank)
    write(rank, gather.getBuffer(), {read(rank, gather.getBuffer()), {}});
}

/// output[i] = ((output[i] + g_0[i]) + g_1[i]) + …, rounded every time.
void ProgramExecution::reduceScatter(exec::ReduceScatterOp reduction) {
  SmallVector<Tensor> gradients;
  for (int64_t rank = 0; rank < getRanks(); ++rank)
    gradients.push_back(read(rank, reduction.getBuffer()));
  for (int64_t rank = 0; rank < getRanks(); ++rank) {
    Tensor output = read(rank, reduction.getOutput());
    if (Value number = reduction.getMicroBatch();
        number && read(rank, number).integers().front() == 0)
      llvm::fill(output.mutableFloats(), -0.0); // Changes no bit of a sum.
    Rounding type(cast<FloatType>(output.getElementType()));
    const format::Mesh &mesh = references.getMesh();
    int64_t part = mesh.memberNumber(rank, exec::getAxes(reduction, mesh));
    int64_t first = part * output.getNumElements();
    MutableArrayRef<double> sums = output.mutableFloats();
    for (int64_t member : membersWith(rank, reduction))
      for (auto [i, sum] : llvm::enumerate(sums))
        sum = type.round(sum + gradients[member].floats()[first + i]);
    write(rank, reduction.getOutput(), {output, {}});
  }
}

/// The sum of `values` in their order, from the first one; of pairs, their
/// exact one. All may be off by `bounds` where it is not empty.
static Tensor sumInOrder(ArrayRef<Tensor> values, bool ofPairs,
                         std::vector<double> &bounds) {
  Tensor total = values[0];
  Rounding type(cast<FloatType>(total.getElementType()));
  MutableArrayRef<double> sums = total.mutableFloats();
  if (!ofPairs) {
    for (const Tensor &value : values.drop_front())
      for (auto [sum, term] : llvm::zip_equal(sums, value.floats()))
        sum = type.round(sum + term);
    return total;
  }
  for (size_t i = 0; i < sums.size(); i += 2) {
    long double sum = 0;
    for (const Tensor &value : values)
      sum +=
          static_cast<long double>(value.floats()[i]) + value.floats()[i + 1];
    sums[i] = static_cast<double>(sum);
    sums[i + 1] =
        std::isfinite(sums[i]) // Infinities and NaN have no error.
            ? static_cast<double>(sum - static_cast<long double>(sums[i]))
            : 0;
    // The low part makes up for where the high part was rounded.
    bounds.insert(bounds.end(), 2, type.spacing(sums[i]));
  }
  return total;
}

void ProgramExecution::allReduce(exec::AllReduceOp reduction) {
  SmallVector<Tensor> values;
  for (int64_t rank = 0; rank < getRanks(); ++rank)
    values.push_back(read(rank, reduction.getBuffer()));
  for (int64_t rank = 0; rank < getRanks(); ++rank) {
    SmallVector<Tensor> terms;
    for (int64_t member : membersWith(rank, reduction))
      terms.push_back(values[member]);
    std::vector<double> bounds;
    Tensor total = sumInOrder(terms, reduction.getDoubleDouble(), bounds);
    write(rank, reduction.getBuffer(), {total, bounds});
  }
}

LogicalResult ProgramExecution::execute(const Entry &entry) {
  exec::CommandInterface command = entry.command;
  return llvm::TypeSwitch<Operation *, LogicalResult>(command)
      .Case([&](exec::RunOp run) { return executeRun(run); })
      .Case([&](exec::LaunchOp) { return executeLaunch(entry); })
      .Case([&](exec::CallOp call) { return executeCall(call); })
      .Case([&](exec::AllGatherOp op) { return gather(op), success(); })
      .Case([&](exec::ReduceScatterOp op) {
        return reduceScatter(op), success();
      })
      .Case([&](exec::AllReduceOp op) { return allReduce(op), success(); })
      .Case([&](exec::CopyOp copy) {
        for (int64_t rank = 0; rank < getRanks(); ++rank)
          write(rank, copy.getTarget(), {read(rank, copy.getSource()), {}});
        return success();
      })
      .Case([&](exec::FillOp fill) {
        for (int64_t rank = 0; rank < getRanks(); ++rank)
          write(rank, fill.getTarget(),
                {Tensor(tensorOf(fill.getTarget())), {}});
        return success();
      })
      .Default([](Operation *other) {
        return emitNumberedError(other, "E0142")
               << "the reference interpreter has no meaning for "
               << other->getName();
      });
}

} // namespace shardc::reference
