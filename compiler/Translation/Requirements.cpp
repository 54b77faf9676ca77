//===- Requirements.cpp - What PyTorch raises for in a step ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Conditions are integer and boolean operators, without gradients.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/Requirements.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

/// What `value` has the numbers of, moved only.
static Value sourceOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<aten::ViewOp, aten::PermuteOp, aten::ExpandOp, aten::SliceOp,
             aten::DetachOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Whether the integers are known to be bounded: constants that are, and
/// inputs, to which their uses give bounds.
static bool areBounded(Value integers, int64_t min,
                       std::optional<int64_t> limit) {
  Value source = sourceOf(integers);
  if (isa<BlockArgument>(source))
    return true;
  DenseElementsAttr constant;
  if (auto op = source.getDefiningOp<aten::ConstantOp>())
    constant = dyn_cast<DenseElementsAttr>(op.getValue());
  return constant && llvm::all_of(constant.getValues<APInt>(), [&](APInt each) {
           int64_t number = each.getSExtValue();
           return number >= min && (!limit || number < *limit);
         });
}

void Requirements::add(OpBuilder &builder, Location location, Value condition) {
  if (!condition)
    return;
  int64_t rank = aten::tensorType(condition).getRank();
  conditions.push_back(
      rank == 0 ? condition
                : aten::AllOp::create(builder, location, condition,
                                      llvm::to_vector(llvm::seq<int64_t>(rank)),
                                      false));
}

void Requirements::addBounds(OpBuilder &builder, Location location,
                             Value integers, int64_t min,
                             std::optional<int64_t> limit) {
  if (!integers || areBounded(integers, min, limit))
    return;
  auto compare = [&]<typename Op>(int64_t number, Op) -> Value {
    return Op::create(builder, location, integers,
                      builder.getI64IntegerAttr(number));
  };
  Value condition = compare(min, aten::GeScalarOp());
  if (limit)
    condition = aten::LogicalAndOp::create(builder, location, condition,
                                           compare(*limit, aten::LtScalarOp()));
  add(builder, location, condition);
}

void Requirements::addIndices(OpBuilder &builder, Operation *op) {
  auto require = [&](Value table, Value index, int64_t dim, bool fromEnd) {
    RankedTensorType type = aten::tensorType(table);
    if (!isa<IntegerType>(type.getElementType()))
      return;
    int64_t size = type.getRank() == 0 ? 1 : type.getDimSize(dim);
    addBounds(builder, op->getLoc(), index, fromEnd ? -size : 0, size);
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<aten::IndexOp, aten::IndexPutOp>([&](auto indexing) {
        for (auto [index, dim] :
             llvm::zip_equal(indexing.getIndices(), indexing.getDims()))
          require(indexing.getSelf(), index, dim, /*fromEnd=*/true);
      })
      .Case<aten::GatherOp, aten::ScatterOp, aten::ScatterReduceOp>(
          [&](auto indexing) {
            require(indexing.getSelf(), indexing.getIndex(), indexing.getDim(),
                    /*fromEnd=*/false);
          });
}

Value Requirements::checked(OpBuilder &builder, Value loss) const {
  if (conditions.empty())
    return loss;
  Location location = builder.getUnknownLoc();
  Value all = conditions.front();
  for (Value condition : llvm::drop_begin(conditions))
    all = aten::LogicalAndOp::create(builder, location, all, condition);
  auto element = cast<FloatType>(aten::tensorType(loss).getElementType());
  Value nan = aten::ConstantOp::create(
      builder, location,
      DenseElementsAttr::get(RankedTensorType::get({}, element),
                             APFloat::getQNaN(element.getFloatSemantics())));
  return aten::WhereOp::create(builder, location, all, loss, nan);
}
