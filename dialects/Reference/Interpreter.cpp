//===- Interpreter.cpp - The reference interpreter ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Walks a program operation by operation. Tensors die at their last use, so
// that a model needs the memory of its widest place alone.
//===----------------------------------------------------------------------===//

#include "dialects/Reference/Interpreter.h"

#include "dialects/Fsdp/Functions.h"
#include "dialects/Fsdp/ModulePath.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/AtenTraits.h"
#include "dialects/Exec/Exec.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace shardc::reference {

Interpreter::Interpreter(ModuleOp module, int64_t ranks)
    : module(module), ranks(ranks), state(module, ranks) {}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void Interpreter::define(Value value, RankTensors tensors) {
  unsigned count = std::distance(value.use_begin(), value.use_end());
  if (!count)
    return;
  uses[value] = count;
  values[value] = std::move(tensors);
}

/// The value for one of its uses.
RankTensors Interpreter::take(Value value) {
  auto found = values.find(value);
  assert(found != values.end() && "a value is defined before its uses");
  unsigned &left = uses[value];
  if (--left)
    return found->second;
  RankTensors last = std::move(found->second);
  values.erase(found);
  return last;
}

/// For how many ranks an operation is computed: once where all have the same
/// operands.
int64_t Interpreter::countRanks(ArrayRef<RankTensors> operands) const {
  if (operands.empty())
    return ranks;
  return llvm::max_element(
             operands,
             [](const auto &a, const auto &b) { return a.size() < b.size(); })
      ->size();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// The tensors of all ranks, one behind the other along the first dimension.
static Tensor concatenate(ArrayRef<Tensor> parts, int64_t ranks) {
  RankedTensorType type = parts.front().getType();
  SmallVector<int64_t> shape(type.getShape());
  shape.front() *= ranks;
  Tensor all(type.clone(shape));
  auto next = all.mutableFloats().begin();
  for (int64_t rank = 0; rank < ranks; ++rank)
    next = llvm::copy(parts[parts.size() == 1 ? 0 : rank].floats(), next);
  return all;
}

/// The batch norm of the batches of all ranks.
LogicalResult Interpreter::visitSynchronized(aten::BatchNormOp norm,
                                             ArrayRef<RankTensors> operands) {
  SmallVector<Tensor> together, computed;
  for (const RankTensors &operand : operands)
    together.push_back(operand.front());
  together[0] = concatenate(operands[0], ranks);
  if (perturbation)
    perturbation->apply(norm, together);
  Operation *larger = norm->clone();
  llvm::scope_exit erase([&] { larger->destroy(); });
  larger->getResult(0).setType(together[0].getType());
  auto round = [&](double intermediate) {
    return perturbation ? perturbation->apply(norm, intermediate)
                        : intermediate;
  };
  if (failed(table.evaluate(larger, together, computed, round)))
    return failure();
  RankTensors parts;
  ArrayRef<double> left = computed[0].floats();
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Tensor &part = parts.emplace_back(norm.getResult().getType());
    llvm::copy(left.take_front(part.getNumElements()),
               part.mutableFloats().begin());
    left = left.drop_front(part.getNumElements());
  }
  define(norm.getResult(), std::move(parts));
  for (unsigned i = 1; i < norm->getNumResults(); ++i)
    define(norm->getResult(i), {computed[i]});
  return success();
}

LogicalResult Interpreter::visitAten(Operation *op) {
  SmallVector<RankTensors> operands;
  for (Value operand : op->getOperands())
    operands.push_back(take(operand));
  if (auto norm = dyn_cast<aten::BatchNormOp>(op);
      norm && norm.getSynchronized() && norm.getTraining())
    return visitSynchronized(norm, operands);
  SmallVector<RankTensors> results(op->getNumResults());
  SmallVector<Tensor> ofRank, computed;
  for (int64_t rank = 0; rank < countRanks(operands); ++rank) {
    ofRank.clear();
    for (RankTensors &operand : operands)
      ofRank.push_back(operand[operand.size() == 1 ? 0 : rank]);
    if (perturbation)
      perturbation->apply(op, ofRank);
    auto round = [&](double intermediate) {
      return perturbation ? perturbation->apply(op, intermediate)
                          : intermediate;
    };
    if (failed(table.evaluate(op, ofRank, computed, round)))
      return failure();
    for (auto [result, tensor] : llvm::zip_equal(results, computed))
      result.push_back(std::move(tensor));
  }
  for (auto [result, tensors] : llvm::zip_equal(op->getResults(), results))
    define(result, std::move(tensors));
  return success();
}

