//===- NarrowMasters.cpp - Parameters that are kept in 16 bits ------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   fsdp.parameter @w : tensor<4xf32> -> fsdp.parameter @w : tensor<4xbf16>
//
// Reads keep their types until the precision phase; the value read is that of
// the narrower parameter.
//===----------------------------------------------------------------------===//

#include "passes/Group/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/ModulePath.h"
#include "passes/Group/ParameterReads.h"

#include "llvm/ADT/StringSet.h"

#define DEBUG_TYPE "shardc-narrow-masters"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_NARROWMASTERSPASS
#include "passes/Group/Passes.h.inc"

namespace {
struct NarrowMastersPass : impl::NarrowMastersPassBase<NarrowMastersPass> {
  using NarrowMastersPassBase::NarrowMastersPassBase;
  void runOnOperation() override;
};
} // namespace

/// Steps smaller than a 16-bit float can tell are lost, unless they are rounded
/// by chance.
static void warnAboutSteps(fsdp::ParameterOp parameter, Type element) {
  InFlightDiagnostic warning = parameter.emitWarning();
  warning << "parameters such as '" << parameter.getSymName()
          << "' are kept in " << element
          << " and rounded to nearest: updates smaller than half a unit in the "
             "last place (2^-9 to 2^-8 of the parameter's magnitude) are lost";
  warning.attachNote() << "help: --rounding stochastic keeps updates on "
                          "average; f32 parameters with --param-dtype bf16 "
                          "lose no updates";
}

/// The weights and biases of batch norms, which stay f32 beside their
/// statistics.
static llvm::StringSet<> findAffine(ModuleOp module) {
  llvm::StringSet<> names;
  module.walk([&](aten::BatchNormOp norm) {
    for (Value affine : {norm.getWeight(), norm.getBias()})
      if (fsdp::ReadOp read = findRead(affine))
        names.insert(read.getSymbol());
  });
  return names;
}

void NarrowMastersPass::runOnOperation() {
  llvm::StringSet<> affine = findAffine(getOperation());
  Type bf16 = BFloat16Type::get(&getContext());
  bool isStochastic = rounding == "stochastic", hasNarrow = false;
  for (auto parameter : getOperation().getOps<fsdp::ParameterOp>()) {
    auto type = cast<RankedTensorType>(parameter.getType());
    if (masterDtype == "bf16" && type.getElementType().isF32() &&
        !parameter.getFrozen() && !affine.contains(parameter.getSymName()))
      parameter.setType(type = type.clone(bf16));
    Type element = type.getElementType();
    if (isa<ComplexType>(element)) {
      InFlightDiagnostic diagnostic = emitNumberedError(parameter, "E0136");
      diagnostic << "'" << parameter.getSymName() << "' is a parameter of "
                 << element << ", expected real numbers";
      diagnostic.attachNote() << "help: keep it as pairs of real numbers and "
                                 "use torch.view_as_complex inside";
      return signalPassFailure();
    }
    if (parameter.getFrozen() || !isa<FloatType>(element) || element.isF32() ||
        element.isF64())
      continue;
    if (!element.isBF16()) {
      InFlightDiagnostic diagnostic = emitNumberedError(parameter, "E0136");
      diagnostic << "trainable parameter '" << parameter.getSymName()
                 << "' has dtype " << element << ", expected f32, f64 or bf16";
      diagnostic.attachNote() << "help: export the model in float32 and "
                                 "compile it with --param-dtype bf16";
      return signalPassFailure();
    }
    if (!isStochastic && !hasNarrow)
      warnAboutSteps(parameter, element);
    hasNarrow = true;
  }
  if (isStochastic && !hasNarrow)
    getOperation().emitWarning() << "no trained parameter is kept in bf16, so "
                                    "stochastic rounding has no "
                                    "effect; use --master-dtype bf16";
}

} // namespace shardc
