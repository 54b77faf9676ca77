//===- Passes.td - The target phase -------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// From the functions of kernels to machine code, for a processor, for a chip of a
// GPU, or for the emulator of its threads (KernelCode.h).
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_TARGET_PASSES
#define SHARDC_PASSES_TARGET_PASSES

include "mlir/Pass/PassBase.td"

def MapKernelsToGpuPass : Pass<"shardc-map-kernels-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Converts launch functions to GPU kernels.";
  let description = [{
    The functions of the module `@kernels` become kernels of a `gpu.module` of
    that name with the same operands. They are outlined for the target `cuda`:
    their iterations are divided over blocks and threads already, and
    `exec.threads` says how many threads a block has. What threads share becomes
    memory of the workgroup.

    {{example: test/passes/Target/map-kernels-to-gpu.mlir @reverse}}
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::NVVM::NVVMDialect"];
}

def CompileKernelsToCubinPass : Pass<"shardc-compile-kernels-to-cubin", "::mlir::ModuleOp"> {
  let summary = "Compiles the kernels of every gpu.module to machine code.";
  let description = [{
    Lowers to NVVM, generates PTX and has `ptxas` assemble it: the `gpu.module`
    becomes a `gpu.binary` for `chip`. With `format=isa` the binary holds the PTX,
    and no CUDA toolkit is needed.

    Functions of f64, and those that kernels compute in f64, are NVIDIA's: they
    come from libdevice of the CUDA toolkit in `CUDA_HOME`, by default
    `/usr/local/cuda`. Without it they are error E0241.

    {{example: test/passes/Target/compile-kernels-to-cubin-errors.mlir @f64_exponential}}
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_90\"",
           "Chip name, as in ptxas.">,
    Option<"format", "format", "std::string", /*default=*/"\"bin\"",
           "Output format: bin for a cubin, isa for PTX.">];
}

#endif // SHARDC_PASSES_TARGET_PASSES
