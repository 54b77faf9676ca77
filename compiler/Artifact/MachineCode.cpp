//===- MachineCode.cpp - An artifact with the code of its kernels ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// The target phase: from the module of kernels to a shared object.
//===----------------------------------------------------------------------===//

#include "compiler/Artifact/ArtifactBuilder.h"

#include "passes/Target/KernelCode.h"

using namespace mlir;

namespace shardc {

FailureOr<CompiledProgram> buildProgramWithCode(ModuleOp module,
                                                const Options &options) {
  CompiledProgram program;
  program.artifact = buildArtifact(module, options);
  target::CpuTarget cpu;
  cpu.cpu = program.artifact.manifest.target.cpu;
  program.artifact.manifest.target.triple = cpu.triple;
  std::vector<target::SignatureText> signatures;
  for (const format::KernelSignature &signature :
       program.artifact.program.kernels)
    signatures.emplace_back(signature.name, signatureText(signature));
  FailureOr<SmallVector<char, 0>> code = target::generateCpuKernels(
      module.lookupSymbol<ModuleOp>("kernels"), cpu, signatures);
  if (failed(code))
    return failure();
  program.code = std::move(*code);
  program.artifact.kernels =
      std::as_bytes(std::span(program.code.data(), program.code.size()));
  return program;
}

} // namespace shardc
