//===- FuseKernels.cpp - Point-wise kernels join their neighbours ---------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %s = exec.kernel "add" (%x, %y)            %s, %n = exec.kernel
//   %n = exec.kernel "layer_norm" (%s, …)  ->      "add+layer_norm" (%x, %y, …)
//
// Merges regions greedily, then lets linalg fuse point-wise nests inside each
// merged region. Keeps every tensor's element type and computes nothing twice
// that needs a reduction or a function of `math`.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/ElementBytes.h"
#include "dialects/Exec/Exec.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/ModulePath.h"
#include "passes/Kernel/ElementwiseFusion.h"
#include "passes/Kernel/Schedule/KernelSchedule.h"
#include "passes/Kernel/TargetOf.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#define DEBUG_TYPE "shardc-fuse-kernels"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_FUSEKERNELSPASS
#include "passes/Kernel/Passes.h.inc"

namespace {
struct FuseKernelsPass : impl::FuseKernelsPassBase<FuseKernelsPass> {
  using FuseKernelsPassBase::FuseKernelsPassBase;
  void runOnOperation() override;
};

/// What decides whether two kernels may merge.
struct KernelProfile {
  explicit KernelProfile(exec::KernelOp kernel);

  /// Every nest is parallel in all loops and nothing is inserted.
  bool isPointwise = true;
  /// No nest divides, computes a function of `math` or draws.
  bool isCheap = true;
  /// The most iterations of any nest.
  int64_t iterations = 0;
};
} // namespace

KernelProfile::KernelProfile(exec::KernelOp kernel) {
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      isPointwise &= generic.getNumReductionLoops() == 0;
      iterations =
          std::max(iterations, llvm::product_of(generic.getStaticLoopRanges()));
      for (Operation &inner : *generic.getBody())
        isCheap &= !isa<math::MathDialect>(inner.getDialect()) &&
                   !isa<arith::DivFOp, arith::ShRUIOp>(inner);
    } else if (auto scan = dyn_cast<exec::ScanOp>(op)) {
      isPointwise = false;
      iterations = std::max(
          iterations,
          cast<RankedTensorType>(scan.getResult(0).getType()).getNumElements());
    } else if (isa<tensor::InsertSliceOp, exec::ScatterOp>(op)) {
      isPointwise = false;
    }
  }
}

//===----------------------------------------------------------------------===//
// Whether
//===----------------------------------------------------------------------===//

static int64_t elementsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

/// Whether `consumer` uses `value` by an operation of this type.
template <typename OpTy>
static bool usesBy(exec::KernelOp consumer, Value value) {
  for (auto [input, argument] :
       llvm::zip_equal(consumer.getInputs(), consumer.getBody().getArguments()))
    if (input == value &&
        llvm::any_of(argument.getUsers(),
                     [](Operation *user) { return isa<OpTy>(user); }))
      return true;
  return false;
}

/// Whether it pays to compute `value` of `producer` inside `consumer`.
static bool isWorthMerging(exec::KernelOp producer, exec::KernelOp consumer,
                           Value value) {
  KernelProfile first(producer), second(consumer);
  // What is read at computed indices may be converted there.
  if (usesBy<tensor::InsertSliceOp>(consumer, value) ||
      (usesBy<tensor::ExtractOp>(consumer, value) &&
       !kernel::isWidening(producer)))
    return false;
  int64_t elements = elementsOf(value);
  bool sameIterations = elements == second.iterations;
  if (first.isPointwise && sameIterations && first.iterations == elements)
    return true;
  if (second.isPointwise && sameIterations)
    return true;
  // A small operand that is broadcast: recomputed in every iteration.
  return first.isPointwise && first.isCheap && second.isPointwise &&
         value.hasOneUse() && producer.getNumResults() == 1;
}

