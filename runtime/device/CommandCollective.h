//===- CommandCollective.h - A command as a collective --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the members of a communicator do when a program's command says so.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_DEVICE_COMMANDCOLLECTIVE_H
#define SHARDC_RUNTIME_DEVICE_COMMANDCOLLECTIVE_H

#include "runtime/format/Program.h"
#include "runtime/transport/Communicator.h"

#include <span>

namespace shardc::runtime {

/// The collective of `command`, which is one, with its operands at these
/// addresses.
Collective collectiveOf(const format::Command &command,
                        std::span<std::byte *const> operands);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_COMMANDCOLLECTIVE_H
