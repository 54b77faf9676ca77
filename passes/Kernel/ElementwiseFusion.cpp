//===- ElementwiseFusion.cpp - Kernels that compute element by element ----===//
// SPDX-License-Identifier: Apache-2.0
//
// Kernels are rebuilt, not changed: types are part of every operation.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/ElementwiseFusion.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace shardc::kernel {

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Whether `operand` is walked as the loops are; a dimension of size 1 may be
/// read at 0.
static bool isWalkedByLoops(linalg::GenericOp nest, OpOperand &operand) {
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  if (!type || type.getShape() != ArrayRef(nest.getStaticLoopRanges()))
    return false;
  AffineMap map = nest.getMatchingIndexingMap(&operand);
  for (auto [loop, index] : llvm::enumerate(map.getResults())) {
    auto constant = dyn_cast<AffineConstantExpr>(index);
    bool isFirst = constant && constant.getValue() == 0;
    if (!(isFirst && type.getDimSize(loop) == 1) &&
        index != getAffineDimExpr(loop, map.getContext()))
      return false;
  }
  return true;
}

static bool isElementwise(linalg::GenericOp nest) {
  return nest.getNumReductionLoops() == 0 &&
         llvm::all_of(nest->getOpOperands(),
                      [&](OpOperand &operand) {
                        return isWalkedByLoops(nest, operand);
                      }) &&
         llvm::none_of(*nest.getBody(), [](Operation &op) {
           return isa<linalg::IndexOp, tensor::ExtractOp>(op);
         });
}

bool isElementwise(exec::KernelOp kernel) {
  ArrayRef<int64_t> shape = typeOf(kernel.getResult(0)).getShape();
  auto hasShape = [&](Value value) {
    return typeOf(value).getShape() == shape;
  };
  if (!llvm::all_of(kernel.getInputs(), hasShape) ||
      !llvm::all_of(kernel.getResults(), hasShape))
    return false;
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (auto nest = dyn_cast<linalg::GenericOp>(op)) {
      if (!isElementwise(nest))
        return false;
    } else if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (isa<ShapedType>(constant.getType()))
        return false;
    } else if (!isa<tensor::EmptyOp>(op)) {
      return false;
    }
  }
  return true;
}

bool isWidening(linalg::GenericOp nest) {
  if (!isElementwise(nest) || nest.getNumDpsInputs() != 1 ||
      nest.getNumResults() != 1)
    return false;
  auto widths = [](Type type) {
    return cast<RankedTensorType>(type).getElementTypeBitWidth();
  };
  return nest.getBody()->getOperations().size() == 2 &&
         isa<arith::ExtFOp>(nest.getBody()->front()) &&
         widths(nest.getResult(0).getType()) >
             widths(nest.getInputs().front().getType());
}

bool isWidening(exec::KernelOp kernel) {
  if (kernel.getNumOperands() != 1 || kernel.getNumResults() != 1 ||
      !isElementwise(kernel))
    return false;
  auto nests = kernel.getBody().front().getOps<linalg::GenericOp>();
  return llvm::hasSingleElement(nests) && isWidening(*nests.begin());
}

bool isReducedCast(exec::KernelOp kernel) {
  return isWidening(kernel) && kernel->hasOneUse() &&
         isa<fsdp::ReduceScatterStartOp>(*kernel->user_begin());
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// `value` with `shape`: what it is a view of, if that has it.
static Value viewed(OpBuilder &builder, Value value, ArrayRef<int64_t> shape) {
  if (typeOf(value).getShape() == shape)
    return value;
  auto view = value.getDefiningOp<aten::ViewOp>();
  if (view && typeOf(view.getSelf()).getShape() == shape)
    return view.getSelf();
  return aten::ViewOp::create(builder, value.getLoc(), value, shape);
}

/// Clones an operation of an element-wise kernel to tensors of `shape`.
static void cloneWithShape(OpBuilder &builder, Operation &op,
                           ArrayRef<int64_t> shape, IRMapping &mapping) {
  Location location = op.getLoc();
  if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
    mapping.map(empty.getResult(),
                tensor::EmptyOp::create(builder, location, shape,
                                        empty.getType().getElementType())
                    .getResult());
    return;
  }
  auto nest = dyn_cast<linalg::GenericOp>(op);
  if (!nest) {
    builder.clone(op, mapping);
    return;
  }
  auto lookup = [&](Value value) { return mapping.lookup(value); };
  SmallVector<Value> inputs = llvm::map_to_vector(nest.getInputs(), lookup);
  SmallVector<Value> outputs = llvm::map_to_vector(nest.getOutputs(), lookup);
  SmallVector<AffineMap> maps(
      nest->getNumOperands(),
      builder.getMultiDimIdentityMap(static_cast<unsigned>(shape.size())));
  SmallVector<utils::IteratorType> iterators(shape.size(),
                                             utils::IteratorType::parallel);
  auto made = linalg::GenericOp::create(builder, location,
                                        ValueRange(outputs).getTypes(), inputs,
                                        outputs, maps, iterators);
  nest.getRegion().cloneInto(&made.getRegion(), mapping);
  mapping.map(nest.getResults(), made.getResults());
}

