//===- KeepBatchNormF32.cpp - BatchNorm in its own f32 scope --------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   fsdp.member @bn.weight -> fsdp.member @bn.weight keep f32
//
// for each parameter that is the weight or bias of an aten.batch_norm and that
// its group's policy would narrow below f32. Changes nothing but members.
//===----------------------------------------------------------------------===//

#include "passes/Group/Passes.h"

#include "dialects/Aten/Aten.h"
#include "dialects/Aten/ElementBytes.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Groups.h"
#include "dialects/Fsdp/ModulePath.h"
#include "passes/Group/ParameterReads.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Support/DebugStringHelper.h"

#define DEBUG_TYPE "shardc-keep-batch-norm-f32"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_KEEPBATCHNORMF32PASS
#include "passes/Group/Passes.h.inc"

namespace {
struct KeepBatchNormF32Pass
    : impl::KeepBatchNormF32PassBase<KeepBatchNormF32Pass> {
  void runOnOperation() override;
};
} // namespace

/// The dtype below f32 that `place` would be gathered in, or null.
static Type narrowDtype(ParameterPlace place, Type master) {
  Type param = place.group.getPolicy().getParam();
  Type dtype = param && isa<FloatType>(master) ? param : master;
  return isa<FloatType>(dtype) && dtype.getIntOrFloatBitWidth() < 32 ? dtype
                                                                     : Type();
}

/// Where the user finds the module: its path, or the model's name for the root.
static StringRef pathOf(Operation *op) {
  if (auto call = op->getParentOfType<fsdp::ModuleOp>())
    return call.getPath();
  return getModulePath(op->getLoc());
}

static void report(aten::BatchNormOp norm, int64_t elements, Type narrow) {
  StringRef path = pathOf(norm);
  remark::passed(
      norm.getLoc(),
      remark::RemarkOpts::name("keep-f32").category(DEBUG_TYPE).function(path))
      << ("batch_norm affine parameters and statistics stay f32 in module '" +
          path + "'")
             .str()
      << remark::metric("gathered_bytes", elements * 4)
      << remark::metric("policy_bytes", elements * getElementBytes(narrow))
      << remark::reason(
             "in {0}, small updates of running statistics would be rounded "
             "away, and f32 statistics need f32 weight and bias",
             debugString(narrow));
}

/// Statistics that the model itself keeps in 16 bits are converted where they
/// are read and written.
static void warnAboutStatistics(aten::BatchNormOp norm) {
  auto conversion = norm.getRunningMean().getDefiningOp<aten::ToOp>();
  fsdp::ReadOp read =
      conversion ? findRead(conversion.getSelf()) : fsdp::ReadOp();
  if (!read || read.getType().getElementTypeBitWidth() >= 32)
    return;
  InFlightDiagnostic warning = norm.emitWarning();
  warning << "the running statistics '" << read.getSymbol()
          << "' were exported in " << read.getType().getElementType()
          << ", where small updates are rounded away";
  warning.attachNote() << "help: export the model in float32; --master-dtype "
                          "bf16 keeps only the parameters in bf16";
}

void KeepBatchNormF32Pass::runOnOperation() {
  SymbolTable symbols(getOperation());
  Groups groups(getOperation());
  Type f32 = Float32Type::get(&getContext());
  getOperation().walk([&](aten::BatchNormOp norm) {
    warnAboutStatistics(norm);
    int64_t elements = 0;
    Type narrow;
    for (Value affine : {norm.getWeight(), norm.getBias()}) {
      fsdp::ReadOp read = findRead(affine);
      ParameterPlace place =
          read ? groups.lookup(read.getSymbol()) : ParameterPlace();
      if (!place.member || place.member.getKeep())
        continue;
      auto type = cast<RankedTensorType>(
          symbols.lookup<fsdp::ParameterOp>(read.getSymbol()).getType());
      Type dtype = narrowDtype(place, type.getElementType());
      if (!dtype)
        continue;
      place.member.setKeep(f32);
      elements += type.getNumElements();
      narrow = dtype;
    }
    if (narrow)
      report(norm, elements, narrow);
  });
}

} // namespace shardc
