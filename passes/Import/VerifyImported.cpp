//===- VerifyImported.cpp - What the import phase promises ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Checks rules I1 to I6 of docs/Spec.md and changes nothing.
//===----------------------------------------------------------------------===//

#include "passes/Import/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Functions.h"
#include "passes/Import/ModuleStack.h"

#include "llvm/ADT/StringSet.h"

#define DEBUG_TYPE "shardc-verify-imported"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_VERIFYIMPORTEDPASS
#include "passes/Import/Passes.h.inc"

namespace {

class ImportedVerifier {
public:
  explicit ImportedVerifier(ModuleOp module)
      : module(module), symbols(module) {}

  LogicalResult verify();

private:
  ModuleOp module;
  SymbolTable symbols;

  LogicalResult verifySignature(func::FuncOp function);
  LogicalResult verifyInputNames(func::FuncOp function);
  LogicalResult verifyOperation(Operation *op);
  LogicalResult verifyRead(fsdp::ReadOp read);
  LogicalResult verifyWrite(fsdp::WriteOp write);
};

struct VerifyImportedPass : impl::VerifyImportedPassBase<VerifyImportedPass> {
  void runOnOperation() override {
    if (failed(ImportedVerifier(getOperation()).verify()))
      signalPassFailure();
  }
};

} // namespace

LogicalResult ImportedVerifier::verifySignature(func::FuncOp function) {
  ArrayRef<Type> results = function.getResultTypes();
  auto loss = results.size() == 1 ? dyn_cast<RankedTensorType>(results.front())
                                  : RankedTensorType();
  if (!loss || loss.getRank() != 0 || !isa<FloatType>(loss.getElementType()))
    return function.emitError("I1: expected @forward to return one "
                              "floating-point scalar, got ")
           << results;
  return success();
}

LogicalResult ImportedVerifier::verifyInputNames(func::FuncOp function) {
  llvm::StringSet<> names;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, "shardc.name");
    if (!name || name.empty())
      return function.emitError("I2: expected a 'shardc.name' of input ") << i;
    if (!names.insert(name.getValue()).second)
      return function.emitError("I2: expected inputs with different names, got "
                                "two called ")
             << name;
  }
  return success();
}

LogicalResult ImportedVerifier::verifyRead(fsdp::ReadOp read) {
  Operation *state = symbols.lookup(read.getSymbol());
  Type declared;
  if (auto parameter = dyn_cast_or_null<fsdp::ParameterOp>(state))
    declared = parameter.getType();
  else if (auto buffer = dyn_cast_or_null<fsdp::BufferOp>(state))
    declared = buffer.getType();
  else
    return read.emitError("I4: expected a declared parameter or buffer, got ")
           << read.getSymbolAttr();
  if (read.getType() != declared)
    return read.emitError("I4: expected the declared type ")
           << declared << " of " << read.getSymbolAttr();
  return success();
}

LogicalResult ImportedVerifier::verifyWrite(fsdp::WriteOp write) {
  Operation *state = symbols.lookup(write.getSymbol());
  auto buffer = dyn_cast_or_null<fsdp::BufferOp>(state);
  auto parameter = dyn_cast_or_null<fsdp::ParameterOp>(state);
  if (!buffer && (!parameter || parameter.getFrozen()))
    return write.emitError("I5: expected a declared buffer or a parameter that "
                           "is trained, got ")
           << write.getSymbolAttr();
  Type declared = buffer ? buffer.getType() : parameter.getType();
  if (write.getValue().getType() != declared)
    return write.emitError("I5: expected the declared type ")
           << declared << " of " << write.getSymbolAttr();
  return success();
}

LogicalResult ImportedVerifier::verifyOperation(Operation *op) {
  if (op->hasAttr(moduleStackName))
    return op->emitError("I6: expected no module stack outside of translation");
  if (auto read = dyn_cast<fsdp::ReadOp>(op))
    return verifyRead(read);
  if (auto write = dyn_cast<fsdp::WriteOp>(op))
    return verifyWrite(write);
  if (isa<aten::AtenDialect>(op->getDialect()) ||
      isa<fsdp::ModuleOp, fsdp::CaptureOp, fsdp::ScalarOp, fsdp::YieldOp,
          func::ReturnOp>(op))
    return success();
  return op->emitError("I3: expected aten operators, modules, numbers of "
                       "the run, captures, reads and writes, got ")
         << op->getName();
}

LogicalResult ImportedVerifier::verify() {
  func::FuncOp function = functions::find(module, functions::forward);
  if (!llvm::hasSingleElement(module.getOps<func::FuncOp>()) || !function ||
      function.isExternal())
    return module.emitError("I1: expected one function, @forward");
  if (failed(verifySignature(function)) || failed(verifyInputNames(function)))
    return failure();
  WalkResult result = function.getBody().walk(
      [&](Operation *op) -> WalkResult { return verifyOperation(op); });
  return failure(result.wasInterrupted());
}

} // namespace shardc
