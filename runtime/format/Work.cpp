//===- Work.cpp - What a command moves and computes -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Memory from operands and accesses, operations from the table of library
// calls and the signatures of kernels.
//===----------------------------------------------------------------------===//

#include "runtime/format/Work.h"

#include "runtime/format/CommandKinds.h"
#include "runtime/format/LibraryCalls.h"

#include <algorithm>

namespace shardc::format {

static int64_t bytesOf(const TensorReference &tensor) {
  return elementCount(tensor.shape) * byteSize(tensor.dtype);
}

/// What ranks copy from each other where they share memory, and what each gets.
static Work workOfCollective(const Command &command, int64_t members) {
  Work work;
  work.kind = WorkKind::Collective;
  work.dtype = command.operands[0].dtype;
  const int64_t whole = bytesOf(command.operands[0]);
  const int64_t others = whole / members * (members - 1);
  switch (command.kind) {
  case CommandKind::AllGather:
    work.readBytes = work.writtenBytes = work.receivedBytes = others;
    break;
  case CommandKind::ReduceScatter:
    // It is added to what the shard has, if not in the first micro-batch.
    work.writtenBytes = bytesOf(command.operands[1]);
    work.readBytes =
        whole + (command.operands.size() > 2 ? 0 : work.writtenBytes);
    work.receivedBytes = others;
    break;
  default:
    // Each rank sums its part, and copies the parts that others summed.
    if (members > 1) {
      work.readBytes = whole + others;
      work.writtenBytes = whole;
    }
    work.receivedBytes = 2 * others;
  }
  return work;
}

/// The operations of a launch, of those of the greatest extent.
static int64_t ofExtent(int64_t operations, int64_t extent,
                        const KernelSignature &kernel) {
  if (kernel.extent == 0 || extent == kernel.extent)
    return operations;
  return static_cast<int64_t>(static_cast<double>(operations) *
                              static_cast<double>(extent) /
                              static_cast<double>(kernel.extent));
}

static void addKernel(const Command &command, const Program &program,
                      Work &work) {
  const KernelSignature *kernel = findKernel(program, command.callee);
  if (!kernel)
    return;
  const auto extent =
      attributeOr<int64_t>(command.attributes, "extent", kernel->extent);
  work.f32Operations = ofExtent(kernel->f32Operations, extent, *kernel);
  work.f64Operations = ofExtent(kernel->f64Operations, extent, *kernel);
}

/// What a causal mask hides of [queries, keys] scores: query i sees the keys up
/// to i.
static int64_t hiddenBy(const Command &command, int64_t operations) {
  if (!attributeOr(command.attributes, "is_causal", false))
    return 0;
  const bool isForward = isCall(command, CallId::Attention);
  const auto &query = command.operands[isForward ? 0 : 1].shape;
  const auto &key = command.operands[isForward ? 1 : 2].shape;
  const auto queries = static_cast<double>(query[2]);
  const auto keys = static_cast<double>(key[2]);
  const double rows = std::min(queries, keys);
  const double seen = rows * (rows + 1) / 2 + (queries - rows) * keys;
  return static_cast<int64_t>(static_cast<double>(operations) *
                              (1 - seen / (queries * keys)));
}

Work workOf(const Command &command, const Program &program, const Mesh &mesh) {
  if (isCollective(command.kind))
    return workOfCollective(
        command, mesh.countMembers(communicatorOf(command, program).axes));
  Work work;
  const auto accesses = accessesOf(command, program);
  for (size_t i = 0; accesses && i < command.operands.size(); ++i) {
    const int64_t bytes = bytesOf(command.operands[i]);
    work.readBytes += (*accesses)[i] == Access::Write ? 0 : bytes;
    work.writtenBytes += (*accesses)[i] == Access::Read ? 0 : bytes;
  }
  if (command.kind == CommandKind::Launch)
    addKernel(command, program, work);
  const LibraryCallKind *call = command.kind == CommandKind::Call
                                    ? findLibraryCall(command.callee)
                                    : nullptr;
  if (call && call->f64OperationsOfElement > 0)
    for (size_t i = 0; i + call->results < command.operands.size(); ++i)
      work.f64Operations += call->f64OperationsOfElement *
                            elementCount(command.operands[i].shape);
  if (call && call->countOperations) {
    work.kind = call->work;
    work.isBackward = call->isBackward;
    work.callOperations = call->countOperations(command);
    work.dtype = command.operands[0].dtype;
    if (work.kind == WorkKind::Convolution) {
      work.groups = attributeOr<int64_t>(command.attributes, "groups", 1);
      work.isDepthwise =
          work.groups > 1 && work.groups == command.operands[0].shape[1];
    }
    if (work.kind == WorkKind::Attention)
      work.hiddenOperations = hiddenBy(command, work.callOperations);
  }
  return work;
}

Work workOf(const KernelSignature &kernel) {
  Work work;
  for (const KernelOperand &operand : kernel.operands) {
    work.readBytes += operand.access == Access::Write ? 0 : operand.bytes;
    work.writtenBytes += operand.access == Access::Read ? 0 : operand.bytes;
  }
  work.f32Operations = kernel.f32Operations;
  work.f64Operations = kernel.f64Operations;
  return work;
}

int64_t countRuns(const Command &command, const Program &program,
                  int64_t microBatches) {
  const Section &section =
      program.sections[static_cast<size_t>(command.section)];
  return section.run == Run::Training ? countRuns(section.repeat, microBatches)
                                      : 0;
}

} // namespace shardc::format
