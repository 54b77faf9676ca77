//===- SynchronizeBatchNorm.cpp - The batch of all ranks ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %y:5 = aten.batch_norm %x … {synchronized}
//   -> %sum = aten.sum %x over all dimensions but 1
//      %all = fsdp.sum_over_ranks %sum
//      %mean = %all / count
//      %d = %x - %mean
//      … the variance likewise, from %d
//      %y = %d * rsqrt(%variance + eps) * weight + bias
//
// in f32. Gradients follow from the operators, as any other's do: two sums over
// ranks in forward, and two in backward.
//===----------------------------------------------------------------------===//

#include "passes/Differentiate/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Gradients.h"
#include "dialects/Aten/TypePromotion.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Groups.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/Sequence.h"

#define DEBUG_TYPE "shardc-synchronize-batch-norm"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_SYNCHRONIZEBATCHNORMPASS
#include "passes/Differentiate/Passes.h.inc"

namespace {

struct SynchronizeBatchNormPass
    : impl::SynchronizeBatchNormPassBase<SynchronizeBatchNormPass> {
  void runOnOperation() override;
};

/// Writes one batch norm in other operators.
class BatchNormBuilder {
public:
  explicit BatchNormBuilder(aten::BatchNormOp norm)
      : norm(norm), builder(norm), location(norm.getLoc()),
        input(aten::tensorType(norm.getInput())),
        computed(aten::statisticsType(input.getElementType())) {}

  void build();

private:
  template <typename Op, typename... Arguments>
  Value create(Arguments &&...arguments) {
    return Op::create(builder, location, std::forward<Arguments>(arguments)...)
        .getResult();
  }
  Value to(Value value, Type element) {
    return aten::convertTo(builder, location, value, element);
  }
  Value add(Value a, Value b) { return create<aten::AddOp>(a, b); }
  Value sub(Value a, Value b) { return create<aten::SubOp>(a, b); }
  Value mul(Value a, Value b) { return create<aten::MulOp>(a, b); }
  Value plus(Value a, double b) {
    return create<aten::AddScalarOp>(
        a, builder.getFloatAttr(aten::tensorType(a).getElementType(), b));
  }
  Value times(Value a, double b) {
    return aten::scaleBy(builder, location, a, b);
  }
  Value view(Value value, ArrayRef<int64_t> shape) {
    return create<aten::ViewOp>(value, shape);
  }
  Value sumOfAll(Value value);
  Value affine(Value value) {
    return view(to(value, computed), statisticShape());
  }
  SmallVector<int64_t> statisticShape() const {
    SmallVector<int64_t> shape(input.getRank(), 1);
    shape[1] = input.getDimSize(1);
    return shape;
  }
  Value updated(Value running, Value statistic);

  aten::BatchNormOp norm;
  OpBuilder builder;
  Location location;
  RankedTensorType input;
  Type computed;
};

} // namespace

/// Over everything but channels, and over ranks.
Value BatchNormBuilder::sumOfAll(Value value) {
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < input.getRank(); ++dim)
    if (dim != 1)
      dims.push_back(dim);
  Value sum = create<aten::SumOp>(value, ArrayRef<int64_t>(dims),
                                  /*keepdim=*/true);
  return create<fsdp::SumOverRanksOp>(sum.getType(), sum);
}

Value BatchNormBuilder::updated(Value running, Value statistic) {
  Value flat = view(statistic, {input.getDimSize(1)});
  return add(running,
             times(sub(flat, running), norm.getMomentum().convertToDouble()));
}

void BatchNormBuilder::build() {
  double own = static_cast<double>(input.getNumElements()) /
               static_cast<double>(input.getDimSize(1));
  auto integer = RankedTensorType::get({}, builder.getI64Type());
  Value ranks = create<fsdp::ScalarOp>(integer, fsdp::Scalar::ranks);
  Value count = times(to(ranks, builder.getF64Type()), own);
  auto reciprocal = [&](Value value) {
    return to(create<aten::ReciprocalOp>(value), computed);
  };
  Value mean = mul(sumOfAll(to(norm.getInput(), computed)), reciprocal(count));
  Value distance = sub(to(norm.getInput(), computed), mean);
  Value squares = sumOfAll(mul(distance, distance));
  Value variance = mul(squares, reciprocal(count));
  Value invstd =
      create<aten::RsqrtOp>(plus(variance, norm.getEps().convertToDouble()));
  Value result = mul(distance, invstd);
  if (norm.getWeight())
    result = mul(result, affine(norm.getWeight()));
  if (norm.getBias())
    result = add(result, affine(norm.getBias()));
  Value unbiased = mul(squares, reciprocal(plus(count, -1)));
  Value replacements[] = {
      to(result, input.getElementType()),
      updated(norm.getRunningMean(), mean),
      updated(norm.getRunningVar(), unbiased),
      view(mean, {input.getDimSize(1)}),
      view(invstd, {input.getDimSize(1)}),
  };
  norm->replaceAllUsesWith(ValueRange(replacements));
  norm.erase();
}

void SynchronizeBatchNormPass::runOnOperation() {
  SmallVector<aten::BatchNormOp> norms;
  getOperation().walk([&](aten::BatchNormOp norm) {
    if (norm.getSynchronized() && norm.getTraining())
      norms.push_back(norm);
  });
  for (aten::BatchNormOp norm : norms)
    BatchNormBuilder(norm).build();
}

} // namespace shardc
