//===- ExecDialect.td - The exec dialect --------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The scheduled device program, first as kernels and library calls on tensors,
// then as commands on buffers at fixed offsets.
//
// Include order: ExecDialect.td <- ExecOps.td
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
    On *memory*, in the memory phase, a `program` is a list of commands on memrefs:
    states, inputs and scalars that the module declares, and `buffer`s, which at
    first have no place and lie in one arena in the end. Each command is then one
    of the artifact (`docs/Format.md`).
  }];
}

#endif // SHARDC_DIALECTS_EXEC_EXECDIALECT
