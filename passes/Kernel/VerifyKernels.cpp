//===- VerifyKernels.cpp - The contract of the kernel phase ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Checks rules K1 to K5 of docs/Spec.md. Changes nothing.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Exec/Dtype.h"
#include "dialects/Exec/Exec.h"
#include "dialects/Exec/Layout.h"
#include "dialects/Fsdp/Fsdp.h"
#include "runtime/format/LibraryCalls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/InterleavedRange.h"

#define DEBUG_TYPE "shardc-verify-kernels"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_VERIFYKERNELSPASS
#include "passes/Kernel/Passes.h.inc"

namespace {
struct VerifyKernelsPass : impl::VerifyKernelsPassBase<VerifyKernelsPass> {
  void runOnOperation() override;
};
} // namespace

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

//===----------------------------------------------------------------------===//
// K2
//===----------------------------------------------------------------------===//

/// A parallel nest writes every element of its output; a reduction starts from
/// a constant.
static LogicalResult verifyNest(linalg::GenericOp generic) {
  bool reduces = generic.getNumReductionLoops() != 0;
  for (Value output : generic.getDpsInits()) {
    bool startsWell =
        reduces ? isa_and_nonnull<linalg::FillOp>(output.getDefiningOp())
                : isa_and_nonnull<tensor::EmptyOp>(output.getDefiningOp());
    if (!startsWell)
      return generic.emitError("K2: expected an output that starts ")
             << (reduces ? "as a fill" : "empty");
  }
  return success();
}

static LogicalResult verifyKernel(exec::KernelOp kernel) {
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      if (failed(verifyNest(generic)))
        return failure();
      continue;
    }
    if (!isa<linalg::FillOp, tensor::EmptyOp, tensor::InsertSliceOp,
             arith::ConstantOp, exec::IotaOp, exec::ScanOp, exec::ScatterOp>(
            op))
      return op.emitError("K2: expected a loop nest, an insertion or a "
                          "constant in a kernel, got '")
             << op.getName() << "'";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// K3 and K4
//===----------------------------------------------------------------------===//

static LogicalResult verifyLibrary(exec::LibraryOp library) {
  const format::LibraryCallKind *kind =
      format::findLibraryCall(library.getCall());
  if (!kind)
    return library.emitError("K3: expected a known library call, got '")
           << library.getCall() << "'";
  size_t operands = library.getInputs().size();
  if (operands < kind->minOperands || operands > kind->maxOperands)
    return library.emitError("K3: expected ")
           << kind->minOperands << " to " << kind->maxOperands
           << " operands of '" << library.getCall() << "', got " << operands;
  if (library.getNumResults() != kind->results)
    return library.emitError("K3: expected ")
           << kind->results << " results of '" << library.getCall() << "', got "
           << library.getNumResults();
  SmallVector<Value> tensors(library.getInputs());
  llvm::append_range(tensors, library.getResults());
  for (Value tensor : tensors) {
    Type element = getElementTypeOrSelf(tensor.getType());
    if (!exec::isLibraryElement(element))
      return library.emitError("K3: expected f32, bf16, f64 or i64 tensors, "
                               "got ")
             << tensor.getType();
    if (!kind->layout.accepts(*exec::getDtype(element), shapeOf(tensor),
                              exec::getStrides(tensor)))
      return library.emitError("K4: '")
             << library.getCall() << "' expects " << kind->layout.text
             << ", got strides "
             << llvm::interleaved_array(exec::getStrides(tensor)) << " for "
             << tensor.getType();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// K5
//===----------------------------------------------------------------------===//

static LogicalResult verifyView(exec::ViewOp view) {
  if (view.getSource().getDefiningOp<exec::ViewOp>())
    return view.emitError("K5: expected a source that owns its storage");
  int64_t storage =
      cast<RankedTensorType>(view.getSource().getType()).getNumElements();
  int64_t offset = view.getOffset();
  int64_t span = exec::getSpan(shapeOf(view.getResult()), view.getStrides());
  if (offset < 0 || offset + span > storage)
    return view.emitError("K5: expected a view inside ")
           << storage << " elements, got elements " << offset << " to "
           << offset + span;
  return success();
}

void VerifyKernelsPass::runOnOperation() {
  auto verify = [](Operation *op) -> LogicalResult {
    if (isa_and_nonnull<aten::AtenDialect>(op->getDialect()) ||
        isa<fsdp::CastOp, fsdp::UpdateOp>(op))
      return op->emitError("K1: expected no '") << op->getName() << "'";
    return TypeSwitch<Operation *, LogicalResult>(op)
        .Case(verifyKernel)
        .Case(verifyLibrary)
        .Case(verifyView)
        .Default([](Operation *) { return success(); });
  };
  for (Block &block : getOperation().getBody())
    for (Operation &op : block)
      if (failed(verify(&op)))
        return signalPassFailure();
}

} // namespace shardc
