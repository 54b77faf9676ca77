//===- Passes.td - The target phase -------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// From the functions of kernels to machine code. They are the same for every
// target: a processor runs their iterations in its threads (KernelCode.h, which
// the compiler calls), a GPU in its blocks and threads.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_TARGET_PASSES
#define SHARDC_PASSES_TARGET_PASSES

include "mlir/Pass/PassBase.td"

def MapKernelsToGpuPass : Pass<"shardc-map-kernels-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Maps the iterations of each launch to the threads of a GPU.";
  let description = [{
    The functions of the module `@kernels` become kernels of a `gpu.module` of
    that name with the same operands: thread t of the grid runs iteration begin +
    t if that is below end. A function says in `exec.threads` how many threads its
    blocks have, which a launch must have. For a GPU, kernels are outlined with blocks of one element,
    so that neighbouring threads touch neighbouring elements.

    {{example: test/passes/Target/map-kernels-to-gpu.mlir @relu}}
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
      "::mlir::gpu::GPUDialect", "::mlir::scf::SCFDialect"];
}

def CompileKernelsToCubinPass : Pass<"shardc-compile-kernels-to-cubin", "::mlir::ModuleOp"> {
  let summary = "Compiles the kernels of every gpu.module to machine code.";
  let description = [{
    Lowers to NVVM, generates PTX and has `ptxas` assemble it: the `gpu.module`
    becomes a `gpu.binary` for the target's chip. With `format=isa` the binary holds the PTX, and no
    CUDA toolkit is needed.

    exp, log, log1p and erfc of f64 are error E0241: NVIDIA has them only in a
    library.

    {{example: test/passes/Target/compile-kernels-to-cubin-errors.mlir @f64_exponential}}
  }];
  let options = [
    Option<"format", "format", "std::string", /*default=*/"\"bin\"",
           "bin for a cubin, isa for PTX.">];
}

#endif // SHARDC_PASSES_TARGET_PASSES
