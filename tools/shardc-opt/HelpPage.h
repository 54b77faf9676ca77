//===- HelpPage.h - What the help pages of MLIR tools show ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Libraries of LLVM register their own command-line options in every program
// that links them. Few of them concern shardc.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_SHARDC_OPT_HELPPAGE_H
#define SHARDC_TOOLS_SHARDC_OPT_HELPPAGE_H

#include "llvm/Support/CommandLine.h"

namespace shardc {

/// Leaves the options of LLVM's code generators out of the help page: those
/// that are registered before MLIR's driver registers its own.
inline void hideForeignOptions() {
  for (auto &entry : llvm::cl::getRegisteredOptions())
    if (entry.first != "help" && entry.first != "version")
      entry.second->setHiddenFlag(llvm::cl::ReallyHidden);
}

} // namespace shardc

#endif // SHARDC_TOOLS_SHARDC_OPT_HELPPAGE_H
