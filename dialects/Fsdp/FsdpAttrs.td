//===- FsdpAttrs.td - Policies -----------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What a user chooses about sharding, written down as attributes.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_FSDP_FSDPATTRS
#define SHARDC_DIALECTS_FSDP_FSDPATTRS

include "dialects/Fsdp/FsdpDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "dialects/Fsdp/FsdpEnums.td"

class Fsdp_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Fsdp_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Fsdp_Policy : Fsdp_Attr<"Policy", "policy"> {
  let summary = "a mixed-precision policy, as FSDP2's MixedPrecisionPolicy";
  let description = [{
    `param` is the element type that floating-point parameters are gathered and
    used in, `reduce` the one that gradients are reduced in, `output` the one
    that the module's outputs are cast to; absent means unchanged, for `reduce`
    the parameters' own, as in FSDP2 since PyTorch 2.15. Under
    `cast_inputs` floating-point inputs of the module are cast to `param`.

    Example: `#fsdp.policy<param = bf16, reduce = f32, cast_inputs = true>`
  }];
  let parameters = (ins
    OptionalParameter<"::mlir::Type">:$param,
    OptionalParameter<"::mlir::Type">:$reduce,
    OptionalParameter<"::mlir::Type">:$output,
    DefaultValuedParameter<"bool", "false">:$cast_inputs);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // SHARDC_DIALECTS_FSDP_FSDPATTRS
