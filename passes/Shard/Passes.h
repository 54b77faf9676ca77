//===- Passes.h - The shard phase -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// From `fsdp.module` regions to one SPMD program. Order: layout-groups,
// inline-modules, insert-unshards, verify-sharded.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_SHARD_PASSES_H
#define SHARDC_PASSES_SHARD_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shardc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Shard/Passes.h.inc"
} // namespace shardc

#endif // SHARDC_PASSES_SHARD_PASSES_H
