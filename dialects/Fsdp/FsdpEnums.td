//===- FsdpEnums.td - Enumerations -------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The enumerations of the fsdp dialect, apart because their generator does not
// filter by dialect.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_FSDP_FSDPENUMS
#define SHARDC_DIALECTS_FSDP_FSDPENUMS

include "mlir/IR/EnumAttr.td"

def Fsdp_Reshard : I32EnumAttr<"Reshard", "when a group is resharded after forward", [
    I32EnumAttrCase<"default_", 0, "default">,
    I32EnumAttrCase<"always", 1>,
    I32EnumAttrCase<"never", 2>]> {
  let cppNamespace = "::shardc::fsdp";
}

def Fsdp_BufferSync : I32EnumAttr<"BufferSync", "what ranks make of a buffer that each of them writes", [
    I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"broadcast", 1>,
    I32EnumAttrCase<"mean", 2>, I32EnumAttrCase<"sum", 3>]> {
  let cppNamespace = "::shardc::fsdp";
}

def Fsdp_Boundary : I32EnumAttr<"Boundary", "where a cast sits at a module's boundary", [
    I32EnumAttrCase<"input", 0>, I32EnumAttrCase<"output", 1>]> {
  let cppNamespace = "::shardc::fsdp";
}

def Fsdp_Phase : I32EnumAttr<"Phase", "a part of the training step", [
    I32EnumAttrCase<"forward", 0>, I32EnumAttrCase<"backward", 1>,
    I32EnumAttrCase<"check", 2>, I32EnumAttrCase<"update", 3>]> {
  let cppNamespace = "::shardc::fsdp";
}

def Fsdp_Scalar : I32EnumAttr<"Scalar", "a number that the run gives", [
    I32EnumAttrCase<"learning_rate", 0>, I32EnumAttrCase<"micro_batches", 1>,
    I32EnumAttrCase<"weight_decay_scale", 2>, I32EnumAttrCase<"seed", 3>,
    I32EnumAttrCase<"step", 4>, I32EnumAttrCase<"slice", 5>,
    I32EnumAttrCase<"shard", 6>, I32EnumAttrCase<"ranks", 7>]> {
  let cppNamespace = "::shardc::fsdp";
}

def Fsdp_Stream : I32EnumAttr<"Stream", "an ordered queue of device work", [
    I32EnumAttrCase<"compute", 0>, I32EnumAttrCase<"gather", 1>,
    I32EnumAttrCase<"reduce", 2>, I32EnumAttrCase<"replicate", 3>]> {
  let cppNamespace = "::shardc::fsdp";
}

#endif // SHARDC_DIALECTS_FSDP_FSDPENUMS
