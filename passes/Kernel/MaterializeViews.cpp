//===- MaterializeViews.cpp - Views become strides ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %t = aten.permute %x [0, 2, 1, 3]  ->  %t = exec.view %x offset 0 strides …
//
// Views of views are composed, so that the source of an exec.view is always
// what owns the storage. A copy kernel appears only where strides cannot
// express a view or where the reader does not accept them.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/ElementBytes.h"
#include "dialects/Exec/Dtype.h"
#include "dialects/Exec/Exec.h"
#include "dialects/Exec/Layout.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/ModulePath.h"
#include "passes/Kernel/Models/ImageOrder.h"
#include "passes/Kernel/Models/KernelModels.h"
#include "passes/Kernel/Models/StridedView.h"
#include "passes/Kernel/TargetOf.h"
#include "runtime/format/LibraryCalls.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

#define DEBUG_TYPE "shardc-materialize-views"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_MATERIALIZEVIEWSPASS
#include "passes/Kernel/Passes.h.inc"

namespace {
struct MaterializeViewsPass
    : impl::MaterializeViewsPassBase<MaterializeViewsPass> {
  void runOnOperation() override;
};

/// Replaces operations in program order, so that every operand has a layout.
class ViewReplacer {
public:
  explicit ViewReplacer(const Target &target) : target(target) {}

  void visit(Operation *op);

private:
  void replaceView(Operation *op, Value source);
  void orderHeads(exec::LibraryOp library);
  void orderImages(Operation *op);
  void copyRefusedOperands(exec::LibraryOp library);
  void copyConvolutionOperands(exec::LibraryOp library);
  void copyStridedOperands(Operation *op);
  Value copy(Value value, Operation *reader, StringRef reason,
             ArrayRef<int64_t> order = {});

  const Target &target;
  /// Copies that exist already. Those with channels last are of one part of the
  /// step: a weight is not kept from forward to backward twice.
  llvm::DenseMap<Value, Value> rowMajorCopies, channelsLastCopies;
};
} // namespace

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

static void reportCopy(Value value, Operation *reader, StringRef reason) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t bytes =
      type.getNumElements() * getElementBytes(type.getElementType());
  remark::missed(reader->getLoc(),
                 remark::RemarkOpts::name("copy").category(DEBUG_TYPE))
      << remark::metric("module", getModulePath(reader->getLoc()))
      << remark::metric("bytes", bytes) << remark::reason("{0}", reason);
}

