//===- Passes.h - All phases ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The passes of every phase, in pipeline order, and what a tool registers to
// run them.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_PASSES_H
#define SHARDC_PASSES_PASSES_H

#include "mlir/IR/DialectRegistry.h"

namespace shardc {

/// Registers shardc's dialects, the upstream dialects that kernels are written
/// in, and the external models that passes ask for.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers the passes of every phase under their flags.
void registerAllPasses();

} // namespace shardc

#endif // SHARDC_PASSES_PASSES_H
