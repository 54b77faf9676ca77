//===- CommandCollective.cpp - A command as a collective ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Operands and sizes of each kind.
//===----------------------------------------------------------------------===//

#include "runtime/device/CommandCollective.h"

namespace shardc::runtime {

using format::attributeOr;
using format::CommandKind;

Collective collectiveOf(const format::Command &command,
                        std::span<std::byte *const> operands) {
  const auto typed = [&](size_t operand) -> TypedBytes {
    return {operands[operand], command.operands[operand].dtype};
  };
  const auto elements = [&](size_t operand) {
    return format::elementCount(command.operands[operand].shape);
  };
  if (command.kind == CommandKind::AllGather)
    return {Collective::Kind::AllGather,
            {operands[0], format::Dtype::U8},
            {},
            attributeOr<int64_t>(command.attributes, "slot_bytes", 0)};
  if (command.kind == CommandKind::ReduceScatter)
    return {Collective::Kind::ReduceScatter, typed(0), typed(1), elements(1),
            operands.size() > 2 ? operands[2] : nullptr};
  if (attributeOr(command.attributes, "double_double", false))
    return {Collective::Kind::AllReducePairs, typed(0), {}, elements(0) / 2};
  return {Collective::Kind::AllReduce, typed(0), {}, elements(0)};
}

} // namespace shardc::runtime
