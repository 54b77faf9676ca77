//===- SplitReductions.cpp - Partial sums for threads ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %sum = linalg.generic … (i reduced, j reduced) -> ()
//   -> %parts = linalg.generic … (i parallel, j reduced) -> (i)
//      %sum = linalg.generic … (i reduced) -> ()
//
// A loop that is too long for one part each is divided first. How is decided by
// shapes, layouts and the target alone, so that no number of threads moves a
// bit.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Passes.h"

#include "dialects/Exec/Exec.h"
#include "dialects/Exec/Layout.h"
#include "dialects/Exec/Memory.h"
#include "passes/Kernel/Models/ImageOrder.h"
#include "passes/Kernel/Schedule/KernelSchedule.h"
#include "passes/Kernel/TargetOf.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

#define DEBUG_TYPE "shardc-split-reductions"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_SPLITREDUCTIONSPASS
#include "passes/Kernel/Passes.h.inc"

namespace {

struct SplitReductionsPass
    : impl::SplitReductionsPassBase<SplitReductionsPass> {
  void runOnOperation() override;
};

/// Which loop is divided, into how many parts of how many iterations.
struct Division {
  unsigned loop;
  int64_t parts, iterations;
};

} // namespace

/// The operation that combines output `number` with one value, or null.
static Operation *combinerOf(linalg::GenericOp generic, unsigned number) {
  Block &body = *generic.getBody();
  Value carried = body.getArgument(generic.getNumDpsInputs() + number);
  Operation *combiner =
      body.getTerminator()->getOperand(number).getDefiningOp();
  bool isSimple =
      combiner && carried.hasOneUse() && combiner->getNumOperands() == 2 &&
      llvm::is_contained(combiner->getOperands(), carried) &&
      combiner->getResult(0).hasOneUse() && arith::getNeutralElement(combiner);
  return isSimple ? combiner : nullptr;
}

/// The strides of a tensor that a nest of `kernel` reads.
static SmallVector<int64_t> stridesOf(Value tensor, exec::KernelOp kernel) {
  SmallVector<MemRefType> layouts = kernel::getLayouts(kernel);
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return exec::getStrides(layouts[argument.getArgNumber()]);
  for (OpOperand &use : tensor.getUses())
    if (isa<exec::YieldOp>(use.getOwner()))
      return exec::getStrides(
          layouts[kernel.getNumOperands() + use.getOperandNumber()]);
  return kernel::getTemporaryStrides(
      layouts, cast<RankedTensorType>(tensor.getType()).getShape());
}

/// How far apart the iterations of each loop are in the largest tensor that
/// `generic` reads, in elements.
static SmallVector<int64_t> stridesOfLoops(linalg::GenericOp generic) {
  SmallVector<int64_t> strides(generic.getNumLoops(), 0);
  int64_t maxElements = 0;
  for (OpOperand *input : generic.getDpsInputOperands()) {
    auto type = dyn_cast<RankedTensorType>(input->get().getType());
    if (!type || type.getNumElements() <= maxElements)
      continue;
    maxElements = type.getNumElements();
    strides.assign(generic.getNumLoops(), 0);
    AffineMap map = generic.getMatchingIndexingMap(input);
    for (auto [index, stride] :
         llvm::zip_equal(map.getResults(),
                         stridesOf(input->get(),
                                   generic->getParentOfType<exec::KernelOp>())))
      index.walk([&, stride = stride](AffineExpr part) {
        if (auto loop = dyn_cast<AffineDimExpr>(part))
          strides[loop.getPosition()] += stride;
      });
  }
  return strides;
}

