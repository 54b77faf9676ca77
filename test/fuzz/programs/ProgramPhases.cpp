//===- ProgramPhases.cpp - compiling a program in memory ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What Compiler.cpp does, without files.
//===----------------------------------------------------------------------===//

#include "test/fuzz/programs/ProgramPhases.h"

#include "compiler/Artifact/ArtifactBuilder.h"
#include "compiler/Pipelines.h"
#include "passes/Target/KernelCode.h"
#include "runtime/format/Validator.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace shardc::fuzz {

ErrorCollector::ErrorCollector(MLIRContext &context)
    : handler(&context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
          text += diagnostic.str() + "\n";
        return success();
      }) {}

StringRef ErrorCollector::getNumber() const {
  StringRef number = StringRef(text).take_until([](char c) {
    return !llvm::isAlnum(c);
  });
  return number.size() == 5 && number.front() == 'E' ? number : "";
}

OwningOpRef<ModuleOp> runPhases(ModuleOp program, const Options &options,
                                StringRef phase) {
  OwningOpRef<ModuleOp> copy = program.clone();
  PassManager manager(program.getContext());
  for (const Phase &each : getPhases()) {
    each.addPasses(manager, options);
    if (each.name == phase)
      break;
  }
  return succeeded(manager.run(*copy)) ? std::move(copy)
                                       : OwningOpRef<ModuleOp>();
}

FailureOr<std::unique_ptr<CompiledProgram>>
compileProgram(ModuleOp program, const Options &options) {
  OwningOpRef<ModuleOp> module = runPhases(program, options);
  if (!module)
    return failure();
  auto compiled = std::make_unique<CompiledProgram>();
  compiled->artifact = buildArtifact(*module, options);
  target::CpuTarget cpu;
  cpu.cpu = options.cpu;
  FailureOr<SmallVector<char, 0>> code = target::generateCpuKernels(
      module->lookupSymbol<ModuleOp>("kernels"), cpu);
  if (failed(code))
    return failure();
  compiled->code = std::move(*code);
  compiled->artifact.kernels = std::as_bytes(
      std::span(compiled->code.data(), compiled->code.size()));
  if (Status status = format::validate(compiled->artifact); !status.ok())
    return program.emitError(errorNumber(status.code()).data())
               << ": " << status.message(),
           failure();
  return compiled;
}

} // namespace shardc::fuzz
