//===- ChangedParameters.cpp - Parameters that forward changes ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every rank computes the change from the whole parameter, once a step, so it
// must not depend on anything that differs between ranks or micro-batches.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/ChangedParameters.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

/// The error of a change, with the way out.
static LogicalResult
refuse(fsdp::WriteOp write, const Twine &why,
       StringRef help = "compute with a new tensor, as in w = w.clamp(-1, 1), "
                        "in place of changing the parameter") {
  InFlightDiagnostic error = write.emitError();
  error << "E0137: changes parameter '" << write.getSymbol() << "' " << why;
  error.attachNote() << "help: " << help;
  return error;
}

/// Why one of the operations that the new value is computed by cannot be
/// repeated alike on every rank; empty where it can.
static std::string whyNot(Operation *op, StringRef parameter,
                          const llvm::StringSet<> &written) {
  if (isa<fsdp::ScalarOp>(op))
    return "by random numbers, which ranks draw for themselves";
  auto read = dyn_cast<fsdp::ReadOp>(op);
  StringRef name = read ? read.getSymbol() : parameter;
  if (name == parameter)
    return "";
  if (written.contains(name))
    return ("by '" + name + "', which forward changes as well").str();
  auto module = op->getParentOfType<ModuleOp>();
  if (isa<fsdp::ParameterOp>(SymbolTable::lookupSymbolIn(module, name)))
    return ("by another parameter, '" + name + "'").str();
  return "";
}

static LogicalResult check(fsdp::WriteOp write,
                           const llvm::StringSet<> &written) {
  llvm::SetVector<Value> values;
  values.insert(write.getValue());
  for (size_t i = 0; i < values.size(); ++i) {
    Operation *op = values[i].getDefiningOp();
    if (!op)
      return refuse(write,
                    "to a value that depends on the inputs, which differ "
                    "between ranks");
    std::string why = whyNot(op, write.getSymbol(), written);
    if (!why.empty())
      return refuse(write, why);
    values.insert(op->operand_begin(), op->operand_end());
  }
  return success();
}

LogicalResult translation::keepLastChanges(func::FuncOp forward) {
  auto module = forward->getParentOfType<ModuleOp>();
  SymbolTable symbols(module);
  llvm::StringSet<> written;
  llvm::MapVector<fsdp::ParameterOp, fsdp::WriteOp> last;
  for (auto write :
       llvm::make_early_inc_range(forward.getOps<fsdp::WriteOp>())) {
    written.insert(write.getSymbol());
    auto parameter = symbols.lookup<fsdp::ParameterOp>(write.getSymbol());
    if (!parameter)
      continue;
    fsdp::WriteOp &known = last[parameter];
    if (known)
      known.erase();
    known = write;
  }
  for (auto &[parameter, write] : last) {
    if (parameter.getFrozen())
      return refuse(write, "in place, and does not train it",
                    "call requires_grad_(False) on it before shardc_export, "
                    "which then makes a buffer of it");
    if (failed(check(write, written)))
      return failure();
  }
  return success();
}