/// Divides a reduced loop where there are too few results to keep threads busy
/// and enough terms to pay for a second sum: the one with the longest way in
/// memory, unless another one has more parts.
static std::optional<Division>
chooseDivision(linalg::GenericOp generic,
               const kernel::LoopPreferences &preferences) {
  int64_t results = 1, terms = 1;
  SmallVector<unsigned> loops, reduced;
  SmallVector<int64_t> sizes = generic.getStaticLoopRanges();
  SmallVector<int64_t> strides = stridesOfLoops(generic);
  SmallVector<utils::IteratorType> iterators = generic.getIteratorTypesArray();
  for (unsigned number = 0; number < sizes.size(); ++number) {
    bool isReduced = iterators[number] == utils::IteratorType::reduction;
    (isReduced ? terms : results) *= sizes[number];
    if (isReduced && sizes[number] > 1)
      reduced.push_back(number);
    if (strides[number] != 0 && sizes[number] > 1)
      loops.push_back(number);
  }
  auto isFarther = [&](unsigned a, unsigned b) {
    return std::tuple(-strides[a], a) < std::tuple(-strides[b], b);
  };
  llvm::sort(reduced, isFarther);
  llvm::sort(loops, isFarther);
  // Sums of lines are independent; those of columns are blocks of neighbours.
  bool ofLines = loops.empty() ||
                 iterators[loops.back()] == utils::IteratorType::reduction;
  int64_t enough =
      ofLines ? preferences.enoughIterations / 4 : preferences.enoughNeighbours;
  if (results >= enough || results * terms < 2 * preferences.smallWork)
    return std::nullopt;
  // The fewest parts that keep all threads busy, else as many as there are.
  // A block of a GPU shares the terms of a part among 32 threads or more.
  const int64_t fewestTerms =
      ofLines || preferences.blockThreads == 1 ? 1024 : 512;
  const int64_t wanted = 4 * enough / results;
  auto partsOf = [&](int64_t size) {
    int64_t max = std::min({size, terms / fewestTerms, 16 * wanted});
    int64_t parts = 1;
    for (int64_t divisor = 2; divisor <= max && parts < wanted; ++divisor)
      if (size % divisor == 0)
        parts = divisor;
    return parts;
  };
  std::optional<Division> best;
  for (unsigned loop : reduced)
    if (int64_t parts = partsOf(sizes[loop]);
        parts >= 2 && (!best || (best->parts < wanted && parts > best->parts)))
      best = Division{loop, parts, sizes[loop] / parts};
  return best;
}

/// `map` with loop `loop` as part * iterations + a new loop behind it.
static AffineMap divided(AffineMap map, const Division &division) {
  MLIRContext *context = map.getContext();
  SmallVector<AffineExpr> loops;
  unsigned next = 0;
  for (unsigned i = 0; i < map.getNumDims(); ++i) {
    AffineExpr loop = getAffineDimExpr(next++, context);
    if (i == division.loop)
      loop = loop * division.iterations + getAffineDimExpr(next++, context);
    loops.push_back(loop);
  }
  return map.replaceDimsAndSymbols(loops, {}, next, 0);
}

/// What the loops of the parts and of their sum are.
struct Nests {
  /// Of the inputs, of a tensor that says how long a part is and that nothing
  /// reads, and of the partial outputs.
  SmallVector<AffineMap> maps;
  SmallVector<utils::IteratorType> iterators;
  SmallVector<int64_t> partialShape;
  AffineMap readParts, writeSum;
  SmallVector<utils::IteratorType> sumIterators;
};

/// Partial results have a dimension for the parts, where the loop was among the
/// parallel ones, so that their nest walks memory as before.
static Nests planNests(linalg::GenericOp generic, const Division &division) {
  MLIRContext *context = generic.getContext();
  Nests nests;
  for (AffineMap map : generic.getIndexingMapsArray())
    nests.maps.push_back(divided(map, division));
  nests.maps.truncate(generic.getNumDpsInputs());
  SmallVector<int64_t> sizes = generic.getStaticLoopRanges();
  SmallVector<AffineExpr> partial, kept;
  AffineExpr inner;
  unsigned next = 0;
  auto addParallel = [&](int64_t size) {
    nests.iterators.push_back(utils::IteratorType::parallel);
    partial.push_back(getAffineDimExpr(next++, context));
    nests.partialShape.push_back(size);
  };
  for (auto [number, iterator] :
       llvm::enumerate(generic.getIteratorTypesArray())) {
    bool isReduced = iterator == utils::IteratorType::reduction;
    if (!isReduced || number == division.loop) {
      unsigned dimension = nests.partialShape.size();
      addParallel(isReduced ? division.parts : sizes[number]);
      nests.sumIterators.push_back(iterator);
      if (!isReduced)
        kept.push_back(getAffineDimExpr(dimension, context));
    }
    if (number == division.loop)
      inner = getAffineDimExpr(next, context);
    if (isReduced) {
      nests.iterators.push_back(utils::IteratorType::reduction);
      ++next;
    }
  }
  nests.maps.push_back(AffineMap::get(nests.iterators.size(), 0, inner));
  unsigned dimensions = nests.partialShape.size();
  nests.maps.append(
      generic.getNumDpsInits(),
      AffineMap::get(nests.iterators.size(), 0, partial, context));
  nests.readParts = AffineMap::getMultiDimIdentityMap(dimensions, context);
  nests.writeSum = AffineMap::get(dimensions, 0, kept, context);
  return nests;
}

