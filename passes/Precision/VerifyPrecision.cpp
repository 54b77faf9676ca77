//===- VerifyPrecision.cpp - The contract of the precision phase ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Checks rules P1 to P6 of docs/Spec.md. Changes nothing. An operator that
// infers its types is checked against inference by its own verifier, so P1
// looks at the others.
//===----------------------------------------------------------------------===//

#include "passes/Precision/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Functions.h"
#include "passes/Group/RootGroup.h"
#include "passes/Precision/GatheredDtype.h"

#define DEBUG_TYPE "shardc-verify-precision"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_VERIFYPRECISIONPASS
#include "passes/Precision/Passes.h.inc"

namespace {

class PrecisionVerifier {
public:
  explicit PrecisionVerifier(ModuleOp module)
      : module(module), gathered(module) {}

  LogicalResult verify();

private:
  ModuleOp module;
  GatheredDtype gathered;

  LogicalResult verifyOperation(Operation *op);
  LogicalResult verifyRead(fsdp::ReadOp read);
  LogicalResult verifyWrite(fsdp::WriteOp write);
  LogicalResult verifyCapture(fsdp::CaptureOp capture);
  LogicalResult verifyInputs(func::FuncOp function, fsdp::PolicyAttr policy);
};

struct VerifyPrecisionPass
    : impl::VerifyPrecisionPassBase<VerifyPrecisionPass> {
  void runOnOperation() override {
    if (failed(PrecisionVerifier(getOperation()).verify()))
      signalPassFailure();
  }
};

} // namespace

/// The floating-point element type of a tensor, else null.
static Type floatDtype(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType())
             ? tensor.getElementType()
             : Type();
}

/// P1 for an operator without type inference.
static LogicalResult verifySameDtype(Operation *op) {
  Type first;
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  for (Type type : types) {
    Type dtype = floatDtype(type);
    if (first && dtype && dtype != first)
      return op->emitError("P1: expected one floating-point dtype, got ")
             << first << " and " << dtype;
    first = first ? first : dtype;
  }
  return success();
}

/// P4 for one module.
static LogicalResult verifyModuleInputs(fsdp::ModuleOp call,
                                        fsdp::PolicyAttr policy) {
  if (!policy || !policy.getCastInputs() || !policy.getParam())
    return success();
  for (auto [index, input] : llvm::enumerate(call.getInputs()))
    if (Type dtype = floatDtype(input.getType());
        dtype && dtype != policy.getParam() && !call.isCaptured(index))
      return call.emitError("P4: expected floating-point inputs in ")
             << policy.getParam() << ", got " << dtype;
  return success();
}

/// P5.
static LogicalResult verifyBatchNorm(aten::BatchNormOp norm) {
  for (Value value : norm.getOperands().drop_front())
    if (Type dtype = floatDtype(value.getType());
        dtype.getIntOrFloatBitWidth() < 32)
      return norm.emitError("P5: expected statistics and affine parameters in "
                            "f32 or f64, got ")
             << dtype;
  return success();
}

LogicalResult PrecisionVerifier::verifyRead(fsdp::ReadOp read) {
  RankedTensorType expected = gathered.readType(read.getSymbol());
  if (read.getType() == expected)
    return success();
  if (gathered.buffer(read.getSymbol()))
    return read.emitError("P3: expected the buffer's type ")
           << expected << ", got " << read.getType();
  if (!expected)
    return read.emitError("P2: expected a declared parameter or buffer, got ")
           << read.getSymbolAttr();
  return read.emitError("P2: expected the type that the parameter is gathered "
                        "in, ")
         << expected << ", got " << read.getType();
}

LogicalResult PrecisionVerifier::verifyWrite(fsdp::WriteOp write) {
  if (gathered.readType(write.getSymbol()) == write.getValue().getType())
    return success();
  return write.emitError("P3: expected a declared buffer or parameter of type ")
         << write.getValue().getType();
}

LogicalResult PrecisionVerifier::verifyCapture(fsdp::CaptureOp capture) {
  std::optional<StringRef> name = capture.getBuffer();
  if (!name)
    return success();
  if (gathered.readType(*name) == capture.getType())
    return success();
  return capture.emitError("P3: expected a declared buffer or parameter of "
                           "type ")
         << capture.getType();
}

LogicalResult PrecisionVerifier::verifyInputs(func::FuncOp function,
                                              fsdp::PolicyAttr policy) {
  if (!policy.getCastInputs() || !policy.getParam())
    return success();
  for (BlockArgument input : function.getArguments()) {
    Type dtype = floatDtype(input.getType());
    if (!dtype || dtype == policy.getParam())
      continue;
    for (Operation *user : input.getUsers())
      if (!isa<fsdp::CastOp>(user))
        return user->emitError("P4: expected input ")
               << input.getArgNumber() << " cast to " << policy.getParam()
               << ", got " << dtype;
  }
  return success();
}

LogicalResult PrecisionVerifier::verifyOperation(Operation *op) {
  if (auto read = dyn_cast<fsdp::ReadOp>(op))
    return verifyRead(read);
  if (auto write = dyn_cast<fsdp::WriteOp>(op))
    return verifyWrite(write);
  if (auto capture = dyn_cast<fsdp::CaptureOp>(op))
    return verifyCapture(capture);
  if (auto call = dyn_cast<fsdp::ModuleOp>(op))
    return verifyModuleInputs(call, gathered.policyOf(call));
  if (auto norm = dyn_cast<aten::BatchNormOp>(op))
    return verifyBatchNorm(norm);
  if (isa<aten::ToOtherOp>(op))
    return op->emitError("P6: expected a conversion to a dtype, not to that of "
                         "another tensor");
  if (isa<aten::AtenDialect>(op->getDialect()) &&
      !isa<InferTypeOpInterface>(op))
    return verifySameDtype(op);
  return success();
}

LogicalResult PrecisionVerifier::verify() {
  auto function = functions::find(module, functions::forward);
  SmallVector<fsdp::GroupOp> roots = findRootGroups(module);
  if (!function || roots.size() != 1)
    return module.emitError("expected a function @forward and one root group");
  if (failed(verifyInputs(function, roots.front().getPolicy())))
    return failure();
  WalkResult result = function.walk(
      [&](Operation *op) -> WalkResult { return verifyOperation(op); });
  return failure(result.wasInterrupted());
}

} // namespace shardc