/// Whether `value` is, or is a view of, a parameter or buffer: it may be gone
/// or written over after a later operation of fsdp.
static bool isState(Value value) {
  Operation *definition = value.getDefiningOp();
  while (isa_and_nonnull<aten::ViewOp, aten::PermuteOp, aten::SliceOp,
                         aten::ExpandOp, exec::ViewOp>(definition))
    definition = definition->getOperand(0).getDefiningOp();
  return definition && !isa<fsdp::ScalarOp>(definition) &&
         isa_and_nonnull<fsdp::FsdpDialect>(definition->getDialect());
}

/// Whether `isBarrier` holds for an operation between the two.
static bool hasBetween(Operation *first, Operation *last,
                       function_ref<bool(Operation *)> isBarrier) {
  for (Operation *op = first->getNextNode(); op != last; op = op->getNextNode())
    if (isBarrier(op))
      return true;
  return false;
}

/// A kernel stays in its part of the step. Upwards it may pass everything else,
/// for it reads values alone.
static bool mayMoveUp(exec::KernelOp kernel, Operation *place) {
  return !hasBetween(place, kernel,
                     [](Operation *op) { return isa<fsdp::BeginOp>(op); });
}

/// Downwards a kernel that reads state may pass nothing with an effect.
static bool mayMoveDown(exec::KernelOp kernel, Operation *place) {
  bool readsState = llvm::any_of(kernel.getInputs(), isState);
  return !hasBetween(kernel, place, [&](Operation *op) {
    return isa<fsdp::BeginOp>(op) || (readsState && !isMemoryEffectFree(op));
  });
}