/// Whether outputs are the parallel loops in order: nothing else is made here.
static bool hasPlainOutputs(linalg::GenericOp generic) {
  SmallVector<AffineExpr> parallel;
  for (auto [number, iterator] :
       llvm::enumerate(generic.getIteratorTypesArray()))
    if (iterator == utils::IteratorType::parallel)
      parallel.push_back(getAffineDimExpr(number, generic.getContext()));
  return llvm::all_of(generic.getDpsInitsMutable(), [&](OpOperand &output) {
    return generic.getMatchingIndexingMap(&output).getResults() ==
           ArrayRef(parallel);
  });
}

static void split(linalg::GenericOp generic, const Division &division,
                  ArrayRef<Operation *> combiners) {
  Nests nests = planNests(generic, division);
  Location location = generic.getLoc();
  OpBuilder builder(generic);
  SmallVector<Value> starts;
  for (Operation *combiner : combiners) {
    TypedAttr neutral = *arith::getNeutralElement(combiner);
    Value number = arith::ConstantOp::create(builder, location, neutral);
    Value empty = tensor::EmptyOp::create(builder, location, nests.partialShape,
                                          neutral.getType());
    starts.push_back(
        linalg::FillOp::create(builder, location, number, empty).getResult(0));
  }
  SmallVector<Value> inputs(generic.getInputs());
  unsigned sizes = inputs.size();
  inputs.push_back(tensor::EmptyOp::create(
      builder, location, division.iterations, builder.getI1Type()));
  auto parts = linalg::GenericOp::create(builder, location,
                                         ValueRange(starts).getTypes(), inputs,
                                         starts, nests.maps, nests.iterators);
  IRMapping mapping;
  generic.getRegion().cloneInto(&parts.getRegion(), mapping);
  parts.getBody()->insertArgument(sizes, builder.getI1Type(), location);

  SmallVector<AffineMap> maps(combiners.size(), nests.readParts);
  maps.append(combiners.size(), nests.writeSum);
  auto sum = linalg::GenericOp::create(
      builder, location, generic.getResultTypes(), parts.getResults(),
      generic.getDpsInits(), maps, nests.sumIterators,
      [&](OpBuilder &inner, Location, ValueRange arguments) {
        SmallVector<Value> yielded;
        for (auto [number, combiner] : llvm::enumerate(combiners)) {
          Operation *combined = inner.clone(*combiner);
          combined->setOperands(
              {arguments[combiners.size() + number], arguments[number]});
          yielded.push_back(combined->getResult(0));
        }
        linalg::YieldOp::create(inner, location, yielded);
      });
  generic.replaceAllUsesWith(sum.getResults());
  generic.erase();
}

void SplitReductionsPass::runOnOperation() {
  const Target *target = targetOf(getOperation());
  if (!target)
    return signalPassFailure();
  kernel::LoopPreferences preferences = kernel::preferencesOf(*target);
  SmallVector<linalg::GenericOp> reductions;
  getOperation().walk([&](linalg::GenericOp generic) {
    if (generic.getNumReductionLoops() > 0)
      reductions.push_back(generic);
  });
  for (linalg::GenericOp generic : reductions) {
    SmallVector<Operation *> combiners;
    for (unsigned i = 0; i < generic.getNumDpsInits(); ++i)
      combiners.push_back(combinerOf(generic, i));
    bool counts = !generic.getBody()->getOps<linalg::IndexOp>().empty();
    if (counts || llvm::is_contained(combiners, nullptr) ||
        !hasPlainOutputs(generic))
      continue;
    if (std::optional<Division> division = chooseDivision(generic, preferences))
      split(generic, *division, combiners);
  }
}

} // namespace shardc
