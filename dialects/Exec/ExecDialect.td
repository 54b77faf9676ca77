//===- ExecDialect.td - The exec dialect --------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The scheduled device program, first as kernels and library calls on tensors,
// then as commands on buffers at fixed offsets.
//
// Include order: ExecDialect.td <- ExecAttrs.td <- ExecOps.td
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_EXEC_EXECDIALECT
#define SHARDC_DIALECTS_EXEC_EXECDIALECT

include "mlir/IR/OpBase.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::shardc::exec";
  let summary = "the scheduled device program: kernels, library calls, buffers, streams";
  let description = [{
    The `exec` dialect has two levels. On *tensors*, between the kernel and the
    memory phase, `kernel` holds a loop nest that shardc compiles, `library`
    names a call of an existing engine, and `view` names bytes of another value.
    On *buffers*, after the memory phase, a `program` is a flat list of commands
    on references into one arena and the persistent states: each line is one
    command of the artifact (`docs/Format.md`).
  }];
  let useDefaultAttributePrinterParser = 1;
}

#endif // SHARDC_DIALECTS_EXEC_EXECDIALECT
