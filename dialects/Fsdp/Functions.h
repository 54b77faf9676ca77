//===- Functions.h - The functions of a program ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// They share a symbol table with the model's tensors, any of which may be
// called `step`: the function is then `@step.function`.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_FSDP_FUNCTIONS_H
#define SHARDC_DIALECTS_FSDP_FUNCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace shardc::functions {

/// The model's loss; the import phase makes it, the shard phase makes it the
/// training step.
inline constexpr llvm::StringLiteral forward = "forward";
inline constexpr llvm::StringLiteral step = "step";
/// The loss of an evaluation.
inline constexpr llvm::StringLiteral evaluate = "evaluate";

/// The function of that name; null where the program has none.
mlir::func::FuncOp find(mlir::ModuleOp module, llvm::StringRef name);

/// `name`, or what a function is called where a tensor has it.
std::string freeSymbol(mlir::ModuleOp module, llvm::StringRef name);

} // namespace shardc::functions

#endif // SHARDC_DIALECTS_FSDP_FUNCTIONS_H
