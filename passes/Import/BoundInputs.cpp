//===- BoundInputs.cpp - Which integers an input may hold -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Asks each use of an integer input, through operators that move, shift or
// scale integers, which of them it can take, and notes what all uses can take:
//
//   %idx: tensor<4x8xi64>                    {shardc.name = "idx",
//   aten.embedding %table, %idx        ->     shardc.upper_bound = 65}
//
// so that the runtime can refuse data that would miss a table, and make random
// data. A use that this pass does not know restricts nothing.
//===----------------------------------------------------------------------===//

#include "passes/Import/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"
#include "dialects/Fsdp/Fsdp.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "shardc-bound-inputs"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_BOUNDINPUTSPASS
#include "passes/Import/Passes.h.inc"

namespace {

struct BoundInputsPass : impl::BoundInputsPassBase<BoundInputsPass> {
  void runOnOperation() override;
};

/// The integers that a value may hold: those below `upper` (all, if absent)
/// and `ignored`. Negative ones that a use would take are not told apart: an
/// input's bounds begin at 0.
struct Bounds {
  std::optional<int64_t> upper;
  std::optional<int64_t> ignored;

  static Bounds below(int64_t upper) { return {upper, std::nullopt}; }

  bool allows(int64_t number) const {
    return !upper || (number >= 0 && number < *upper) || number == ignored;
  }

  /// What both this and `other` allow. Where each ignores a number of its own,
  /// only one that the other allows is left.
  Bounds meet(const Bounds &other) const;
  /// What one of both allows, or more.
  Bounds join(const Bounds &other) const;
};

/// Finds what the uses of values allow; each value once.
class UseBounds {
public:
  Bounds of(Value value);

private:
  Bounds ofUse(OpOperand &use);
  Bounds ofSlices(Value value);

  DenseMap<Value, Bounds> known;
};

} // namespace

Bounds Bounds::meet(const Bounds &other) const {
  Bounds both;
  both.upper = upper && other.upper ? std::min(*upper, *other.upper)
               : upper              ? upper
                                    : other.upper;
  for (std::optional<int64_t> number : {other.ignored, ignored})
    if (number && allows(*number) && other.allows(*number))
      both.ignored = number;
  return both;
}

Bounds Bounds::join(const Bounds &other) const {
  Bounds either;
  if (upper && other.upper)
    either.upper = std::max(*upper, *other.upper);
  either.ignored = ignored ? ignored : other.ignored;
  return either;
}

/// The numbers x for which `bounds` allows x + `amount`.
static Bounds shifted(const Bounds &bounds, int64_t amount) {
  Bounds result;
  if (bounds.upper)
    result.upper = llvm::checkedSub(*bounds.upper, amount);
  if (bounds.ignored)
    result.ignored = llvm::checkedSub(*bounds.ignored, amount);
  return result;
}

/// The numbers x for which `bounds` allows x * `factor`, which is positive.
static Bounds divided(const Bounds &bounds, int64_t factor) {
  Bounds result;
  if (bounds.upper)
    result.upper = llvm::divideCeilSigned(*bounds.upper, factor);
  if (bounds.ignored && *bounds.ignored % factor == 0)
    result.ignored = *bounds.ignored / factor;
  return result;
}

/// What an operator takes as the index of a dimension of `table`.
static Bounds indexOf(Value table, int64_t dim) {
  RankedTensorType type = aten::tensorType(table);
  // A number has one place.
  return Bounds::below(type.getRank() == 0 ? 1 : type.getDimSize(dim));
}

/// What a loss takes as a class of `scores` [N, C] or [C].
template <typename LossOp>
static Bounds classOf(LossOp loss) {
  int64_t rank = aten::tensorType(loss.getSelf()).getRank();
  Bounds bounds = indexOf(loss.getSelf(), rank == 1 ? 0 : 1);
  bounds.ignored = static_cast<int64_t>(loss.getIgnoreIndex());
  return bounds;
}