LogicalResult Interpreter::visitModule(Operation *op) {
  Block &body = op->getRegion(0).front();
  for (auto [argument, input] :
       llvm::zip_equal(body.getArguments(), op->getOperands()))
    define(argument, take(input));
  if (failed(visitRange(body.without_terminator())))
    return failure();
  for (auto [result, yielded] :
       llvm::zip_equal(op->getResults(), body.getTerminator()->getOperands()))
    define(result, take(yielded));
  return success();
}

void Interpreter::visitLoss(Value loss) {
  RankTensors losses = take(loss);
  execution.losses = std::move(losses);
}

/// A parameter or buffer as each rank sees it, in the type that the program
/// wants.
static RankTensors readState(const ShardedState &state, StringRef name,
                             Type type, int64_t ranks) {
  RankTensors tensors;
  Type element = getElementTypeOrSelf(type);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Tensor tensor = state.get(name, rank);
    tensors.push_back(tensor.getElementType() == element
                          ? tensor
                          : tensor.converted(element));
  }
  return tensors;
}

void Interpreter::visitWrite(fsdp::WriteOp write) {
  RankTensors tensors = take(write.getValue());
  if (state.isOptimizerState(write.getSymbol())) {
    state.setOptimizerState(write.getSymbol(), tensors);
    return;
  }
  if (!state.isBuffer(write.getSymbol()))
    return; // A parameter: the update part computes its change.
  for (int64_t rank = 0; rank < ranks; ++rank)
    state.setBuffer(write.getSymbol(), rank,
                    tensors[tensors.size() == 1 ? 0 : rank]);
}

void Interpreter::visitSum(fsdp::SumOverRanksOp sum) {
  RankTensors terms = take(sum.getValue());
  Tensor total = terms.front();
  Rounding type(cast<FloatType>(total.getElementType()));
  for (int64_t rank = 1; rank < ranks; ++rank)
    for (auto [element, term] :
         llvm::zip_equal(total.mutableFloats(),
                         terms[terms.size() == 1 ? 0 : rank].floats()))
      element = type.round(element + term);
  define(sum.getResult(), {total});
}

void Interpreter::visitGather(fsdp::GatherShardOp gather) {
  RankTensors parts = take(gather.getShard());
  RankTensors whole = state.gatherShards(gather.getGroup(), gather.getSegment(),
                                         parts, gather.getResultTypes());
  for (auto [result, member] : llvm::zip_equal(gather.getMembers(), whole))
    define(result, {member});
}

/// All ranks have the same whole members.
void Interpreter::visitTake(fsdp::TakeShardOp take) {
  RankTensors whole;
  for (Value member : take.getMembers())
    whole.push_back(this->take(member).front());
  define(take.getShard(),
         state.takeShards(take.getGroup(), take.getSegment(), whole,
                          cast<RankedTensorType>(take.getType())));
}

