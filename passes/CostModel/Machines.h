//===- Machines.h - The machines that shardc knows by name ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Finds the machine that a user names: one of the files in machines/, which
// are part of the program, or a file of the user's own.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_COSTMODEL_MACHINES_H
#define SHARDC_PASSES_COSTMODEL_MACHINES_H

#include "runtime/format/Machine.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardc {

/// The machines that are known by name, in the order of their names.
const std::vector<format::Machine> &knownMachines();

/// Those with this chip, the oldest first.
std::vector<const format::Machine *> machinesWith(std::string_view chip);

/// The machine of that name or, if it has a slash or ends in ".json", in that
/// file, at the rates that `runtime` reaches on it (Machine::runtimes). Fails
/// with E0409, which lists the names, and with E0408 for a file that cannot be
/// read or is no machine's.
StatusOr<format::Machine> findMachine(const std::string &nameOrPath,
                                      const std::string &runtime = "shardrun");

} // namespace shardc

#endif // SHARDC_PASSES_COSTMODEL_MACHINES_H
