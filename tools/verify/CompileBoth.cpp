//===- CompileBoth.cpp - The compiled step and its reference --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// All phases on one copy of a program, those to differentiation on another.
//===----------------------------------------------------------------------===//

#include "tools/verify/Verify.h"

#include "compiler/Pipelines.h"

using namespace mlir;

namespace shardc::verify {

FailureOr<VerifiedProgram> compileBoth(ModuleOp imported,
                                       const Options &options,
                                       const PhaseRunner &runAllPhases) {
  VerifiedProgram program;
  program.commands = imported.clone();
  Options kept = options;
  kept.keepKernels = true;
  LogicalResult compiled = runAllPhases
                               ? runAllPhases(program.commands.get(), kept)
                               : runPhases(program.commands.get(), kept);
  if (failed(compiled))
    return failure();
  FailureOr<CompiledProgram> code =
      buildProgramWithCode(program.commands.get(), options);
  if (failed(code))
    return failure();
  program.compiled = std::move(*code);
  program.reference = imported.clone();
  if (failed(runPhases(program.reference.get(), onOneRank(options),
                       "differentiate")))
    return failure();
  return program;
}

} // namespace shardc::verify
