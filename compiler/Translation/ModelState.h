//===- ModelState.h - Parameters and buffers of an export -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Declares the state of an exported model: one fsdp.parameter a trainable
// tensor, tied names merged into it, and one fsdp.buffer for everything else
// that has a name. Detects the traps of torch.export that would train the wrong
// thing in silence.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_MODELSTATE_H
#define SHARDC_COMPILER_TRANSLATION_MODELSTATE_H

#include "compiler/Pt2/ArchiveReader.h"
#include "compiler/Translation/TensorSlots.h"
#include "dialects/Fsdp/Fsdp.h"
#include "llvm/ADT/StringSet.h"

#include <set>

namespace shardc::translation {

class ModelState {
public:
  /// Declarations go to `builder`'s insertion point.
  ModelState(const pt2::ExportedModel &model, mlir::OpBuilder &builder,
             TensorSlots &slots);

  /// Declares parameters, buffers and tensor constants and defines their
  /// placeholders. Reports state that cannot be trained as the model means it.
  llvm::LogicalResult declare();

  /// Makes the values of small tensor constants at the builder's insertion
  /// point, in the function, where they can be folded.
  llvm::LogicalResult defineConstants();

  /// Freezes, with a warning, the parameters from which no gradient comes: the
  /// model uses them under torch.no_grad, behind detach, or for what it drops.
  /// `results` are what it returns.
  void freezeWithoutGradient(mlir::ValueRange results);

  /// Fails where memory that the program changes, by training or by a write to
  /// a buffer, is also another tensor's: that would have to change with it.
  llvm::LogicalResult checkSharedMemory() const;

  /// The name that a parameter or buffer is declared under: of tied ones, one
  /// for all.
  llvm::StringRef declaredAs(llvm::StringRef name) const;

  /// Whether a node or an output of the graph uses the tensor `name`.
  bool isUsed(llvm::StringRef name) const { return used.contains(name); }

private:
  const pt2::ExportedModel &model;
  mlir::OpBuilder &builder;
  TensorSlots &slots;
  llvm::StringSet<> used;
  /// Of every tied parameter or buffer, the name it is declared under.
  llvm::StringMap<std::string> declaredName;
  llvm::StringMap<fsdp::ParameterOp> parameters;
  llvm::StringMap<fsdp::BufferOp> buffers;
  llvm::StringMap<std::string> placeholderOf;

  mlir::Location stateLocation(llvm::StringRef name) const;
  mlir::InFlightDiagnostic error(llvm::StringRef number,
                                 llvm::StringRef name) const;
  void findTiedNames();
  std::set<std::string> changedNames() const;
  bool isDeclared(llvm::StringRef name) const;
  llvm::LogicalResult checkCapturedParameters() const;
  llvm::FailureOr<mlir::RankedTensorType>
  stateType(const pt2::InputSpec &spec) const;
  template <typename DeclarationOp>
  llvm::LogicalResult addTiedName(DeclarationOp declared,
                                  const pt2::InputSpec &spec,
                                  mlir::RankedTensorType type);
  llvm::LogicalResult declareParameter(const pt2::InputSpec &spec);
  bool isSmallConstant(const pt2::InputSpec &spec) const;
  llvm::LogicalResult declareBuffer(const pt2::InputSpec &spec);
  void freezeUnusedParameters();
  void freeze(llvm::ArrayRef<llvm::StringRef> names, llvm::StringRef why);
  bool isTensorUsed(llvm::StringRef declared) const;
};

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_MODELSTATE_H
