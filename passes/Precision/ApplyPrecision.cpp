//===- ApplyPrecision.cpp - A policy becomes dtypes -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One walk over forward in program order:
//
//   @forward(%x: tensor<8x16xf32>)
//     %w = fsdp.read @w : tensor<4x16xf32>
//     aten.linear %x, %w : (…f32, …f32) -> tensor<8x4xf32>
//   -> %h = fsdp.cast %x at input : tensor<8x16xf32> -> tensor<8x16xbf16>
//     %w = fsdp.read @w : tensor<4x16xbf16>
//     aten.linear %h, %w : (…bf16, …bf16) -> tensor<8x4xbf16>
//
// Keeps every operation and shape; adds casts of arguments and results at
// boundaries, and conversions before writes to buffers. What a module captures
// is no argument and keeps its dtype. Where an operator cannot take its
// operands and a conversion turns out to follow another tensor's dtype
// (SilentConversions.h), the walk begins again: what it did before is what it
// finds.
//===----------------------------------------------------------------------===//

#include "passes/Precision/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Functions.h"
#include "passes/Group/RootGroup.h"
#include "passes/Precision/GatheredDtype.h"
#include "passes/Precision/SilentConversions.h"
#include "passes/Precision/TypePropagation.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

#define DEBUG_TYPE "shardc-apply-precision"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_APPLYPRECISIONPASS
#include "passes/Precision/Passes.h.inc"

namespace {

struct ApplyPrecisionPass : impl::ApplyPrecisionPassBase<ApplyPrecisionPass> {
  void runOnOperation() override;
};

} // namespace

/// The parameters that forward changes.
static llvm::StringSet<> changedParameters(ModuleOp module) {
  SymbolTable symbols(module);
  llvm::StringSet<> names;
  module.walk([&](fsdp::WriteOp write) {
    Operation *state = symbols.lookup(write.getSymbol());
    auto buffer = dyn_cast<fsdp::BufferOp>(state);
    if (!buffer || buffer.getParameter())
      names.insert(write.getSymbol());
  });
  return names;
}

namespace {

class PolicyRewriter {
public:
  explicit PolicyRewriter(ModuleOp module)
      : gathered(module), changed(changedParameters(module)) {}

  /// The operator that could not take its operands when rewriting failed.
  InferTypeOpInterface getRefused() const { return refused; }

  /// Rewrites `function`, whose inputs and outputs follow `policy` (or null).
  LogicalResult rewrite(func::FuncOp function, fsdp::PolicyAttr policy);

private:
  GatheredDtype gathered;
  llvm::StringSet<> changed;
  fsdp::PolicyAttr rootPolicy;
  InferTypeOpInterface refused;

  LogicalResult rewriteBlock(Block &block);
  LogicalResult rewriteModule(fsdp::ModuleOp call);
  void rewriteWrite(fsdp::WriteOp write);
  void rewriteCapture(fsdp::CaptureOp capture);
  fsdp::PolicyAttr policyAround(Operation *op);
  void narrowParameter(Operation *read, StringRef symbol);
  void narrowChanged(fsdp::WriteOp write);
  Value asBuffer(OpBuilder &builder, Location location, Value value,
                 StringRef buffer);
};

} // namespace

/// `value` in `element` through a cast, or `value` itself when it is not
/// floating point, has that dtype, or `element` is null.
static Value castAt(OpBuilder &builder, Location location, Value value,
                    Type element, fsdp::Boundary boundary) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!element || !type || !isa<FloatType>(type.getElementType()) ||
      type.getElementType() == element)
    return value;
  return fsdp::CastOp::create(builder, location, type.clone(element), value,
                              boundary);
}

/// The dtype that `policy` casts inputs to, or null.
static Type inputDtype(fsdp::PolicyAttr policy) {
  return policy && policy.getCastInputs() ? policy.getParam() : Type();
}

static Type outputDtype(fsdp::PolicyAttr policy) {
  return policy ? policy.getOutput() : Type();
}

/// `value` in the dtype of `buffer`.
Value PolicyRewriter::asBuffer(OpBuilder &builder, Location location,
                               Value value, StringRef buffer) {
  auto type = cast<RankedTensorType>(gathered.readType(buffer));
  if (value.getType() == type)
    return value;
  return aten::ToOp::create(builder, location, type, value,
                            TypeAttr::get(type.getElementType()));
}

/// Assigning to a buffer converts to its dtype, as `copy_` does in PyTorch.
void PolicyRewriter::rewriteWrite(fsdp::WriteOp write) {
  OpBuilder builder(write);
  write.getValueMutable().assign(
      asBuffer(builder, write.getLoc(), write.getValue(), write.getSymbol()));
}

