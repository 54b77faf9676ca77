//===- Passes.td - The target phase -------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// From kernels to machine code. The functions that kernels become are the same
// for every target; a processor runs their iterations in its threads, a GPU in
// its blocks and threads.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_TARGET_PASSES
#define SHARDC_PASSES_TARGET_PASSES

include "mlir/Pass/PassBase.td"

def OutlineKernelsPass : Pass<"shardc-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Writes a function for each launch of each kernel.";
  let description = [{
    Loop nests of a kernel that share an outer parallel loop become one launch:
    a function that runs iterations [begin, end) of that loop on flat buffers.
    What only one iteration needs is private to it; what passes from one launch
    to the next is a scratch operand. Kernels with equal regions and layouts
    share functions. The functions are in the module `@kernels`; the kernels
    themselves stay.

    Decision: `passes/Target/KernelSchedule.h`.

    {{example: test/passes/Target/outline-kernels.mlir @row_sums}}
  }];
  let options = [
    Option<"pointwiseBlock", "pointwise-block", "int64_t", "4096",
           "Elements of one iteration of a point-wise launch.">,
    Option<"reductionBlock", "reduction-block", "int64_t", "64",
           "Neighbours that one iteration of a reduction over other loops sums.">];
  let dependentDialects = ["::shardc::exec::ExecDialect",
      "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
      "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
      "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

#endif // SHARDC_PASSES_TARGET_PASSES
