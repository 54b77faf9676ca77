//===- FormKernels.cpp - One kernel an operator ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %y = aten.relu %x  ->  %y = exec.kernel "relu" (%a = %x) { linalg… }
//
// Views and library calls are left alone. A constant that a kernel reads is
// built in the kernel; one that something else reads is a kernel of its own.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Passes.h"
#include "passes/Kernel/TargetOf.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Exec/Exec.h"
#include "dialects/Fsdp/Fsdp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

#define DEBUG_TYPE "shardc-form-kernels"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_FORMKERNELSPASS
#include "passes/Kernel/Passes.h.inc"

namespace {
struct FormKernelsPass : impl::FormKernelsPassBase<FormKernelsPass> {
  using impl::FormKernelsPassBase<FormKernelsPass>::FormKernelsPassBase;
  void runOnOperation() override;
};
} // namespace

/// Appends the tensors that stand for the operands of `op` in `region`.
static void mapOperands(Operation *op, OpBuilder &builder,
                        const aten::Accumulation &accumulation,
                        SmallVectorImpl<Value> &inputs,
                        SmallVectorImpl<Value> &inside, Block &region) {
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    if (!mapping.contains(operand)) {
      if (auto constant = operand.getDefiningOp<aten::ConstantOp>()) {
        SmallVector<Value> built;
        cast<aten::KernelOpInterface>(*constant).buildKernel(
            builder, {}, accumulation, built);
        mapping.map(operand, built.front());
      } else {
        inputs.push_back(operand);
        mapping.map(operand,
                    region.addArgument(operand.getType(), operand.getLoc()));
      }
    }
    inside.push_back(mapping.lookup(operand));
  }
}

/// Also what only dead operations read, as views of a result do.
static void eraseDeadOperations(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// The operator's name without its dialect; an update's optimizer.
static StringRef labelOf(Operation *op) {
  if (auto update = dyn_cast<fsdp::UpdateOp>(op))
    return update.getOptimizer();
  StringRef dialect = op->getName().getDialectNamespace();
  return op->getName().getStringRef().drop_front(dialect.size() + 1);
}

/// Replaces `op` by a kernel that computes the results that are used.
static void formKernel(Operation *op, const aten::Accumulation &accumulation) {
  Region region;
  Block &body = region.emplaceBlock();
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToStart(&body);
  SmallVector<Value> inputs, operands, built, yielded, replaced;
  mapOperands(op, builder, accumulation, inputs, operands, body);
  cast<aten::KernelOpInterface>(op).buildKernel(builder, operands, accumulation,
                                                built);
  for (auto [result, value] : llvm::zip_equal(op->getResults(), built)) {
    if (result.use_empty())
      continue;
    replaced.push_back(result);
    yielded.push_back(value);
  }
  exec::YieldOp::create(builder, op->getLoc(), yielded);
  eraseDeadOperations(body);

  builder.setInsertionPoint(op);
  auto kernel = exec::KernelOp::create(
      builder, op->getLoc(), TypeRange(ValueRange(yielded)),
      builder.getStringAttr(labelOf(op)), inputs);
  kernel.getBody().takeBody(region);
  for (auto [result, value] : llvm::zip_equal(replaced, kernel.getResults()))
    result.replaceAllUsesWith(value);
  op->erase();
}

static aten::Accumulation accumulationOf(const Target &target,
                                         MLIRContext *context) {
  aten::Accumulation accumulation;
  if (target.accumulator == "f64")
    accumulation.dtype = Float64Type::get(context);
  else
    accumulation.dtype = Float32Type::get(context);
  accumulation.nearRowBytes = target.nearRowBytes;
  return accumulation;
}

/// The operators to replace, each after its readers; constants come last.
static SmallVector<Operation *> collectOperators(func::FuncOp function) {
  SmallVector<Operation *> operators, constants;
  for (Block &block : function.getBody())
    for (Operation &op : block)
      if (isa<aten::ConstantOp>(op))
        constants.push_back(&op);
      else if (isa<aten::KernelOpInterface>(op))
        operators.push_back(&op);
  std::reverse(operators.begin(), operators.end());
  llvm::append_range(operators, constants);
  return operators;
}

void FormKernelsPass::runOnOperation() {
  const Target *target = targetOf(getOperation());
  if (!target)
    return signalPassFailure();
  const aten::Accumulation accumulation =
      accumulationOf(*target, &getContext());
  // RequireKernels accepts operators without a kernel whose results are unread.
  for (Block &block : getOperation().getBody())
    eraseDeadOperations(block);
  for (Operation *op : collectOperators(getOperation()))
    if (op->use_empty()) // A constant that kernels have built.
      op->erase();
    else
      formKernel(op, accumulation);
}

} // namespace shardc