void PolicyRewriter::rewriteCapture(fsdp::CaptureOp capture) {
  OpBuilder builder(capture);
  if (std::optional<StringRef> buffer = capture.getBuffer())
    capture.getValueMutable().assign(
        asBuffer(builder, capture.getLoc(), capture.getValue(), *buffer));
  capture.getResult().setType(
      cast<RankedTensorType>(capture.getValue().getType()));
}

/// The policy of the innermost group around `op`.
fsdp::PolicyAttr PolicyRewriter::policyAround(Operation *op) {
  for (auto call = op->getParentOfType<fsdp::ModuleOp>(); call;
       call = call->getParentOfType<fsdp::ModuleOp>())
    if (fsdp::PolicyAttr policy = gathered.policyOf(call))
      return policy;
  return rootPolicy;
}

/// The call of the module that has the tensor `symbol`, if `op` is in it.
static fsdp::ModuleOp ownerAround(Operation *op, StringRef symbol) {
  StringRef path = symbol.rsplit('.').first;
  auto call = op->getParentOfType<fsdp::ModuleOp>();
  while (call && call.getPath() != path)
    call = call->getParentOfType<fsdp::ModuleOp>();
  return symbol.contains('.') ? call : fsdp::ModuleOp();
}

static bool writes(fsdp::ModuleOp call, StringRef symbol) {
  return call
      ->walk([&](fsdp::WriteOp write) {
        return write.getSymbol() == symbol ? WalkResult::interrupt()
                                           : WalkResult::advance();
      })
      .wasInterrupted();
}

/// A parameter that forward changes has its master's dtype where it is changed,
/// and in the module that has it the one that its group computes in, as what
/// FSDP2 gathers. Batch norms keep f32.
void PolicyRewriter::narrowParameter(Operation *read, StringRef symbol) {
  fsdp::PolicyAttr policy = policyAround(read);
  Value value = read->getResult(0);
  auto type = cast<RankedTensorType>(value.getType());
  if (!changed.contains(symbol) || !policy || !policy.getParam() ||
      !isa<FloatType>(type.getElementType()))
    return;
  fsdp::ModuleOp owner = ownerAround(read, symbol);
  auto isSettled = [&](Operation *user) {
    auto to = dyn_cast<aten::ToOp>(user);
    return isa<aten::BatchNormOp>(user) ||
           (to && to.getDtype() == policy.getParam());
  };
  if (!owner || writes(owner, symbol) ||
      llvm::all_of(value.getUsers(), isSettled))
    return;
  OpBuilder builder(read->getContext());
  builder.setInsertionPointAfter(read);
  Value narrow =
      aten::ToOp::create(builder, read->getLoc(), type.clone(policy.getParam()),
                         value, TypeAttr::get(policy.getParam()));
  value.replaceAllUsesExcept(narrow, narrow.getDefiningOp());
}

/// Whether `op` comes behind `other`, which is in the same block or in one
/// around that of `op`.
static bool isBehind(Operation *op, Operation *other) {
  Operation *ancestor = other->getBlock()->findAncestorOpInBlock(*op);
  return ancestor && other->isBeforeInBlock(ancestor);
}

/// Whether a changed parameter keeps its master's dtype for `use`: what a
/// module captures is narrowed there, and batch norms keep f32.
static bool keepsMaster(OpOperand &use) {
  auto call = dyn_cast<fsdp::ModuleOp>(use.getOwner());
  return isa<fsdp::WriteOp, fsdp::CaptureOp, aten::BatchNormOp>(
             use.getOwner()) ||
         (call && call.isCaptured(use.getOperandNumber()));
}

/// Narrows a parameter that is trained where the module that changes it
/// computes with the new value.
void PolicyRewriter::narrowChanged(fsdp::WriteOp write) {
  fsdp::PolicyAttr policy = policyAround(write);
  Value value = write.getValue();
  auto type = cast<RankedTensorType>(value.getType());
  if (gathered.buffer(write.getSymbol()) || !policy || !policy.getParam() ||
      !isa<FloatType>(type.getElementType()))
    return;
  OpBuilder builder(write->getContext());
  builder.setInsertionPointAfter(write);
  auto narrow =
      aten::ToOp::create(builder, write.getLoc(), type.clone(policy.getParam()),
                         value, TypeAttr::get(policy.getParam()));
  value.replaceUsesWithIf(narrow, [&](OpOperand &use) {
    return !keepsMaster(use) && isBehind(use.getOwner(), narrow);
  });
  if (narrow.use_empty())
    narrow.erase();
}

