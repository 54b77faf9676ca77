//===- TranslateExportedProgram.h - Exports as aten programs --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Translates an exported program into flat, functional aten operators:
//
//   module @name {
//     fsdp.parameter @fc.weight : tensor<4x8xf32>      one a trainable tensor
//     fsdp.buffer @bn.running_mean : tensor<4xf32>     all other state
//     func.func @forward(%x: … {shardc.name = "x"}) -> tensor<f32> { … }
//   }
//
// One node becomes one operator, or the few that it stands for, in the same
// order. Nothing is optimised here. Mutation becomes values and `fsdp.write`s;
// every operation has its module path as location and its module stack as the
// attribute of passes/Import/ModuleStack.h, from which the import phase
// rebuilds the module tree.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_TRANSLATEEXPORTEDPROGRAM_H
#define SHARDC_COMPILER_TRANSLATION_TRANSLATEEXPORTEDPROGRAM_H

#include "compiler/Pt2/ArchiveReader.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace shardc {

struct TranslationOptions {
  /// The loss to compute of a model that returns predictions, against a further
  /// input `target`: "cross_entropy" or "mse"; empty for a model that returns
  /// its loss.
  std::string loss;
  /// Return every output of the model instead of the loss alone.
  bool keepOutputs = false;
};

/// Translates `model` into a module called `name`. Loads the dialects it needs
/// into `context`. What cannot be translated is reported as numbered
/// diagnostics (E0119, E0130 to E0139) on `context`, and failure is returned.
llvm::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
translateExportedProgram(const pt2::ExportedModel &model, llvm::StringRef name,
                         mlir::MLIRContext &context,
                         const TranslationOptions &options = {});

/// A module called `name` with the state of `model` alone: its @forward returns
/// the sum of all trainable parameters, so that what training keeps of them can
/// be planned where the graph cannot be translated.
llvm::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
translateState(const pt2::ExportedModel &model, llvm::StringRef name,
               mlir::MLIRContext &context);

} // namespace shardc

#endif // SHARDC_COMPILER_TRANSLATION_TRANSLATEEXPORTEDPROGRAM_H
