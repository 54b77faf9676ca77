//===- UpdateKernels.cpp - Kernels of optimizers --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// An update is one kernel: its operators' kernels, one after the other.
//===----------------------------------------------------------------------===//

#include "dialects/Fsdp/Fsdp.h"
#include "passes/Kernel/Models/KernelModels.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace shardc {

static void buildUpdate(fsdp::UpdateOp update, fsdp::UpdateOp::Adaptor inputs,
                        KernelBuilder &kernel) {
  IRMapping values;
  Block &body = update.getBody().front();
  values.map(body.getArguments(), inputs.getInputs());
  for (Operation &op : body.without_terminator()) {
    auto operands = llvm::map_to_vector(
        op.getOperands(), [&](Value value) { return values.lookup(value); });
    SmallVector<Value> results;
    cast<aten::KernelOpInterface>(op).buildKernel(kernel.builder, operands,
                                                  kernel.accumulation, results);
    values.map(op.getResults(), results);
  }
  for (Value result : body.getTerminator()->getOperands())
    kernel.results.push_back(values.lookup(result));
}

void attachUpdateKernels(MLIRContext *context) {
  using fsdp::UpdateOp;
  UpdateOp::attachInterface<KernelModel<UpdateOp, buildUpdate>>(*context);
}

} // namespace shardc
