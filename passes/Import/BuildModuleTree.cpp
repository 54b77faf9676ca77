//===- BuildModuleTree.cpp - Flat operations become modules ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %0 = aten.linear %x, …  {shardc.modules = [h.0, h.0.fc]}
//   %1 = aten.relu %0       {shardc.modules = [h.0]}
//   -> %1 = fsdp.module "h.0" (%a = %x) {
//        %0 = fsdp.module "h.0.fc" (%b = %a) { aten.linear %b, … }
//        aten.relu %0 }
//
// Works from the outermost level inwards: a run of operations with the same
// frame at one level moves into a new region, then the region is nested by the
// next level. Keeps the order of operations, and with it every read before the
// write that follows it.
//===----------------------------------------------------------------------===//

#include "passes/Import/Passes.h"

#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/ModulePath.h"
#include "passes/Import/ModuleStack.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "shardc-build-module-tree"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_BUILDMODULETREEPASS
#include "passes/Import/Passes.h.inc"

namespace {

/// An operation and the modules it ran under.
struct TracedOperation {
  Operation *op;
  SmallVector<ModuleFrame> frames;
};

/// Neighbouring operations that move into one module.
class ModuleRun {
public:
  explicit ModuleRun(ArrayRef<TracedOperation> operations)
      : operations(operations) {
    for (const TracedOperation &traced : operations)
      members.insert(traced.op);
  }

  /// Replaces the run by a call of the module `frame`.
  void outline(const ModuleFrame &frame);

private:
  ArrayRef<TracedOperation> operations;
  llvm::DenseSet<Operation *> members;

  /// A value that crosses the boundary, and whether (1) or not (0) it is
  /// captured there: one that is passed and captured crosses twice.
  using Crossing = std::pair<Value, int>;

  /// Values from outside, in the order of their first use.
  SmallVector<Crossing> inputs() const;
  /// Values that are used outside, in the order of their definition.
  SmallVector<Crossing> results() const;
  bool isOutside(OpOperand &use) const {
    return !members.contains(use.getOwner());
  }
};

struct BuildModuleTreePass
    : impl::BuildModuleTreePassBase<BuildModuleTreePass> {
  void runOnOperation() override;
};

} // namespace

/// Whether `use` captures the value, or hands it to what only captures it.
static bool isCapture(OpOperand &use) {
  if (isa<fsdp::CaptureOp>(use.getOwner()))
    return true;
  auto yield = dyn_cast<fsdp::YieldOp>(use.getOwner());
  auto module =
      yield ? dyn_cast<fsdp::ModuleOp>(yield->getParentOp()) : fsdp::ModuleOp();
  return module && module.isResultCaptured(use.getOperandNumber());
}

SmallVector<ModuleRun::Crossing> ModuleRun::inputs() const {
  llvm::SetVector<Crossing> inputs;
  for (const TracedOperation &traced : operations)
    for (OpOperand &operand : traced.op->getOpOperands())
      if (!members.contains(operand.get().getDefiningOp()))
        inputs.insert({operand.get(), isCapture(operand)});
  return inputs.takeVector();
}

SmallVector<ModuleRun::Crossing> ModuleRun::results() const {
  SmallVector<Crossing> results;
  for (const TracedOperation &traced : operations)
    for (Value result : traced.op->getResults())
      for (int isCaptured : {0, 1})
        if (llvm::any_of(result.getUses(), [&](OpOperand &use) {
              return isOutside(use) && isCapture(use) == isCaptured;
            }))
          results.push_back({result, isCaptured});
  return results;
}

void ModuleRun::outline(const ModuleFrame &frame) {
  Operation *first = operations.front().op;
  SmallVector<Crossing> inputs = this->inputs(), results = this->results();
  SmallVector<Value> passed(llvm::make_first_range(inputs)),
      yielded(llvm::make_first_range(results));
  OpBuilder builder(first);
  auto module = fsdp::ModuleOp::create(
      builder, withModulePath(first->getLoc(), frame.path),
      TypeRange(ValueRange(yielded)), frame.path, frame.type,
      builder.getI64IntegerAttr(frame.call), FlatSymbolRefAttr(), passed);
  Block &body = module.getBody().emplaceBlock();
  for (const TracedOperation &traced : operations)
    traced.op->moveBefore(&body, body.end());
  llvm::DenseMap<Crossing, Value> arguments;
  for (Crossing input : inputs)
    arguments[input] =
        body.addArgument(input.first.getType(), input.first.getLoc());
  // By operand and not by use: a table that every layer reads has many uses.
  for (const TracedOperation &traced : operations)
    for (OpOperand &operand : traced.op->getOpOperands())
      if (Value argument =
              arguments.lookup({operand.get(), isCapture(operand)}))
        operand.set(argument);
  for (auto [inner, outer] : llvm::zip_equal(results, module.getResults()))
    inner.first.replaceUsesWithIf(
        outer, [&, captured = inner.second](OpOperand &use) {
          return isOutside(use) && isCapture(use) == captured;
        });
  builder.setInsertionPointToEnd(&body);
  fsdp::YieldOp::create(builder, module.getLoc(), yielded);
}

/// Nests `operations`, which are neighbours in one block, by their frames from
/// `level` on.
static void nest(ArrayRef<TracedOperation> operations, size_t level) {
  while (!operations.empty()) {
    ArrayRef<ModuleFrame> frames = operations.front().frames;
    if (frames.size() <= level) {
      operations = operations.drop_front();
      continue;
    }
    auto run = operations.take_while([&](const TracedOperation &traced) {
      return traced.frames.size() > level &&
             traced.frames[level] == frames[level];
    });
    ModuleRun(run).outline(frames[level]);
    nest(run, level + 1);
    operations = operations.drop_front(run.size());
  }
}

void BuildModuleTreePass::runOnOperation() {
  SmallVector<TracedOperation> operations;
  for (Operation &op : getOperation().getBody().front().without_terminator()) {
    FailureOr<SmallVector<ModuleFrame>> frames = decodeModuleStack(&op);
    if (failed(frames))
      return signalPassFailure();
    op.removeAttr(moduleStackName);
    operations.push_back({&op, std::move(*frames)});
  }
  nest(operations, 0);
}

} // namespace shardc
