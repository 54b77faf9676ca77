//===- FsdpDialect.td - The fsdp dialect --------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The words of PyTorch FSDP2 as IR: mesh, parameter, buffer, module, group,
// policy, cast, shard, unshard, reduce-scatter, reshard.
//
// Include order: FsdpDialect.td <- FsdpAttrs.td <- FsdpTypes.td <- FsdpOps.td
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_FSDP_FSDPDIALECT
#define SHARDC_DIALECTS_FSDP_FSDPDIALECT

include "mlir/IR/OpBase.td"

def Fsdp_Dialect : Dialect {
  let name = "fsdp";
  let cppNamespace = "::shardc::fsdp";
  let summary = "sharded training: modules, groups, casts and collectives";
  let description = [{
    The `fsdp` dialect says who owns which tensor and when it is whole. It is
    used at three depths, each closed by a `verify-` pass:

      1. *modules*: `parameter`, `buffer`, `module`, `read`, `write`, and after
         the group and precision phases `mesh`, `group`, `cast`;
      2. *one program for every rank*: groups have flat `segment`s, `unshard`
         makes a group whole, `view` names a parameter in it, `reduce_scatter`
         is its dual, `update` steps the optimizer on the local shard;
      3. *ordered*: `unshard_start`, `reduce_scatter_start` and `wait`, with
         `reshard` where a group's whole value dies.

    Neighbours: `aten` computes between these operations; `exec` is what the
    memory phase turns both into.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

#endif // SHARDC_DIALECTS_FSDP_FSDPDIALECT
