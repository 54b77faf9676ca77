//===- ConversionOperators.cpp - Translation of conversions ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `Tensor.to` in all its forms, copies, and PyTorch's own checks.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/GradientHistory.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/Scalars.h"
#include "dialects/Aten/Aten.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

/// A conversion stays even where it changes nothing: what the author wrote as
/// `.to(torch.float32)` says f32 under any mixed-precision policy.
static LogicalResult convertTo(NodeCall &call, Type element) {
  if (!element)
    return call.error("E0136") << "converts to a dtype that is not supported";
  return call.translate<aten::ToOp>(call.tensor("self"),
                                    TypeAttr::get(element));
}

static LogicalResult translateTo(NodeCall &call) {
  if (!call.isNone("dtype"))
    return convertTo(call, call.dtype("dtype"));
  call.setResult(call.tensor("self"));
  return success();
}

/// The same, where the signature has an argument `copy`.
static LogicalResult translateToOrCopy(NodeCall &call) {
  if (call.boolean("copy"))
    call.setResultsAreCopies();
  return translateTo(call);
}

/// `x.to(other)` and `x.type_as(other)`. No policy changes the dtype of
/// integers and booleans.
static LogicalResult translateToOther(NodeCall &call) {
  Type element = call.typeOf("other").getElementType();
  if (!isa<FloatType>(element))
    return convertTo(call, element);
  return call.translate<aten::ToOtherOp>(call.tensor("self"),
                                         call.tensor("other"));
}

static LogicalResult translateIdentity(NodeCall &call) {
  call.setResult(call.tensor("self"));
  return success();
}

/// PyTorch returns a contiguous tensor itself and copies any other. Values have
/// no strides; the difference matters to in-place operators alone.
static LogicalResult translateContiguous(NodeCall &call) {
  call.setResult(call.tensor("self"));
  if (!call.isContiguous("self"))
    call.setResultsAreCopies();
  return success();
}

/// `self.copy_(src)`: the source in the shape and dtype of `self`.
static LogicalResult translateCopyInto(NodeCall &call) {
  RankedTensorType type = call.typeOf("self");
  Value source = call.convert(call.tensor("src"), type.getElementType());
  if (source.getType() != type) {
    FailureOr<aten::ExpandOp> expanded =
        call.create<aten::ExpandOp>(source, type.getShape());
    if (failed(expanded))
      return failure();
    source = expanded->getResult();
  }
  call.setResult(connect(call.builder(), source, call.tensor("self")));
  return success();
}

/// A condition that the model asserts of its data.
static LogicalResult translateCondition(NodeCall &call) {
  call.require(call.convert(call.tensor("self"), call.builder().getI1Type()));
  call.setResults({});
  return success();
}

/// A check that PyTorch inserted; static types have made it.
static LogicalResult translateAssertion(NodeCall &) { return success(); }

static void addTo(OperatorTable &table) {
  StringRef options = "bool non_blocking=False, bool copy=False, "
                      "MemoryFormat? memory_format=None) -> Tensor(a)";
  table.add(("to.dtype(Tensor(a) self, ScalarType dtype, " + options).str(),
            translateToOrCopy);
  table.add(
      ("to.device(Tensor(a) self, Device device, ScalarType dtype, " + options)
          .str(),
      translateToOrCopy);
  table.add(("to.other(Tensor(a) self, Tensor other, " + options).str(),
            translateToOther);
  StringRef factory = "*, ScalarType? dtype=None, Layout? layout=None, "
                      "Device? device=None, bool? pin_memory=None, ";
  table.add(("to.dtype_layout(Tensor(a) self, " + factory + options).str(),
            translateToOrCopy);
  table.add(("_to_copy(Tensor self, " + factory +
             "bool non_blocking=False, MemoryFormat? memory_format=None) -> "
             "Tensor")
                .str(),
            translateTo);
  // PyTorch's signature does not say that type_as may return its argument.
  table.add("type_as(Tensor(a) self, Tensor other) -> Tensor(a)",
            translateToOther);
}

void translation::addConversionOperators(OperatorTable &table) {
  addTo(table);
  table.add("contiguous(Tensor(a) self, *, MemoryFormat "
            "memory_format=contiguous_format) -> Tensor(a)",
            translateContiguous);
  table.add("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
            translateIdentity);
  for (StringRef name : {"lift_fresh_copy", "alias_copy"})
    table.add((name + "(Tensor self) -> Tensor").str(), translateIdentity);
  for (StringRef name : {"alias", "lift_fresh", "positive"})
    table.add((name + "(Tensor(a) self) -> Tensor(a)").str(),
              translateIdentity);
  table.add("copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> "
            "Tensor(a!)",
            translateCopyInto);
  table.add("copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
            translateCopyInto);
  for (StringRef parameters :
       {"(Tensor self", ".msg(Tensor self, str assert_msg"})
    table.add(("_assert_async" + parameters + ") -> ()").str(),
              translateCondition);
  table.add("_assert_tensor_metadata(Tensor a, SymInt[]? size=None, "
            "SymInt[]? stride=None, ScalarType? dtype=None, *, "
            "Device? device=None, Layout? layout=None) -> ()",
            translateAssertion);
}
