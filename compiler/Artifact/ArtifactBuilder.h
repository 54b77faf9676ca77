//===- ArtifactBuilder.h - From an exec.program to artifact structures ----===//
// SPDX-License-Identifier: Apache-2.0
//
// One-to-one translation of the memory phase's result into the structures of
// runtime/format. Decides nothing.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_ARTIFACT_ARTIFACTBUILDER_H
#define SHARDC_COMPILER_ARTIFACT_ARTIFACTBUILDER_H

#include "compiler/Options.h"
#include "runtime/format/Artifact.h"

#include "mlir/IR/BuiltinOps.h"

#include <deque>

namespace shardc {

/// The manifest, parameters, program and summary of `module`, which has passed
/// verify-program. Kernels and weights are the caller's.
format::Artifact buildArtifact(mlir::ModuleOp module, const Options &options);

/// An artifact with its machine code, without weights.
struct CompiledProgram {
  CompiledProgram() = default;
  CompiledProgram(CompiledProgram &&) = default;
  CompiledProgram &operator=(CompiledProgram &&) = default;

  format::Artifact artifact;
  /// What `artifact.code` points to.
  std::deque<llvm::SmallVector<char, 0>> code;
};

/// The target phase: the artifact of `module` and the machine code of its
/// kernels. Fails after a diagnostic.
llvm::FailureOr<CompiledProgram> buildProgramWithCode(mlir::ModuleOp module,
                                                      const Options &options);

/// `type` as the artifact names it.
format::Dtype toDtype(mlir::Type type);

/// The states, inputs, groups and segments of `module`.
format::Parameters buildParameters(mlir::ModuleOp module);

/// The commands of the program of `module`.
format::Program buildProgram(mlir::ModuleOp module);

/// What the program moves and holds, for people; `built` is buildProgram's.
format::Summary buildSummary(mlir::ModuleOp module,
                             const format::Program &built,
                             const Options &options);

} // namespace shardc

#endif // SHARDC_COMPILER_ARTIFACT_ARTIFACTBUILDER_H
