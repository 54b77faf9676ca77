//===- MachineCode.cpp - An artifact with the code of its kernels ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// The target phase: from the module of kernels to a shared object, or to what
// each chip of a GPU executes.
//===----------------------------------------------------------------------===//

#include "compiler/Artifact/ArtifactBuilder.h"

#include "passes/Target/CubinResources.h"
#include "passes/Target/KernelCode.h"
#include "passes/Target/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace shardc {

static void addCode(CompiledProgram &program, const std::string &entry,
                    SmallVector<char, 0> bytes) {
  const SmallVector<char, 0> &kept =
      program.code.emplace_back(std::move(bytes));
  program.artifact.code[entry] =
      std::as_bytes(std::span(kept.data(), kept.size()));
}

static std::vector<target::SignatureText>
signaturesOf(const format::Program &program) {
  std::vector<target::SignatureText> signatures;
  for (const format::KernelSignature &signature : program.kernels)
    signatures.emplace_back(signature.name, signatureText(signature));
  return signatures;
}

static LogicalResult addCpuCode(ModuleOp module, CompiledProgram &program) {
  format::Target &made = program.artifact.manifest.target;
  target::CpuTarget cpu;
  cpu.cpu = made.cpu;
  made.triple = cpu.triple;
  FailureOr<SmallVector<char, 0>> code =
      target::generateCpuKernels(module.lookupSymbol<ModuleOp>("kernels"), cpu,
                                 signaturesOf(program.artifact.program));
  if (failed(code))
    return failure();
  addCode(program, "kernels.so", std::move(*code));
  return success();
}

/// The kernels of `module` as a GPU's, in a module of their own.
static OwningOpRef<ModuleOp> mapKernels(ModuleOp module) {
  OwningOpRef<ModuleOp> mapped =
      ModuleOp::create(module.getLoc(), module.getName());
  OpBuilder builder = OpBuilder::atBlockBegin(mapped->getBody());
  builder.clone(*module.lookupSymbol<ModuleOp>("kernels"));
  PassManager manager(module.getContext());
  manager.addPass(createMapKernelsToGpuPass());
  if (failed(manager.run(*mapped)))
    return nullptr;
  return mapped;
}

/// Notes what the kernels of `cubin` take.
static LogicalResult addResources(ModuleOp module, const std::string &chip,
                                  ArrayRef<char> cubin,
                                  format::Artifact &artifact) {
  auto resources = target::readResources(cubin);
  if (!resources)
    return module.emitError("cannot read the cubin of ")
           << chip << ": " << llvm::toString(resources.takeError());
  for (const format::KernelSignature &signature : artifact.program.kernels) {
    auto found = resources->find(signature.name);
    if (found == resources->end())
      return module.emitError("the cubin of ")
             << chip << " has no figures of kernel '" << signature.name << "'";
    artifact.summary.kernels.push_back(
        {signature.name, chip, found->second.registers, signature.sharedBytes,
         found->second.localBytes});
  }
  return success();
}

static LogicalResult addGpuCode(ModuleOp module, const Options &options,
                                CompiledProgram &program) {
  format::Target &made = program.artifact.manifest.target;
  made.triple = "nvptx64-nvidia-cuda";
  made.cpu.clear();
  made.chips = options.chips;
  OwningOpRef<ModuleOp> mapped = mapKernels(module);
  if (!mapped)
    return failure();
  auto kernels = *mapped->getOps<gpu::GPUModuleOp>().begin();
  const bool isPtx = options.gpuFormat == "ptx";
  for (const std::string &chip : options.chips) {
    const bool isEmulated = chip == "emulated";
    FailureOr<SmallVector<char, 0>> code =
        isEmulated
            ? target::generateEmulatedKernels(
                  kernels, signaturesOf(program.artifact.program))
            : target::generateGpuKernels(kernels, chip,
                                         isPtx ? target::GpuFormat::Ptx
                                               : target::GpuFormat::Cubin);
    if (failed(code))
      return failure();
    if (!isEmulated && !isPtx &&
        failed(addResources(module, chip, *code, program.artifact)))
      return failure();
    addCode(program,
            isEmulated ? "kernels.emulated.so"
                       : "kernels." + chip + (isPtx ? ".ptx" : ".cubin"),
            std::move(*code));
  }
  return success();
}

FailureOr<CompiledProgram> buildProgramWithCode(ModuleOp module,
                                                const Options &options) {
  CompiledProgram program;
  program.artifact = buildArtifact(module, options);
  LogicalResult added = options.target == format::cudaTarget
                            ? addGpuCode(module, options, program)
                            : addCpuCode(module, program);
  if (failed(added))
    return failure();
  return program;
}

} // namespace shardc
