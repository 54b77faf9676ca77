//===- GatheredDtype.cpp - The dtype that a parameter is gathered in ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Look-ups in the symbol table and the groups.
//===----------------------------------------------------------------------===//

#include "passes/Precision/GatheredDtype.h"

using namespace mlir;

namespace shardc {

RankedTensorType GatheredDtype::readType(StringRef name) {
  if (fsdp::BufferOp declared = buffer(name))
    return cast<RankedTensorType>(declared.getType());
  auto parameter = symbols.lookup<fsdp::ParameterOp>(name);
  if (!parameter)
    return {};
  auto master = cast<RankedTensorType>(parameter.getType());
  ParameterPlace place = groups.lookup(name);
  if (!place.member)
    return master;
  if (std::optional<Type> keep = place.member.getKeep())
    return master.clone(*keep);
  Type param = place.group.getPolicy().getParam();
  return param && isa<FloatType>(master.getElementType()) ? master.clone(param)
                                                          : master;
}

fsdp::PolicyAttr GatheredDtype::policyOf(fsdp::ModuleOp call) {
  if (!call.getGroup())
    return {};
  auto group = symbols.lookup<fsdp::GroupOp>(*call.getGroup());
  return group ? group.getPolicy() : fsdp::PolicyAttr();
}

} // namespace shardc