/// Where the merged kernel goes: at the consumer when nothing needs the
/// producer's results before, else at the producer when the consumer's other
/// operands exist there, else nowhere.
static Operation *findPlace(exec::KernelOp producer, exec::KernelOp consumer) {
  if (producer->getBlock() != consumer->getBlock())
    return nullptr;
  bool usedLater = llvm::all_of(producer->getUsers(), [&](Operation *user) {
    return user == consumer || consumer->isBeforeInBlock(user);
  });
  if (usedLater && mayMoveDown(producer, consumer))
    return consumer;
  bool definedEarly = llvm::all_of(consumer.getInputs(), [&](Value input) {
    Operation *definition = input.getDefiningOp();
    return !definition || definition == producer ||
           definition->isBeforeInBlock(producer);
  });
  return definedEarly && mayMoveUp(consumer, producer) ? producer.getOperation()
                                                       : nullptr;
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

namespace {
/// The kernel under construction: inputs without repetition and its region.
class MergedKernel {
public:
  explicit MergedKernel(MLIRContext *context) : builder(context) {
    builder.setInsertionPointToStart(&region.emplaceBlock());
  }

  /// Clones the body of `kernel`; inputs that were computed here stay inside.
  void append(exec::KernelOp kernel) {
    IRMapping inside;
    for (auto [input, argument] :
         llvm::zip_equal(kernel.getInputs(), kernel.getBody().getArguments()))
      inside.map(argument, lookup(input));
    Block &body = kernel.getBody().front();
    for (Operation &op : body.without_terminator())
      builder.clone(op, inside);
    for (auto [result, value] : llvm::zip_equal(
             kernel.getResults(), body.getTerminator()->getOperands()))
      values.map(result, inside.lookup(value));
  }

  Value lookup(Value outside) {
    if (!values.contains(outside)) {
      inputs.push_back(outside);
      values.map(outside, region.front().addArgument(outside.getType(),
                                                     outside.getLoc()));
    }
    return values.lookup(outside);
  }

  Region region;
  OpBuilder builder;
  SmallVector<Value> inputs;

private:
  IRMapping values;
};
} // namespace

/// The location of the kernel that does more than point-wise work.
static Location mainLocation(exec::KernelOp producer, exec::KernelOp consumer) {
  bool producerIsMain = !KernelProfile(producer).isPointwise &&
                        KernelProfile(consumer).isPointwise;
  return producerIsMain ? producer.getLoc() : consumer.getLoc();
}

static void report(exec::KernelOp merged, Value value) {
  remark::passed(merged.getLoc(),
                 remark::RemarkOpts::name("fuse").category(DEBUG_TYPE))
      << remark::metric("kernel", merged.getLabel())
      << remark::metric("module", getModulePath(merged.getLoc()))
      << remark::metric("elements", elementsOf(value));
}

static exec::KernelOp merge(exec::KernelOp producer, exec::KernelOp consumer,
                            Operation *place) {
  MergedKernel merged(place->getContext());
  merged.append(producer);
  merged.append(consumer);
  SmallVector<Value> results, yielded;
  for (Value result : producer.getResults())
    if (llvm::any_of(result.getUsers(),
                     [&](Operation *user) { return user != consumer; }))
      results.push_back(result);
  llvm::append_range(results, consumer.getResults());
  for (Value result : results)
    yielded.push_back(merged.lookup(result));
  Location location = mainLocation(producer, consumer);
  exec::YieldOp::create(merged.builder, location, yielded);

  OpBuilder builder(place);
  auto kernel = exec::KernelOp::create(
      builder, location, TypeRange(ValueRange(yielded)),
      builder.getStringAttr(producer.getLabel() + "+" + consumer.getLabel()),
      merged.inputs);
  // Gets its place in the block's order while its neighbours have theirs: else
  // the whole block is numbered again for each merge.
  (void)kernel->isBeforeInBlock(place);
  kernel.getBody().takeBody(merged.region);
  for (auto [result, value] : llvm::zip_equal(results, kernel.getResults()))
    result.replaceAllUsesWith(value);
  consumer.erase();
  producer.erase();
  return kernel;
}

/// Merges one producer into `kernel` and returns the result, or null. With
/// `withinOperators` both come from one operator of the model, and what FSDP2
/// does with gradients is none of it.
static exec::KernelOp mergeOneProducer(exec::KernelOp kernel,
                                       bool withinOperators) {
  if (withinOperators && kernel::isReducedCast(kernel))
    return nullptr;
  for (Value input : kernel.getInputs()) {
    auto producer = input.getDefiningOp<exec::KernelOp>();
    if (!producer || !isWorthMerging(producer, kernel, input) ||
        (withinOperators && producer.getLoc() != kernel.getLoc()))
      continue;
    if (Operation *place = findPlace(producer, kernel)) {
      exec::KernelOp merged = merge(producer, kernel, place);
      report(merged, merged.getResults().back());
      return merged;
    }
  }
  return nullptr;
}

/// Converts to a wider type in each reader of what `kernel` converts, so that
/// all of them read less.
static void repeatWidening(exec::KernelOp kernel) {
  if (!kernel::isWidening(kernel) || isState(kernel.getInputs().front()))
    return;
  Value result = kernel.getResult(0);
  SmallVector<exec::KernelOp> readers;
  for (Operation *user : result.getUsers()) {
    auto reader = dyn_cast<exec::KernelOp>(user);
    if (!reader || !isWorthMerging(kernel, reader, result))
      return;
    readers.push_back(reader);
  }
  for (exec::KernelOp reader :
       ArrayRef(readers).drop_front(readers.empty() ? 0 : 1)) {
    OpBuilder builder(reader);
    Operation *again = builder.clone(*kernel);
    reader->replaceUsesOfWith(result, again->getResult(0));
  }
}

//===----------------------------------------------------------------------===//
// Inside a kernel
//===----------------------------------------------------------------------===//

/// Whether it costs next to nothing to compute the nest's element again.
static bool isTrivial(linalg::GenericOp generic) {
  constexpr size_t fewOperations = 5; // With the terminator.
  return generic.getBody()->getOperations().size() <= fewOperations &&
         llvm::none_of(*generic.getBody(), [](Operation &op) {
           return isa<math::MathDialect>(op.getDialect()) ||
                  isa<arith::DivFOp>(op);
         });
}

/// Whether the loops of the fused nest still have bounds without the tensor
/// that passes between the two. linalg keeps it otherwise, as an output that
/// nobody reads and that several iterations write.
static bool keepsLoopBounds(linalg::GenericOp producer,
                            linalg::GenericOp consumer, OpOperand *operand) {
  AffineMap inverse = inversePermutation(
      producer.getIndexingMapMatchingResult(cast<OpResult>(operand->get())));
  if (!inverse)
    return false;
  SmallVector<AffineMap> maps;
  for (OpOperand &other : consumer->getOpOperands())
    if (&other != operand)
      maps.push_back(consumer.getMatchingIndexingMap(&other));
  AffineMap place = inverse.compose(consumer.getMatchingIndexingMap(operand));
  for (OpOperand *input : producer.getDpsInputOperands())
    maps.push_back(producer.getMatchingIndexingMap(input).compose(place));
  return bool(
      inversePermutation(concatAffineMaps(maps, consumer.getContext())));
}

/// Whether readers had better widen what they read than share a line of it in
/// memory that holds no more than `nearBytes`.
static bool isWideningOfLongLines(linalg::GenericOp nest, int64_t nearBytes) {
  auto type = cast<RankedTensorType>(nest.getResult(0).getType());
  return kernel::isWidening(nest) && type.getRank() > 0 &&
         type.getShape().back() * getElementBytes(type.getElementType()) >
             nearBytes;
}

/// Whether the nest that makes an operand is computed in its reader: not where
/// that would compute an element many times.
static bool mayFuseNest(OpOperand *operand, int64_t nearBytes) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  if (!producer || !consumer)
    return true; // A constant or a fill.
  auto iterations = [](linalg::GenericOp generic) {
    return llvm::product_of(generic.getStaticLoopRanges());
  };
  return (producer->hasOneUse() ||
          isWideningOfLongLines(producer, nearBytes)) &&
         keepsLoopBounds(producer, consumer, operand) &&
         (iterations(producer) == iterations(consumer) || isTrivial(producer));
}

