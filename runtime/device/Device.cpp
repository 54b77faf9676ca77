//===- Device.cpp - What runs a program -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// How a failure names its command: "in module 'h.0.mlp', launch kernel_gelu
// 'gelu'".
//===----------------------------------------------------------------------===//

#include "runtime/device/Device.h"

#include "runtime/format/CommandKinds.h"

namespace shardc::runtime {

Status noteCommand(Status status, const format::Command &command) {
  std::string what(format::kindName(command));
  if (!command.callee.empty())
    what += " " + command.callee;
  if (!command.label.empty())
    what += " '" + command.label + "'";
  return status.addNote("in " + format::moduleOf(command) + ", " + what);
}

} // namespace shardc::runtime