/// `value` stored in `order`, for `reader`.
Value ViewReplacer::copy(Value value, Operation *reader, StringRef reason,
                         ArrayRef<int64_t> order) {
  Value &existing =
      (order.empty() ? rowMajorCopies : channelsLastCopies)[value];
  if (existing)
    return existing;
  reportCopy(value, reader, reason);
  OpBuilder builder(reader);
  Location location = reader->getLoc();
  auto kernel = exec::KernelOp::create(builder, location, value.getType(),
                                       builder.getStringAttr("copy"), value);
  if (!order.empty())
    kernel.setOrderAttr(
        builder.getArrayAttr(builder.getDenseI64ArrayAttr(order)));
  Block &body = kernel.getBody().emplaceBlock();
  Value argument = body.addArgument(value.getType(), location);
  builder.setInsertionPointToStart(&body);
  Value copied = buildCopy(builder, location, argument);
  exec::YieldOp::create(builder, location, copied);
  return existing = kernel.getResult(0);
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// The storage that `value` is a view of, and which one.
static std::pair<Value, StridedView> storageOf(Value value) {
  StridedView view{0, SmallVector<int64_t>(shapeOf(value)),
                   exec::getStrides(value)};
  auto made = value.getDefiningOp<exec::ViewOp>();
  if (!made)
    return {value, view};
  view.offset = made.getOffset();
  return {made.getSource(), view};
}

static std::optional<StridedView> applyView(Operation *op,
                                            const StridedView &source) {
  return TypeSwitch<Operation *, std::optional<StridedView>>(op)
      .Case([&](aten::ViewOp view) { return reshape(source, view.getSize()); })
      .Case([&](aten::PermuteOp permute) {
        return shardc::permute(source, permute.getDims());
      })
      .Case([&](aten::SliceOp slice) {
        return shardc::slice(source, slice.getDim(), slice.getStart(),
                             slice.getEnd(), slice.getStep());
      })
      .Case([&](aten::ExpandOp expand) {
        return shardc::expand(source, expand.getSize());
      });
}

void ViewReplacer::replaceView(Operation *op, Value source) {
  auto [storage, view] = storageOf(source);
  std::optional<StridedView> viewed = applyView(op, view);
  if (!viewed) {
    source = copy(source, op, "strides cannot express the view");
    std::tie(storage, view) = storageOf(source);
    viewed = applyView(op, view);
  }
  Value result = op->getResult(0);
  bool isStorage =
      viewed->offset == 0 && storage.getType() == result.getType() &&
      ArrayRef(viewed->strides) == ArrayRef(exec::getStrides(storage));
  if (!isStorage) {
    OpBuilder builder(op);
    storage = exec::ViewOp::create(builder, op->getLoc(), result.getType(),
                                   storage, viewed->offset, viewed->strides);
  }
  result.replaceAllUsesWith(storage);
  op->erase();
}

//===----------------------------------------------------------------------===//
// Readers
//===----------------------------------------------------------------------===//

static bool isAttention(exec::LibraryOp library) {
  const format::LibraryCallKind *kind =
      format::findLibraryCall(library.getCall());
  return kind && kind->work == format::WorkKind::Attention;
}

/// Attention's results are stored in the order that their first transposition
/// reads them in; heads stay contiguous.
void ViewReplacer::orderHeads(exec::LibraryOp library) {
  SmallVector<Attribute> orders(library.getOrder().begin(),
                                library.getOrder().end());
  for (auto [result, order] : llvm::zip_equal(library.getResults(), orders))
    for (Operation *user : result.getUsers())
      if (auto permute = dyn_cast<aten::PermuteOp>(user);
          permute && permute.getDims().back() ==
                         static_cast<int64_t>(permute.getDims().size()) - 1)
        order = permute.getDimsAttr();
  library.setOrderAttr(ArrayAttr::get(library.getContext(), orders));
}

/// Results that tensor cores want in another order, and what follows them.
void ViewReplacer::orderImages(Operation *op) {
  SmallVector<Attribute> orders = kernel::chooseOrders(op, target);
  bool isRowMajor = llvm::all_of(orders, [](Attribute order) {
    return cast<DenseI64ArrayAttr>(order).empty();
  });
  auto attribute = ArrayAttr::get(op->getContext(), orders);
  if (auto library = dyn_cast<exec::LibraryOp>(op))
    library.setOrderAttr(attribute);
  else if (!isRowMajor)
    cast<exec::KernelOp>(op).setOrderAttr(attribute);
}

/// Image, weight and gradients are in one order.
void ViewReplacer::copyConvolutionOperands(exec::LibraryOp library) {
  bool isWanted = kernel::wantsChannelsLast(library, target);
  for (OpOperand &operand : library->getOpOperands()) {
    Value value = operand.get();
    const size_t rank = shapeOf(value).size();
    if (rank < 3)
      continue;
    if (!isWanted && !exec::isRowMajor(shapeOf(value), exec::getStrides(value)))
      operand.set(
          copy(value, library, "the convolution needs row-major order"));
    if (isWanted && !kernel::isChannelsLast(value))
      operand.set(copy(value, library, "tensor cores want channels last",
                       kernel::getChannelsLastOrder(rank)));
  }
}

void ViewReplacer::copyRefusedOperands(exec::LibraryOp library) {
  const format::LibraryCallKind *kind =
      format::findLibraryCall(library.getCall());
  if (!kind)
    return; // Rule K3 says so.
  for (OpOperand &operand : library->getOpOperands())
    if (auto dtype = exec::getDtype(getElementTypeOrSelf(operand.get()));
        dtype && !kind->layout.accepts(*dtype, shapeOf(operand.get()),
                                       exec::getStrides(operand.get())))
      operand.set(copy(operand.get(), library,
                       "the library does not accept the strides"));
}

/// State, losses and gradients are kept and sent as they are numbered.
void ViewReplacer::copyStridedOperands(Operation *op) {
  for (OpOperand &operand : op->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()) &&
        !exec::isRowMajor(shapeOf(operand.get()),
                          exec::getStrides(operand.get())))
      operand.set(copy(operand.get(), op, "the reader needs row-major order"));
}

void ViewReplacer::visit(Operation *op) {
  if (isa<aten::ViewOp, aten::PermuteOp, aten::SliceOp, aten::ExpandOp>(op))
    return replaceView(op, op->getOperand(0));
  if (isa<fsdp::BeginOp>(op))
    channelsLastCopies.clear();
  auto library = dyn_cast<exec::LibraryOp>(op);
  if (library && isAttention(library))
    orderHeads(library);
  else if (isa<exec::KernelOp>(op) || (library && kernel::hasImages(library)))
    orderImages(op);
  if (library && kernel::isConvolution(library))
    copyConvolutionOperands(library);
  if (library)
    return copyRefusedOperands(library);
  if (isa_and_nonnull<fsdp::FsdpDialect>(op->getDialect()))
    copyStridedOperands(op);
}

void MaterializeViewsPass::runOnOperation() {
  const Target *target = targetOf(getOperation());
  if (!target)
    return signalPassFailure();
  for (Block &block : getOperation().getBody()) {
    ViewReplacer replacer(*target);
    for (Operation &op : llvm::make_early_inc_range(block))
      replacer.visit(&op);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isa<exec::ViewOp>(op) && op.use_empty())
        op.erase();
  }
}

} // namespace shardc
