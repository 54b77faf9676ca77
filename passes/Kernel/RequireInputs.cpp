//===- RequireInputs.cpp - What an artifact can be fed and can keep -------===//
// SPDX-License-Identifier: Apache-2.0
//
// A step is fed one micro-batch, of inputs with elements. Inputs and buffers
// have dtypes that files of data and weights have. A model may be read,
// executed and planned without; from here on it is compiled to be trained.
// Changes nothing.
//===----------------------------------------------------------------------===//

#include "passes/Kernel/Passes.h"

#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/ModulePath.h"

#include "mlir/IR/TypeUtilities.h"

#define DEBUG_TYPE "shardc-require-inputs"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_REQUIREINPUTSPASS
#include "passes/Kernel/Passes.h.inc"

namespace {
struct RequireInputsPass : impl::RequireInputsPassBase<RequireInputsPass> {
  void runOnOperation() override;
};
} // namespace

static bool isStorable(Type type) {
  Type element = getElementTypeOrSelf(type);
  return isa<Float64Type, Float32Type, Float16Type, BFloat16Type>(element) ||
         element.isInteger(1) || element.isInteger(8) ||
         element.isSignlessInteger(16) || element.isInteger(32) ||
         element.isInteger(64);
}

static LogicalResult requireStorable(Operation *op, Twine what, Type type) {
  if (isStorable(type))
    return success();
  InFlightDiagnostic diagnostic = emitNumberedError(op, "E0136")
                                  << what << " has elements of type "
                                  << getElementTypeOrSelf(type)
                                  << ", which an artifact cannot hold";
  diagnostic.attachNote() << "help: export the model with a float, boolean or "
                             "signed integer tensor "
                             "in its place and convert inside";
  return diagnostic;
}

static std::string nameOf(func::FuncOp step, unsigned number) {
  auto name = step.getArgAttrOfType<StringAttr>(number, "shardc.name");
  return name ? name.str() : "input" + std::to_string(number);
}

static LogicalResult requireElements(func::FuncOp step, unsigned number) {
  auto type = cast<RankedTensorType>(step.getArgument(number).getType());
  if (type.getNumElements() != 0)
    return success();
  InFlightDiagnostic diagnostic = emitNumberedError(step, "E0136");
  diagnostic << "input '" << nameOf(step, number) << "' has no elements";
  diagnostic.attachNote() << "help: export the model with at least one sample";
  return diagnostic;
}

void RequireInputsPass::runOnOperation() {
  for (auto buffer : getOperation().getOps<fsdp::BufferOp>())
    if (failed(requireStorable(buffer, "buffer '" + buffer.getSymName() + "'",
                               buffer.getType())))
      return signalPassFailure();
  for (auto step : getOperation().getOps<func::FuncOp>())
    for (unsigned i = 0; i < step.getNumArguments(); ++i)
      if (failed(requireStorable(step, "input '" + nameOf(step, i) + "'",
                                 step.getArgument(i).getType())) ||
          failed(requireElements(step, i)))
        return signalPassFailure();
}

} // namespace shardc
