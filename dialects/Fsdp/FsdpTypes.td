//===- FsdpTypes.td - Groups as values ----------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A group of parameters is one value: whole (unsharded), being gathered
// (pending), what a rank keeps of a whole one (retained), or this rank's part of
// the gradients (shard).
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_FSDP_FSDPTYPES
#define SHARDC_DIALECTS_FSDP_FSDPTYPES

include "dialects/Fsdp/FsdpDialect.td"
include "mlir/IR/AttrTypeBase.td"

class Fsdp_GroupType<string name, string typeMnemonic> : TypeDef<Fsdp_Dialect, name> {
  let mnemonic = typeMnemonic;
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$group);
  let assemblyFormat = "`<` $group `>`";
}

def Fsdp_Unsharded : Fsdp_GroupType<"Unsharded", "unsharded"> {
  let summary = "all parameters of a group, whole, in their gathered dtypes";
}
def Fsdp_Retained : Fsdp_GroupType<"Retained", "retained"> {
  let summary = "this rank's part of a whole group, that fewer ranks have among them";
}
def Fsdp_Shard : Fsdp_GroupType<"Shard", "shard"> {
  let summary = "this rank's part of a group's accumulated gradients";
}
def Fsdp_Pending : Fsdp_GroupType<"Pending", "pending"> {
  let summary = "a collective of a group that was started and not yet waited for";
}

#endif // SHARDC_DIALECTS_FSDP_FSDPTYPES
