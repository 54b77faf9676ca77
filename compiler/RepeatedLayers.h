//===- RepeatedLayers.h - Equal layers in a row ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Takes layers out of a model that is only to be measured, so that a deep one
// is measured as fast as a shallow one: of a row of equal layers, each of which
// takes the results of the one before it, three stay: the first, one that
// stands for all between, and the last.
//
//   l.0 -> l.1 -> l.2 -> l.3 -> l.4      ->      l.0 -> l.1 -> l.4
//
// Layers are equal if they differ in names alone: operations, parameters, and
// what the group phase decided about them.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_REPEATEDLAYERS_H
#define SHARDC_COMPILER_REPEATEDLAYERS_H

#include "compiler/Plan/StepGraphBuilder.h"

#include "mlir/IR/BuiltinOps.h"

namespace shardc {

/// Takes layers out of a model of the group phase; returns for each group that
/// stands for others which those are, in the order of the layers.
RepeatedGroups takeOutLayers(mlir::ModuleOp module);

} // namespace shardc

#endif // SHARDC_COMPILER_REPEATEDLAYERS_H