/// Rebuilds an element-wise kernel with `shape`.
static void reshape(exec::KernelOp kernel, ArrayRef<int64_t> newShape) {
  const SmallVector<int64_t> shape(newShape);
  OpBuilder builder(kernel);
  SmallVector<Value> inputs;
  for (Value input : kernel.getInputs())
    inputs.push_back(viewed(builder, input, shape));
  SmallVector<Type> types;
  for (Value result : kernel.getResults())
    types.push_back(typeOf(result).clone(shape));
  auto made = exec::KernelOp::create(builder, kernel.getLoc(), types,
                                     kernel.getLabelAttr(), inputs);
  Block &body = made.getBody().emplaceBlock();
  IRMapping mapping;
  for (auto [input, argument] :
       llvm::zip_equal(inputs, kernel.getBody().getArguments()))
    mapping.map(argument, body.addArgument(input.getType(), input.getLoc()));
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  Block &old = kernel.getBody().front();
  for (Operation &op : old.without_terminator())
    cloneWithShape(inner, op, shape, mapping);
  exec::YieldOp::create(
      inner, kernel.getLoc(),
      llvm::map_to_vector(old.getTerminator()->getOperands(),
                          [&](Value value) { return mapping.lookup(value); }));
  for (auto [before, after] :
       llvm::zip_equal(kernel.getResults(), made.getResults())) {
    for (Operation *user : llvm::make_early_inc_range(before.getUsers()))
      if (isa<aten::ViewOp>(user) &&
          user->getResult(0).getType() == after.getType()) {
        user->getResult(0).replaceAllUsesWith(after);
        user->erase();
      }
    if (!before.use_empty())
      before.replaceAllUsesWith(
          viewed(builder, after, typeOf(before).getShape()));
  }
  llvm::SmallSetVector<Value, 4> read(kernel.getInputs().begin(),
                                      kernel.getInputs().end());
  kernel.erase();
  // A view that nobody reads would keep what it is of.
  for (Value value : read)
    if (auto view = value.getDefiningOp<aten::ViewOp>();
        view && view->use_empty())
      view.erase();
}

/// The shape that a neighbour of `kernel` has on the other side of a view;
/// nothing if there is none, or if it has a neighbour without a view.
static std::optional<ArrayRef<int64_t>>
shapeOfNeighbour(exec::KernelOp kernel) {
  auto isKernel = [](Operation *op) {
    return isa_and_nonnull<exec::KernelOp>(op);
  };
  std::optional<ArrayRef<int64_t>> shape;
  for (Value input : kernel.getInputs()) {
    if (isKernel(input.getDefiningOp()))
      return std::nullopt;
    auto view = input.getDefiningOp<aten::ViewOp>();
    if (view && isKernel(view.getSelf().getDefiningOp()))
      shape = typeOf(view.getSelf()).getShape();
  }
  if (shape)
    return shape;
  for (Operation *user : kernel->getUsers()) {
    if (isKernel(user))
      return std::nullopt;
    if (isa<aten::ViewOp>(user) && llvm::any_of(user->getUsers(), isKernel))
      shape = typeOf(user->getResult(0)).getShape();
  }
  return shape;
}

void moveViews(Block &block) {
  for (auto kernel : llvm::make_early_inc_range(block.getOps<exec::KernelOp>()))
    if (kernel.getNumResults() != 0 && isElementwise(kernel))
      if (auto shape = shapeOfNeighbour(kernel))
        reshape(kernel, *shape);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// What `nest` computes for its result `number` at `indices`, at the builder.
static Value computeElement(OpBuilder &builder, linalg::GenericOp nest,
                            unsigned number, ValueRange indices) {
  IRMapping mapping;
  for (OpOperand *input : nest.getDpsInputOperands()) {
    BlockArgument argument = nest.getMatchingBlockArgument(input);
    if (!argument.use_empty())
      mapping.map(argument, tensor::ExtractOp::create(builder, nest.getLoc(),
                                                      input->get(), indices)
                                .getResult());
  }
  Block &body = *nest.getBody();
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  return mapping.lookupOrDefault(body.getTerminator()->getOperand(number));
}

void inlineExtracts(exec::KernelOp kernel) {
  SmallVector<tensor::ExtractOp> extracts;
  kernel.walk([&](tensor::ExtractOp extract) { extracts.push_back(extract); });
  while (!extracts.empty()) {
    tensor::ExtractOp extract = extracts.pop_back_val();
    auto nest = extract.getTensor().getDefiningOp<linalg::GenericOp>();
    if (!nest || !isElementwise(nest))
      continue;
    OpBuilder builder(extract);
    Operation *before = extract->getPrevNode();
    Value element = computeElement(
        builder, nest, cast<OpResult>(extract.getTensor()).getResultNumber(),
        extract.getIndices());
    for (Operation *made = before ? before->getNextNode()
                                  : &extract->getBlock()->front();
         made != extract; made = made->getNextNode())
      if (auto next = dyn_cast<tensor::ExtractOp>(made))
        extracts.push_back(next);
    extract.replaceAllUsesWith(element);
    extract.erase();
  }
}

} // namespace shardc::kernel
