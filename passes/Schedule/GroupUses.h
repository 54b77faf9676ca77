//===- GroupUses.h - What reads the bytes of a whole group ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A view moves no bytes, so whoever reads a view of a whole group, or a view of
// such a view, reads the group:
//
//   %w = fsdp.view %g[@in_proj]     uses %g
//   %q = aten.slice %w              uses %g
//   %y = aten.linear %x, %q         uses %g, and ends the chain
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_SCHEDULE_GROUPUSES_H
#define SHARDC_PASSES_SCHEDULE_GROUPUSES_H

#include "mlir/IR/Operation.h"

namespace shardc {

/// Whether the result of `op` is another way to look at its operand's bytes.
bool isView(mlir::Operation *op);

/// Calls `visit` once for each use of the bytes of `whole`, through any number
/// of views. The views are uses too, each before its own.
void walkUses(mlir::Value whole,
              llvm::function_ref<void(mlir::Operation *)> visit);

} // namespace shardc

#endif // SHARDC_PASSES_SCHEDULE_GROUPUSES_H