/// Parameters of a batch norm are gathered in f32; what the model computes from
/// them, such as 1 + gamma, may be narrower and is converted.
static void widenStatistics(aten::BatchNormOp norm) {
  OpBuilder builder(norm);
  for (OpOperand &operand : llvm::drop_begin(norm->getOpOperands()))
    if (aten::tensorType(operand.get()).getElementTypeBitWidth() < 32)
      operand.set(aten::ToOp::create(builder, norm.getLoc(), operand.get(),
                                     builder.getF32Type()));
}

LogicalResult PolicyRewriter::rewriteModule(fsdp::ModuleOp call) {
  fsdp::PolicyAttr policy = gathered.policyOf(call);
  OpBuilder builder(call);
  Block &body = call.getBody().front();
  for (auto [input, argument] :
       llvm::zip_equal(call.getInputsMutable(), body.getArguments())) {
    if (!call.isCaptured(input.getOperandNumber()))
      input.set(castAt(builder, call.getLoc(), input.get(), inputDtype(policy),
                       fsdp::Boundary::input));
    argument.setType(input.get().getType());
  }
  if (failed(rewriteBlock(body)))
    return failure();
  builder.setInsertionPointAfter(call);
  for (auto [result, yielded] : llvm::zip_equal(
           call.getResults(), body.getTerminator()->getOperands())) {
    result.setType(yielded.getType());
    if (call.isResultCaptured(result.getResultNumber()))
      continue;
    Value output = castAt(builder, call.getLoc(), result, outputDtype(policy),
                          fsdp::Boundary::output);
    if (output != result)
      result.replaceAllUsesExcept(output, output.getDefiningOp());
  }
  return success();
}

LogicalResult PolicyRewriter::rewriteBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto call = dyn_cast<fsdp::ModuleOp>(op)) {
      if (failed(rewriteModule(call)))
        return failure();
    } else if (auto read = dyn_cast<fsdp::ReadOp>(op)) {
      read.getResult().setType(gathered.readType(read.getSymbol()));
      narrowParameter(read, read.getSymbol());
    } else if (auto write = dyn_cast<fsdp::WriteOp>(op)) {
      rewriteWrite(write);
      narrowChanged(write);
    } else if (auto capture = dyn_cast<fsdp::CaptureOp>(op)) {
      rewriteCapture(capture);
      if (std::optional<StringRef> buffer = capture.getBuffer())
        narrowParameter(capture, *buffer);
    } else if (auto cast = dyn_cast<fsdp::CastOp>(op)) {
      // Of an earlier walk, and for nothing since a conversion follows.
      if (cast.getValue().getType() == cast.getType()) {
        cast.replaceAllUsesWith(cast.getValue());
        cast.erase();
      }
    } else if (auto inferred = dyn_cast<InferTypeOpInterface>(op)) {
      if (auto norm = dyn_cast<aten::BatchNormOp>(op))
        widenStatistics(norm);
      std::string reason;
      if (failed(reinferTypes(inferred, reason))) {
        refused = inferred;
        return failure();
      }
    }
  }
  return success();
}

LogicalResult PolicyRewriter::rewrite(func::FuncOp function,
                                      fsdp::PolicyAttr policy) {
  rootPolicy = policy;
  Block &body = function.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  for (BlockArgument input : body.getArguments()) {
    if (input.use_empty())
      continue;
    Value cast = castAt(builder, input.getLoc(), input, inputDtype(policy),
                        fsdp::Boundary::input);
    if (cast != input)
      input.replaceAllUsesExcept(cast, cast.getDefiningOp());
  }
  if (failed(rewriteBlock(body)))
    return failure();
  Operation *terminator = body.getTerminator();
  builder.setInsertionPoint(terminator);
  for (OpOperand &output : terminator->getOpOperands())
    output.set(castAt(builder, terminator->getLoc(), output.get(),
                      outputDtype(policy), fsdp::Boundary::output));
  function.setFunctionType(builder.getFunctionType(
      function.getArgumentTypes(), terminator->getOperandTypes()));
  return success();
}

void ApplyPrecisionPass::runOnOperation() {
  auto function = functions::find(getOperation(), functions::forward);
  SmallVector<fsdp::GroupOp> roots = findRootGroups(getOperation());
  if (!function || roots.size() != 1) {
    getOperation().emitError("expected a function @forward and one root group");
    return signalPassFailure();
  }
  SilentConversions silent(function);
  for (;;) {
    PolicyRewriter rewriter(getOperation());
    if (succeeded(rewriter.rewrite(function, roots.front().getPolicy())))
      return silent.report();
    if (!silent.follow(rewriter.getRefused())) {
      reportDtypes(rewriter.getRefused());
      return signalPassFailure();
    }
  }
}

} // namespace shardc