/// Whole groups and pending collectives are not values here: `view` reads the
/// shards themselves, which change in `update` alone, and a reduction happens
/// where it starts.
LogicalResult Interpreter::visitFsdp(Operation *op) {
  auto reduce = [&](auto reduction) {
    SmallVector<RankTensors> gradients;
    for (Value value : reduction.getGradients())
      gradients.push_back(take(value));
    state.reduceScatter(reduction.getParameters(), gradients,
                        reduction.getOnce());
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<fsdp::ModuleOp, fsdp::UpdateOp>(
          [&](Operation *) { return visitModule(op); })
      .Case([&](fsdp::ReadOp read) {
        StringRef name = read.getSymbol();
        define(read.getResult(),
               state.isOptimizerState(name)
                   ? state.getOptimizerState(name)
                   : readState(state, name, read.getType(), ranks));
        return success();
      })
      .Case([&](fsdp::ReadShardOp read) {
        define(read.getResult(),
               state.getShards(read.getGroup(), read.getSegment(),
                               ShardedState::parameterKey));
        return success();
      })
      .Case([&](fsdp::GradientOp gradient) {
        auto type = cast<fsdp::ShardType>(gradient.getShard().getType());
        define(gradient.getResult(),
               state.getShards(type.getGroup().getValue(),
                               gradient.getSegment(),
                               ShardedState::gradientKey));
        return success();
      })
      .Case([&](fsdp::ScalarOp scalar) {
        define(scalar.getResult(), state.getScalar(scalar));
        return success();
      })
      .Case([&](fsdp::ViewOp view) {
        define(view.getResult(),
               readState(state, view.getParameter(), view.getType(), ranks));
        return success();
      })
      .Case([&](fsdp::WriteOp write) { return visitWrite(write), success(); })
      .Case([&](fsdp::WriteShardOp write) {
        state.setShards(write.getGroup(), write.getSegment(),
                        ShardedState::parameterKey, take(write.getValue()));
        return success();
      })
      .Case([&](fsdp::CaptureOp capture) {
        define(capture.getResult(), take(capture.getValue()));
        return success();
      })
      .Case([&](fsdp::CastOp cast) {
        RankTensors tensors = take(cast.getValue());
        for (Tensor &tensor : tensors)
          tensor = tensor.converted(getElementTypeOrSelf(cast.getType()));
        define(cast.getResult(), std::move(tensors));
        return success();
      })
      .Case([&](fsdp::RecordLossOp record) {
        return visitLoss(record.getLoss()), success();
      })
      .Case<fsdp::ReduceScatterOp, fsdp::ReduceScatterStartOp>(
          [&](auto start) { return reduce(start), success(); })
      .Case([&](fsdp::SumOverRanksOp sum) { return visitSum(sum), success(); })
      .Case([&](fsdp::BroadcastOp broadcast) {
        define(broadcast.getResult(), {take(broadcast.getValue()).front()});
        return success();
      })
      .Case([&](fsdp::GatherShardOp gather) {
        return visitGather(gather), success();
      })
      .Case([&](fsdp::TakeShardOp take) { return visitTake(take), success(); })
      .Case([&](fsdp::AllReduceOp sum) {
        state.allReduce(cast<fsdp::ShardType>(sum.getType()).getGroup());
        return success();
      })
      .Case([&](fsdp::AllReduceStartOp start) {
        state.allReduce(cast<fsdp::PendingType>(start.getType()).getGroup());
        return success();
      })
      .Case([&](fsdp::GradientNormOp norm) {
        Tensor squares(cast<RankedTensorType>(norm.getType()));
        llvm::copy(state.sumOfGradientSquares(),
                   squares.mutableFloats().begin());
        execution.gradientNorm =
            std::sqrt(squares.floats().front()) / (ranks * state.microBatches);
        define(norm.getResult(), RankTensors(ranks, squares));
        return success();
      })
      .Case<fsdp::BeginOp, fsdp::UnshardOp, fsdp::UnshardStartOp, fsdp::WaitOp,
            fsdp::RetainOp, fsdp::ReshardOp>(
          [&](Operation *) { return success(); })
      .Default([&](Operation *) {
        return emitNumberedError(op, "E0142")
               << "the reference interpreter has no meaning for "
               << op->getName();
      });
}

/// Follows views of whole groups, and refuses an operand that is a view of one
/// that was resharded: its bytes are somebody else's.
LogicalResult Interpreter::checkStorage(Operation *op) {
  for (Value operand : op->getOperands()) {
    auto found = storage.find(operand);
    if (found != storage.end() && resharded.contains(found->second))
      return emitNumberedError(op, "E0142")
             << "'" << op->getName() << "' reads a parameter of "
             << found->second.getType() << " after that was resharded";
  }
  if (auto view = dyn_cast<fsdp::ViewOp>(op))
    storage[view.getResult()] = view.getUnsharded();
  if (auto reshard = dyn_cast<fsdp::ReshardOp>(op))
    resharded.insert(reshard.getUnsharded());
  if (op->hasTrait<aten::IsView>() || isa<exec::ViewOp>(op))
    if (auto found = storage.find(op->getOperand(0)); found != storage.end()) {
      Value whole = found->second;
      storage[op->getResult(0)] = whole;
    }
  return success();
}

LogicalResult Interpreter::visit(Operation *op) {
  if (failed(checkStorage(op)))
    return failure();
  if (isa<fsdp::FsdpDialect>(op->getDialect()))
    return visitFsdp(op);
  if (isa<exec::ExecDialect>(op->getDialect()))
    return visitExec(op);
  return visitAten(op);
}

LogicalResult
Interpreter::visitRange(llvm::iterator_range<Block::iterator> operations) {
  for (Operation &op : operations)
    if (failed(visit(&op)))
      return failure();
  return success();
}

static Block &bodyOf(ModuleOp module) {
  auto functions = module.getOps<func::FuncOp>();
  assert(!functions.empty() && "a program has a function");
  return (*functions.begin()).getBody().front();
}

/// Where the parts of the end of a step begin; the terminator without any.
static Block::iterator findEnd(Block &body) {
  for (auto begin : body.getOps<fsdp::BeginOp>())
    if (begin.getPhase() > fsdp::Phase::backward)
      return begin->getIterator();
  return body.getTerminator()->getIterator();
}

static func::FuncOp findEvaluation(ModuleOp module) {
  return functions::find(module, functions::evaluate);
}

void Interpreter::begin() {
  execution = Execution();
  values.clear();
  uses.clear();
  storage.clear();
  resharded.clear();
}

/// What a micro-batch runs of a function.
LogicalResult Interpreter::visitBody(Block &body,
                                     ArrayRef<RankTensors> inputs) {
  begin();
  for (auto [argument, tensors] : llvm::zip_equal(body.getArguments(), inputs))
    define(argument, tensors);
  return visitRange({body.begin(), findEnd(body)});
}

bool Interpreter::hasEvaluation() const { return bool(findEvaluation(module)); }

FailureOr<Execution> Interpreter::evaluate(ArrayRef<RankTensors> inputs) {
  if (failed(visitBody(findEvaluation(module).getBody().front(), inputs)))
    return failure();
  return std::move(execution);
}

FailureOr<Execution> Interpreter::accumulate(ArrayRef<RankTensors> inputs) {
  Block &body = bodyOf(module);
  if (failed(visitBody(body, inputs)))
    return failure();
  for (Value result : body.getTerminator()->getOperands())
    execution.results.push_back(take(result));
  ++state.microBatch;
  return std::move(execution);
}

/// Whether a part runs.
bool Interpreter::holds(fsdp::BeginOp begin) const {
  return !begin.getCondition() ||
         state.getOptimizerState(*begin.getCondition())[0].integers()[0];
}

/// What the gradients of the last step were scaled by.
double Interpreter::lossScale() const {
  for (auto kept : ModuleOp(module).getOps<fsdp::StateOp>())
    if (kept.getKey() == fsdp::StateOp::lossScaleKey)
      return state.getOptimizerState(kept.getSymName())[0].floats()[0];
  return 1;
}

/// The end of a step, if there is one.
LogicalResult Interpreter::visitUpdate() {
  state.microBatch = 0;
  llvm::scope_exit countStep([&] { ++state.step; });
  Block &body = bodyOf(module);
  Block::iterator first = findEnd(body);
  Block::iterator last = body.getTerminator()->getIterator();
  if (first == last)
    return success();
  llvm::scope_exit end([&] {
    state.clearGradients();
    if (execution.gradientNorm)
      *execution.gradientNorm /= lossScale();
  });
  for (; first != last; ++first) {
    auto part = dyn_cast<fsdp::BeginOp>(*first);
    if (part && !holds(part))
      break;
    if (failed(visit(&*first)))
      return failure();
  }
  return success();
}

FailureOr<Execution> Interpreter::run(ArrayRef<RankTensors> inputs) {
  FailureOr<Execution> accumulated = accumulate(inputs);
  if (failed(accumulated))
    return failure();
  execution = std::move(*accumulated);
  if (failed(visitUpdate()))
    return failure();
  return std::move(execution);
}

FailureOr<Execution> Interpreter::update() {
  begin();
  if (failed(visitUpdate()))
    return failure();
  return std::move(execution);
}

} // namespace shardc::reference
