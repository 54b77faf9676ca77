//===- Device.cpp - what runs a program -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What all devices say of a failure.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/Device.h"

namespace shardc::runtime {

Status noteCommand(Status status, const format::Command &command) {
  return status.addNote("in module '" + command.module + "', '" +
                        command.label + "'");
}

} // namespace shardc::runtime
