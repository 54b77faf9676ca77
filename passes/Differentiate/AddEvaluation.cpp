//===- AddEvaluation.cpp - The evaluation of the model --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   func.func @step(%x) {                       func.func @evaluate(%x) {
//     fsdp.begin forward                          fsdp.begin forward
//     %0 = aten.dropout %x, …             ->
//     %1:5 = aten.batch_norm %0 … training        %1:5 = aten.batch_norm %x …
//     fsdp.write %1#1, @bn.running_mean
//     fsdp.record_loss %2                         fsdp.record_loss %2
//
// beside @step, which stays. What dropout and writes alone needed goes.
//===----------------------------------------------------------------------===//

#include "passes/Differentiate/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Functions.h"
#include "dialects/Fsdp/ModulePath.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "shardc-add-evaluation"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_ADDEVALUATIONPASS
#include "passes/Differentiate/Passes.h.inc"

namespace {
struct AddEvaluationPass : impl::AddEvaluationPassBase<AddEvaluationPass> {
  void runOnOperation() override;
};
} // namespace

using Operations = llvm::DenseSet<Operation *>;

static InFlightDiagnostic refuse(Operation *op) {
  return emitNumberedError(op, "E0224");
}

/// How the refusals end.
static constexpr char unknown[] =
    "; an export made in training mode does not show whether evaluation does "
    "the same";

//===----------------------------------------------------------------------===//
// Where values come from
//===----------------------------------------------------------------------===//

/// What `value` is computed from, its own operation included.
static Operations sliceOf(Value value) {
  Operations slice;
  SmallVector<Value> values = {value};
  while (!values.empty())
    if (Operation *op = values.pop_back_val().getDefiningOp())
      if (slice.insert(op).second)
        llvm::append_range(values, op->getOperands());
  return slice;
}

/// Whether the elements of the result are those of operands.
static bool isMovement(Operation *op) {
  return op->hasTrait<aten::IsView>() ||
         isa<aten::ToOp, fsdp::CastOp, aten::CatOp, aten::SliceBackwardOp,
             aten::SliceScatterOp, aten::AsStridedOp, aten::AsStridedScatterOp,
             aten::PadOp, aten::ScatterOp, aten::IndexOp, aten::IndexPutOp,
             aten::MaskedScatterOp, aten::GatherOp, aten::EmbeddingOp,
             aten::RollOp, aten::FlipOp, aten::TrilOp, aten::TriuOp,
             aten::WhereOp>(op);
}

/// The values that `value` has its elements from.
static SmallVector<Value> rootsOf(Value value) {
  llvm::SetVector<Value> values;
  values.insert(value);
  SmallVector<Value> roots;
  for (size_t i = 0; i < values.size(); ++i) {
    Operation *op = values[i].getDefiningOp();
    if (op && isMovement(op))
      values.insert(op->operand_begin(), op->operand_end());
    else
      roots.push_back(values[i]);
  }
  return roots;
}

/// The operations that read buffer `symbol` or compute with it, and among those
/// the ones that hold nothing else than it.
struct BufferUses {
  Operations dependent, unchanged;
};

static BufferUses usesOf(StringRef symbol, Block &body) {
  BufferUses uses;
  for (Operation &op : body) {
    auto isIn = [](const Operations &set) {
      return
          [&](Value operand) { return set.contains(operand.getDefiningOp()); };
    };
    auto read = dyn_cast<fsdp::ReadOp>(op);
    bool isRead = read && read.getSymbol() == symbol;
    if (isRead || llvm::any_of(op.getOperands(), isIn(uses.dependent)))
      uses.dependent.insert(&op);
    if (isRead || (isMovement(&op) &&
                   llvm::all_of(op.getOperands(), isIn(uses.unchanged))))
      uses.unchanged.insert(&op);
  }
  return uses;
}

//===----------------------------------------------------------------------===//
// Dropout and batch_norm
//===----------------------------------------------------------------------===//

/// The buffer that a running statistic was read from, maybe by way of a
/// batch_norm before; empty for one that is computed.
static StringRef bufferOf(Value statistic) {
  Operation *op = statistic.getDefiningOp();
  if (!op)
    return "";
  if (auto read = dyn_cast<fsdp::ReadOp>(op))
    return read.getSymbol();
  if (auto norm = dyn_cast<aten::BatchNormOp>(op))
    return statistic == norm.getNewRunningMean()
               ? bufferOf(norm.getRunningMean())
           : statistic == norm.getNewRunningVar()
               ? bufferOf(norm.getRunningVar())
               : StringRef();
  return isMovement(op) && op->getNumOperands() == 1
             ? bufferOf(op->getOperand(0))
             : StringRef();
}

/// Whether buffer `symbol` becomes what `norm` makes of it.
static bool keeps(aten::BatchNormOp norm, StringRef symbol) {
  for (auto write : norm->getBlock()->getOps<fsdp::WriteOp>())
    if (write.getSymbol() == symbol && sliceOf(write.getValue()).contains(norm))
      return true;
  return false;
}

static bool isZero(Value value) {
  auto constant = value.getDefiningOp<aten::ConstantOp>();
  auto elements =
      constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : nullptr;
  return elements && elements.isSplat() &&
         elements.getSplatValue<APFloat>().isZero();
}

/// A norm without statistics has zeros in their place, and stays as it is.
static FailureOr<bool> usesStatistics(aten::BatchNormOp norm) {
  Value mean = norm.getRunningMean(), variance = norm.getRunningVar();
  if (!norm.getTraining() || (isZero(mean) && isZero(variance)))
    return false;
  for (Value statistic : {mean, variance}) {
    StringRef buffer = bufferOf(statistic);
    if (buffer.empty() || !keeps(norm, buffer))
      return refuse(norm) << "'aten.batch_norm' normalizes with batch "
                             "statistics although it has running statistics, "
                             "which it does not update"
                          << unknown,
             failure();
  }
  return true;
}

