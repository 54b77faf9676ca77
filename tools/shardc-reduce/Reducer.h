//===- Reducer.h - Makes failing IR small ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Removes operations from a module for as long as a test finds the rest
// interesting: first all of them, then halves, quarters, down to single ones,
// and again until nothing more can go (Zeller's delta debugging). What uses the
// result of a removed operation gets another value of its type: an operand of
// that operation, or a constant zero.
//
// MLIR 22 has a reducer of its own, which removes terminators with the rest and
// crashes on the functions that are left.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_SHARDC_REDUCE_REDUCER_H
#define SHARDC_TOOLS_SHARDC_REDUCE_REDUCER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>

namespace shardc {

/// Whether a verified module still shows what is being looked for.
using IsInteresting = std::function<bool(mlir::ModuleOp)>;

/// Returns an interesting module of as few operations as this finds; `module`
/// itself must be interesting. Calls the test O(n log n) times for a module of
/// n operations in the usual case.
mlir::OwningOpRef<mlir::ModuleOp>
reduce(mlir::OwningOpRef<mlir::ModuleOp> module,
       const IsInteresting &isInteresting);

} // namespace shardc

#endif // SHARDC_TOOLS_SHARDC_REDUCE_REDUCER_H