static void simplify(exec::KernelOp kernel, int64_t nearBytes) {
  kernel::inlineExtracts(kernel);
  RewritePatternSet patterns(kernel.getContext());
  linalg::populateElementwiseOpsFusionPatterns(
      patterns,
      [&](OpOperand *operand) { return mayFuseNest(operand, nearBytes); });
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  // Whatever is left unfused is correct too.
  (void)applyPatternsGreedily(kernel.getBody(), std::move(patterns));
  IRRewriter rewriter(kernel.getContext());
  DominanceInfo dominance(kernel);
  eliminateCommonSubExpressions(rewriter, dominance, kernel);
}

void FuseKernelsPass::runOnOperation() {
  const Target *target = targetOf(getOperation());
  if (!target)
    return signalPassFailure();
  for (Block &block : getOperation().getBody()) {
    kernel::moveViews(block);
    for (auto kernel :
         llvm::make_early_inc_range(block.getOps<exec::KernelOp>()))
      if (!withinOperators)
        repeatWidening(kernel);
  }
  SmallVector<Operation *> kernels;
  for (Block &block : getOperation().getBody())
    for (auto kernel : block.getOps<exec::KernelOp>())
      kernels.push_back(kernel);
  // A producer is always before its consumer, so that a kernel of the list is
  // gone only when a later one has taken it in.
  for (Operation *op : kernels) {
    auto kernel = cast<exec::KernelOp>(op);
    while (exec::KernelOp merged = mergeOneProducer(kernel, withinOperators))
      kernel = merged;
  }
  for (Block &block : getOperation().getBody())
    for (auto kernel : block.getOps<exec::KernelOp>())
      simplify(kernel, kernel::preferencesOf(*target).privateBytes);
}

} // namespace shardc