/// Dropout is the identity, and so is what a batch_norm makes of statistics
/// that it keeps.
static LogicalResult stopTraining(Block &body) {
  SmallVector<aten::BatchNormOp> norms;
  for (auto norm : body.getOps<aten::BatchNormOp>()) {
    FailureOr<bool> running = usesStatistics(norm);
    if (failed(running))
      return failure();
    if (*running)
      norms.push_back(norm);
  }
  for (aten::BatchNormOp norm : norms) {
    norm.setTraining(false);
    norm.getNewRunningMean().replaceAllUsesWith(norm.getRunningMean());
    norm.getNewRunningVar().replaceAllUsesWith(norm.getRunningVar());
  }
  for (auto attention : body.getOps<aten::ScaledDotProductAttentionOp>())
    attention.stopDropout();
  for (Operation &op : llvm::make_early_inc_range(body))
    if (isa<aten::DropoutOp>(op)) {
      op.getResult(0).replaceAllUsesWith(op.getOperand(0));
      op.erase();
    }
  return success();
}

/// A Bernoulli number is its mean.
///
///   %0 = aten.rand ; %1 = aten.lt.Scalar %0, p ; %2 = aten.to %1 f32   ->   p
static void takeMeans(Block &body) {
  for (auto compare : llvm::to_vector(body.getOps<aten::LtScalarOp>())) {
    auto mean = dyn_cast<FloatAttr>(compare.getOther());
    if (!mean || !compare.getSelf().getDefiningOp<aten::RandOp>())
      continue;
    for (Operation *user : llvm::make_early_inc_range(compare->getUsers())) {
      auto number = dyn_cast<aten::ToOp>(user);
      auto type = number ? aten::tensorType(number) : RankedTensorType();
      if (!type || !isa<FloatType>(type.getElementType()))
        continue;
      OpBuilder builder(number);
      Attribute value =
          builder.getFloatAttr(type.getElementType(), mean.getValueAsDouble());
      auto constant = aten::ConstantOp::create(
          builder, number.getLoc(), DenseElementsAttr::get(type, value));
      number.getResult().replaceAllUsesWith(constant.getResult());
      number.erase();
    }
  }
}

//===----------------------------------------------------------------------===//
// What an export of training does not say
//===----------------------------------------------------------------------===//

/// What the loss is computed from.
static Operations findLive(Block &body) {
  Operations live;
  for (Operation &op : llvm::reverse(body)) {
    bool isUsed = llvm::any_of(
        op.getUsers(), [&](Operation *user) { return live.contains(user); });
    if (isUsed || isa<fsdp::RecordLossOp>(op))
      live.insert(&op);
  }
  return live;
}

/// Whether the loss may be computed from what a buffer becomes: from elements
/// that are written to it, or from something between its old and its new value,
/// as it may have been in between.
static bool mayUse(fsdp::WriteOp write, const Operations &live) {
  auto isLive = [&](Value value) {
    return llvm::any_of(value.getUsers(),
                        [&](Operation *user) { return live.contains(user); });
  };
  BufferUses uses = usesOf(write.getSymbol(), *write->getBlock());
  for (Value root : rootsOf(write.getValue()))
    if (!uses.unchanged.contains(root.getDefiningOp()) && isLive(root))
      return true;
  return llvm::any_of(sliceOf(write.getValue()), [&](Operation *op) {
    return live.contains(op) && uses.dependent.contains(op) &&
           !uses.unchanged.contains(op);
  });
}

static bool isParameter(fsdp::WriteOp write) {
  return SymbolTable::lookupNearestSymbolFrom<fsdp::ParameterOp>(
      write->getParentOfType<ModuleOp>(), write.getSymbolAttr());
}

static LogicalResult checkLive(Operation &op, const Operations &live) {
  if (live.contains(&op) && isa<aten::RandOp, aten::RandnOp>(op))
    return refuse(&op) << "'" << op.getName()
                       << "' draws random numbers and is not dropout"
                       << unknown;
  if (auto write = dyn_cast<fsdp::WriteOp>(op); write && mayUse(write, live))
    return refuse(&op) << "forward changes "
                       << (isParameter(write) ? "parameter" : "buffer") << " '"
                       << write.getSymbol() << "' and may use its new value"
                       << unknown;
  return success();
}

static LogicalResult turnIntoEvaluation(func::FuncOp function) {
  Block &body = function.getBody().front();
  if (failed(stopTraining(body)))
    return failure();
  if (function->getParentOp()->hasAttr("shardc.means_in_evaluation"))
    takeMeans(body);
  Operations live = findLive(body);
  for (Operation &op : body)
    if (failed(checkLive(op, live)))
      return failure();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (!live.contains(&op) && !isa<fsdp::BeginOp, func::ReturnOp>(op))
      op.erase();
  return success();
}

void AddEvaluationPass::runOnOperation() {
  auto step = functions::find(getOperation(), functions::step);
  if (!step) {
    getOperation().emitError("expected a function @step");
    return signalPassFailure();
  }
  if (auto problem =
          getOperation()->getAttrOfType<StringAttr>("shardc.no_evaluation")) {
    refuse(step) << "the export helper found that " << problem.getValue();
    return signalPassFailure();
  }
  OpBuilder builder(step);
  builder.setInsertionPointAfter(step);
  auto evaluation = cast<func::FuncOp>(builder.clone(*step));
  evaluation.setSymName(
      functions::freeSymbol(getOperation(), functions::evaluate));
  if (failed(turnIntoEvaluation(evaluation)))
    signalPassFailure();
}

} // namespace shardc
