//===- AttachLoss.cpp - A loss for models that return predictions ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Cross entropy over rows of classes, and the mean squared error.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/AttachLoss.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/TypePromotion.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

static FailureOr<Value> addTarget(func::FuncOp function,
                                  RankedTensorType type) {
  Builder builder(function.getContext());
  if (failed(function.insertArgument(
          function.getNumArguments(), type,
          builder.getDictionaryAttr(builder.getNamedAttr(
              "shardc.name", builder.getStringAttr("target"))),
          builder.getUnknownLoc())))
    return failure();
  return Value(function.getArguments().back());
}

static FailureOr<Value> attachMse(OpBuilder &builder, func::FuncOp function,
                                  Value prediction) {
  Location location = builder.getUnknownLoc();
  RankedTensorType type = aten::tensorType(prediction);
  FailureOr<Value> target = addTarget(function, type);
  if (failed(target))
    return failure();
  Value error = aten::SubOp::create(builder, location, prediction, *target);
  Value square = aten::MulOp::create(builder, location, error, error);
  SmallVector<int64_t> all =
      llvm::to_vector(llvm::seq<int64_t>(type.getRank()));
  return aten::MeanOp::create(builder, location, square, all, false)
      .getResult();
}

static Value viewAs(OpBuilder &builder, Value value, ArrayRef<int64_t> shape) {
  if (aten::tensorType(value).getShape() == shape)
    return value;
  return aten::ViewOp::create(builder, builder.getUnknownLoc(), value, shape);
}

static FailureOr<Value> attachCrossEntropy(OpBuilder &builder,
                                           func::FuncOp function,
                                           Value prediction) {
  Location location = builder.getUnknownLoc();
  RankedTensorType type = aten::tensorType(prediction);
  int64_t rank = type.getRank();
  if (rank < 2)
    return function.emitError("E0135: --loss cross_entropy expects a "
                              "prediction of rows of classes, got ")
           << type;
  int64_t classes = type.getDimSize(rank <= 3 ? rank - 1 : 1);
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + (rank <= 3 ? rank - 1 : 1));
  FailureOr<Value> target =
      addTarget(function, RankedTensorType::get(shape, builder.getI64Type()));
  if (failed(target))
    return failure();
  if (rank > 3) {
    SmallVector<int64_t> classesLast{0};
    for (int64_t dim : llvm::seq<int64_t>(2, rank))
      classesLast.push_back(dim);
    classesLast.push_back(1);
    prediction =
        aten::PermuteOp::create(builder, location, prediction, classesLast);
  }
  int64_t rows = type.getNumElements() / classes;
  Value flat = viewAs(builder, prediction, {rows, classes});
  Value labels = viewAs(builder, *target, {rows});
  return aten::CrossEntropyLossOp::create(
             builder, location, flat, labels,
             /*weight=*/Value(), aten::Reduction::mean,
             /*ignore_index=*/-100,
             /*label_smoothing=*/llvm::APFloat(0.0))
      .getLoss();
}

FailureOr<Value> translation::attachLoss(OpBuilder &builder,
                                         func::FuncOp function,
                                         Value prediction, StringRef loss) {
  return loss == "mse" ? attachMse(builder, function, prediction)
                       : attachCrossEntropy(builder, function, prediction);
}
