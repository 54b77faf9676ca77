//===- ModuleStack.h - The module calls that an operation ran under -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Between translation and the rebuilding of the module tree, operations are
// flat and each names the modules that it was traced under, outermost first,
// the root left out:
//
//   #block = {path = "h.0", type = "Block"}
//   #relu = {path = "h.0.relu", type = "ReLU", call = 1 : i64}
//   %1 = aten.relu %0 {shardc.modules = [#block, #relu]} : …
//
// `call` counts calls of the same module from 0 and is left out for the first.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_IMPORT_MODULESTACK_H
#define SHARDC_PASSES_IMPORT_MODULESTACK_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <string>

namespace shardc {

/// The attribute's name.
inline constexpr llvm::StringLiteral moduleStackName = "shardc.modules";

/// One call of a module.
struct ModuleFrame {
  mlir::StringAttr path;
  mlir::StringAttr type;
  int64_t call = 0;

  bool operator==(const ModuleFrame &) const = default;

  /// "h.0.relu" for the first call and "h.0.relu@1" for the next, as an export
  /// names them.
  std::string describe() const;
};

/// The frames as the attribute's value.
mlir::ArrayAttr encodeModuleStack(mlir::Builder &builder,
                                  llvm::ArrayRef<ModuleFrame> frames);

/// The frames of `op`, empty for an operation of the root. Fails, with an
/// error, on a malformed attribute.
llvm::FailureOr<llvm::SmallVector<ModuleFrame>>
decodeModuleStack(mlir::Operation *op);

} // namespace shardc

#endif // SHARDC_PASSES_IMPORT_MODULESTACK_H
