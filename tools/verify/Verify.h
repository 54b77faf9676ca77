//===- Verify.h - A compiled step against the unsharded reference ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compiles a program, runs the artifact in this process, and compares what it
// computes with the reference interpreter on the unsharded program:
//
//   imported ─┬─ all phases, N ranks ───── artifact ── runCompiled ──┐ compare
//             └─ to differentiate, 1 rank ─ interpreter on N·M ──────┘ each
//             step
//                                           micro-batches
//
// After each step the reference takes over the compiled run's state, so that
// every step is judged alone. Prints nothing and keeps nothing: it can be
// called any number of times. Diagnostics go to the context's handlers.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_VERIFY_VERIFY_H
#define SHARDC_TOOLS_VERIFY_VERIFY_H

#include "compiler/Artifact/ArtifactBuilder.h"
#include "dialects/Reference/Tensor.h"
#include "tools/verify/CommandCheck.h"
#include "tools/verify/VerifyOptions.h"

#include "mlir/IR/OwningOpRef.h"

#include <functional>

namespace shardc::verify {

/// A number that a compiled step gets wrong.
struct VerifyDifference {
  /// "loss", "gradient fc.weight", "parameter fc.weight", "buffer bn.mean",
  /// "momentum fc.weight", "exp_avg …", "exp_avg_sq …", "gradient norm".
  std::string what;
  /// Counted from 1.
  int64_t step = 0;
  /// The rank that holds the element.
  int64_t rank = 0;
  size_t element = 0;
  double actual = 0;
  double expected = 0;
  double allowed = 0;
};

/// What was compared of one kind, such as all gradients.
struct ComparedKind {
  std::string kind;
  size_t tensors = 0;
  size_t elements = 0;
  /// Elements that are not finite in the reference: they say little.
  size_t notFinite = 0;
  /// The largest error over what was allowed for it, and both.
  double largestRatio = 0;
  double error = 0;
  double allowed = 0;
};

enum class Verdict {
  Agrees,
  Differs,
  /// The program was refused, or a pass failed; after diagnostics.
  NotCompiled,
  /// VerifyResult::status says why: data, weights, memory, a library call.
  NotRun,
  /// The interpreter could not execute the program; after diagnostics.
  NotInterpreted,
};

struct VerifyResult {
  Verdict verdict = Verdict::Agrees;
  Status status;
  /// All of the first step that has one, in the order of computation.
  std::vector<VerifyDifference> differences;
  /// Where they come from, if one command is to blame. None: each command does
  /// what it means, on the wrong bytes.
  std::optional<WrongCommand> wrongCommand;
  std::vector<ComparedKind> compared;
  int64_t steps = 0;
};

/// The full parameter or buffer of a name and type.
using WeightSource = std::function<StatusOr<reference::Tensor>(
    const std::string &name, mlir::RankedTensorType type)>;

/// Runs the phases on a module; `runPhases` of compiler/Pipelines.h, or
/// something that also watches them.
using PhaseRunner =
    std::function<llvm::LogicalResult(mlir::ModuleOp, const Options &)>;

/// Both sides of the comparison.
struct VerifiedProgram {
  /// After the differentiate phase, for one rank.
  mlir::OwningOpRef<mlir::ModuleOp> reference;
  /// After the memory phase: the commands that `compiled` has, with what the
  /// launches compute.
  mlir::OwningOpRef<mlir::ModuleOp> commands;
  CompiledProgram compiled;
};

/// Compiles `imported`, a program of the import phase or as translated, which
/// stays as it is. Fails after a diagnostic.
llvm::FailureOr<VerifiedProgram>
compileBoth(mlir::ModuleOp imported, const Options &options,
            const PhaseRunner &runAllPhases = nullptr);

/// Runs both sides and compares. Without `weights` they are drawn.
VerifyResult compareBoth(const VerifiedProgram &program,
                         const WeightSource &weights,
                         const VerifyOptions &options);

/// Holds each command of the compiled program against its meaning, in
/// options.steps steps. Returns the first wrong one, or nothing.
StatusOr<std::optional<WrongCommand>>
checkEachCommand(const VerifiedProgram &program, const WeightSource &weights,
                 const VerifyOptions &options);

/// compileBoth and compareBoth.
VerifyResult verifyProgram(mlir::ModuleOp imported, const WeightSource &weights,
                           const VerifyOptions &options);

} // namespace shardc::verify

#endif // SHARDC_TOOLS_VERIFY_VERIFY_H
