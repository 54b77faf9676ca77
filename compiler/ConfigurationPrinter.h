//===- ConfigurationPrinter.h - What a configuration comes to -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The other way of Configuration.h.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_CONFIGURATIONPRINTER_H
#define SHARDC_COMPILER_CONFIGURATIONPRINTER_H

#include "compiler/Options.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace shardc {

/// The configuration that `options` and the groups of `module`, after the group
/// phase with Options::explainGroups, come to: each group with its own values,
/// and in comments where they are from. Reading it gives the same groups.
std::string printConfiguration(mlir::ModuleOp module, const Options &options);

} // namespace shardc

#endif // SHARDC_COMPILER_CONFIGURATIONPRINTER_H