Bounds UseBounds::ofUse(OpOperand &use) {
  using namespace aten;
  Value value = use.get();
  return llvm::TypeSwitch<Operation *, Bounds>(use.getOwner())
      .Case([](SliceOp) { return Bounds(); }) // ofSlices
      .Case<ViewOp, PermuteOp, ExpandOp, DetachOp, CatOp, RollOp, FlipOp,
            SliceScatterOp, ToOp>(
          [&](Operation *moving) { return of(moving->getResult(0)); })
      .Case([&](PadOp pad) {
        bool keepsAll =
            llvm::all_of(pad.getPad(), [](int64_t n) { return n >= 0; });
        return keepsAll ? of(pad.getResult()) : Bounds();
      })
      .Case([&](AddScalarOp add) {
        auto amount = dyn_cast<IntegerAttr>(add.getOther());
        return amount ? shifted(of(add.getResult()), amount.getInt())
                      : Bounds();
      })
      .Case([&](MulScalarOp mul) {
        auto factor = dyn_cast<IntegerAttr>(mul.getOther());
        return factor && factor.getInt() > 0
                   ? divided(of(mul.getResult()), factor.getInt())
                   : Bounds();
      })
      .Case([&](EmbeddingOp embedding) {
        return indexOf(embedding.getWeight(), 0);
      })
      .Case<GatherOp, ScatterOp, ScatterReduceOp>([&](auto op) {
        return op.getIndex() == value ? indexOf(op.getSelf(), op.getDim())
                                      : Bounds();
      })
      .Case<IndexOp, IndexPutOp>([&](auto op) {
        Bounds bounds;
        for (auto [indices, dim] :
             llvm::zip_equal(op.getIndices(), op.getDims()))
          if (indices == value)
            bounds = bounds.meet(indexOf(op.getSelf(), dim));
        return bounds;
      })
      .Case([&](fsdp::ModuleOp module) {
        return of(module.getBody().getArgument(use.getOperandNumber()));
      })
      .Case([&](fsdp::YieldOp yield) {
        return of(yield->getParentOp()->getResult(use.getOperandNumber()));
      })
      .Case<CrossEntropyLossOp, NllLossOp>(
          [&](auto loss) { return classOf(loss); })
      .Default(Bounds());
}

/// What the slices of `value` take. Those that overlap, as tokens and labels
/// do, must all take an element; columns that do not may hold different things.
Bounds UseBounds::ofSlices(Value value) {
  SmallVector<aten::SliceOp> slices;
  for (Operation *user : value.getUsers())
    if (auto slice = dyn_cast<aten::SliceOp>(user))
      slices.push_back(slice);
  llvm::sort(slices, [](aten::SliceOp a, aten::SliceOp b) {
    return std::make_tuple(a.getDim(), a.getStart(), a.getEnd()) <
           std::make_tuple(b.getDim(), b.getStart(), b.getEnd());
  });
  Bounds all;
  for (size_t i = 0; i < slices.size();) {
    uint64_t dim = slices[i].getDim();
    std::optional<Bounds> ofDimension;
    while (i < slices.size() && slices[i].getDim() == dim) {
      Bounds overlapping = of(slices[i].getResult());
      uint64_t end = slices[i].getEnd();
      for (++i; i < slices.size() && slices[i].getDim() == dim &&
                slices[i].getStart() < end;
           ++i) {
        overlapping = overlapping.meet(of(slices[i].getResult()));
        end = std::max<uint64_t>(end, slices[i].getEnd());
      }
      ofDimension = ofDimension ? ofDimension->join(overlapping) : overlapping;
    }
    all = all.meet(*ofDimension);
  }
  return all;
}

Bounds UseBounds::of(Value value) {
  if (!isa<IntegerType>(aten::tensorType(value).getElementType()))
    return Bounds();
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Bounds bounds = ofSlices(value);
  for (OpOperand &use : value.getUses())
    bounds = bounds.meet(ofUse(use));
  return known[value] = bounds;
}

void BoundInputsPass::runOnOperation() {
  func::FuncOp function = getOperation();
  Builder builder(function.getContext());
  UseBounds uses;
  for (BlockArgument argument : function.getArguments()) {
    if (!isa<RankedTensorType>(argument.getType()))
      continue;
    Bounds bounds = uses.of(argument);
    // A bound below 1 allows nothing; there is nothing to draw data from.
    if (!bounds.upper || *bounds.upper < 1)
      continue;
    unsigned number = argument.getArgNumber();
    function.setArgAttr(number, "shardc.upper_bound",
                        builder.getI64IntegerAttr(*bounds.upper));
    if (bounds.ignored)
      function.setArgAttr(number, "shardc.ignore_index",
                          builder.getI64IntegerAttr(*bounds.ignored));
  }
}

} // namespace shardc
