//===- RequireKernels.cpp - Operators that nothing computes ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reports all operators for which there is neither a kernel nor a library call,
// one of each kind, so that a user sees all there is to replace. Runs after
// library calls were selected: what is left has to be a view, a constant, or an
// operator with a loop nest. Operators whose results nothing reads are not
// computed and need no kernel. Changes nothing.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/ModulePath.h"
#include "runtime/format/LibraryCalls.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

#define DEBUG_TYPE "shardc-require-kernels"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_REQUIREKERNELSPASS
#include "passes/Kernel/Passes.h.inc"

namespace {
struct RequireKernelsPass : impl::RequireKernelsPassBase<RequireKernelsPass> {
  void runOnOperation() override;
};
} // namespace

/// Complex numbers have no arithmetic here, and nests of no iterations no
/// kernel.
static bool hasComputableTypes(Operation *op) {
  auto isComputable = [](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    Type element = tensor.getElementType();
    return tensor.getNumElements() != 0 &&
           (element.isSignlessInteger() || isa<FloatType>(element));
  };
  return llvm::all_of(op->getOperandTypes(), isComputable) &&
         llvm::all_of(op->getResultTypes(), isComputable);
}

/// What about `op` its kernel does not do; empty where it does all of it.
static std::string describeMissingForm(Operation *op) {
  auto composition = dyn_cast<aten::DecomposableOpInterface>(op);
  if (composition && composition.isComposition())
    return "what shardc-decompose-operators takes apart";
  // Of integers.
  auto scatter = dyn_cast<aten::ScatterReduceOp>(op);
  if (scatter && (!scatter.getIncludeSelf() ||
                  scatter.getReduce() == aten::ScatterReduction::mean))
    return "include_self = false or a mean";
  auto differentiable = dyn_cast<aten::DifferentiableOpInterface>(op);
  if (differentiable && !scatter)
    return differentiable.describeUnsupportedForm();
  return "";
}

/// Why nothing computes `op`: "'aten.sort' has no kernel for tensor<4xf32>";
/// empty when something does.
static std::string describeGap(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "operator '" << op->getName() << "'";
  if (std::string form = describeMissingForm(op); !form.empty()) {
    stream << " with " << form << " has no kernel yet";
    return text;
  }
  if (isa<aten::KernelOpInterface>(op) && hasComputableTypes(op))
    return "";
  stream << " has no kernel";
  const format::LibraryCallKind *call =
      format::findLibraryCall(op->getName().stripDialect());
  if (call && isForProcessors(call->id) && hasComputableTypes(op)) {
    stream << " for GPUs";
    return text;
  }
  if (op->getNumOperands() != 0)
    stream << " for ";
  llvm::interleaveComma(op->getOperandTypes(), stream);
  return text;
}

static bool isView(Operation *op) {
  return isa<aten::ViewOp, aten::PermuteOp, aten::SliceOp, aten::ExpandOp>(op);
}

/// The operators that compute something that is read, in program order.
static SmallVector<Operation *> collectComputed(Block &block) {
  SmallVector<Operation *> computed;
  llvm::DenseSet<Operation *> unread;
  for (Operation &op : llvm::reverse(block)) {
    if (!isa_and_nonnull<aten::AtenDialect>(op.getDialect()))
      continue;
    if (llvm::all_of(op.getUsers(),
                     [&](Operation *user) { return unread.contains(user); }))
      unread.insert(&op);
    else if (!isView(&op))
      computed.push_back(&op);
  }
  std::reverse(computed.begin(), computed.end());
  return computed;
}

static void report(ArrayRef<std::pair<std::string, Operation *>> gaps) {
  auto [first, op] = gaps.front();
  InFlightDiagnostic diagnostic = emitNumberedError(op, "E0240") << first;
  for (const auto &[gap, other] : gaps.drop_front()) {
    Diagnostic &note = diagnostic.attachNote(other->getLoc());
    note << gap << " either";
    if (StringRef path = getModulePath(other->getLoc()); !path.empty())
      note << ", in module '" << path << "'";
  }
  diagnostic.attachNote() << "help: replace the operator, or compute its "
                             "result outside of the model and pass it as input";
}

void RequireKernelsPass::runOnOperation() {
  llvm::StringSet<> seen;
  SmallVector<std::pair<std::string, Operation *>> gaps;
  SmallVector<Block *> blocks;
  getOperation().walk([&](Block *block) { blocks.push_back(block); });
  for (Block *block : blocks)
    for (Operation *op : collectComputed(*block)) {
      std::string gap = describeGap(op);
      // One of each operator and form; types differ at every call.
      std::string kind =
          (op->getName().getStringRef() + "/" + describeMissingForm(op)).str();
      if (!gap.empty() && seen.insert(kind).second)
        gaps.emplace_back(gap, op);
    }
  // Ways to and from complex numbers that are left lead to operators that are
  // in the list themselves.
  auto isWay = [](const auto &gap) {
    return isa<aten::ViewAsComplexOp, aten::ViewAsRealOp>(gap.second);
  };
  if (!llvm::all_of(gaps, isWay))
    llvm::erase_if(gaps, isWay);
  if (gaps.empty())
    return;
  report(gaps);
  signalPassFailure();
}

} // namespace shardc
