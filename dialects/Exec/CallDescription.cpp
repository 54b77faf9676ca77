//===- CallDescription.cpp - Library calls as the artifact has them -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Types and attributes of MLIR in the format's words.
//===----------------------------------------------------------------------===//

#include "dialects/Exec/CallDescription.h"

#include "dialects/Exec/Dtype.h"
#include "dialects/Exec/Layout.h"
#include "dialects/Exec/Memory.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace shardc::exec {

format::TensorReference describeTensor(MemRefType type) {
  format::TensorReference tensor;
  std::optional<format::Dtype> dtype = getDtype(type.getElementType());
  if (!dtype)
    llvm_unreachable("the dialects have no other element type");
  tensor.dtype = *dtype;
  tensor.shape.assign(type.getShape().begin(), type.getShape().end());
  // Strides of dimensions of size 1 say nothing: without them the tensor is
  // what calls of contiguous tensors want.
  SmallVector<int64_t> strides = getStrides(type);
  if (!isRowMajor(type.getShape(), strides))
    tensor.strides.assign(strides.begin(), strides.end());
  return tensor;
}

static format::AttributeValue describeValue(Attribute attribute) {
  return llvm::TypeSwitch<Attribute, format::AttributeValue>(attribute)
      .Case([](BoolAttr value) { return value.getValue(); })
      .Case([](IntegerAttr value) { return value.getInt(); })
      .Case([](FloatAttr value) { return value.getValueAsDouble(); })
      .Case([](StringAttr value) { return value.str(); })
      .Case([](DenseI64ArrayAttr value) {
        return std::vector<int64_t>(value.asArrayRef().begin(),
                                    value.asArrayRef().end());
      })
      .Default([](Attribute) -> format::AttributeValue {
        llvm_unreachable("verify-kernels checked the settings");
      });
}

format::Attributes describeSettings(DictionaryAttr settings) {
  format::Attributes attributes;
  for (NamedAttribute setting : settings)
    attributes[setting.getName().str()] = describeValue(setting.getValue());
  return attributes;
}

format::Command describeCall(CallOp call) {
  format::Command command;
  command.kind = format::CommandKind::Call;
  command.callee = call.getCall().str();
  command.attributes = describeSettings(call.getSettings());
  for (ValueRange memory : {call.getInputs(), call.getOutputs()})
    for (Value operand : memory)
      command.operands.push_back(
          describeTensor(cast<MemRefType>(operand.getType())));
  return command;
}

} // namespace shardc::exec
