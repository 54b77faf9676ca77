//===- ExecEnums.td - Enumerations --------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The enumerations of the exec dialect, apart because their generator does not
// filter by dialect.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_EXEC_EXECENUMS
#define SHARDC_DIALECTS_EXEC_EXECENUMS

include "mlir/IR/EnumAttr.td"

def Exec_Space : I32EnumAttr<"Space", "a kind of memory", [
    I32EnumAttrCase<"arena", 0>, I32EnumAttrCase<"state", 1>,
    I32EnumAttrCase<"input", 2>, I32EnumAttrCase<"scalar", 3>]> {
  let cppNamespace = "::shardc::exec";
}

def Exec_Access : I32EnumAttr<"Access", "what a command does with an operand", [
    I32EnumAttrCase<"read", 0>, I32EnumAttrCase<"write", 1>,
    I32EnumAttrCase<"read_write", 2>]> {
  let cppNamespace = "::shardc::exec";
}

def Exec_RunKind : I32EnumAttr<"RunKind", "what a section is run for", [
    I32EnumAttrCase<"training", 0>, I32EnumAttrCase<"evaluation", 1>]> {
  let cppNamespace = "::shardc::exec";
}

def Exec_Repeat : I32EnumAttr<"Repeat", "how often a section runs in a run", [
    I32EnumAttrCase<"once", 0>, I32EnumAttrCase<"micro_batches", 1>,
    I32EnumAttrCase<"only_micro_batch", 2>, I32EnumAttrCase<"first_micro_batch", 3>,
    I32EnumAttrCase<"middle_micro_batches", 4>, I32EnumAttrCase<"last_micro_batch", 5>,
    I32EnumAttrCase<"initial_micro_batch", 6>, I32EnumAttrCase<"later_micro_batches", 7>]> {
  let cppNamespace = "::shardc::exec";
}

def Exec_Role : I32EnumAttr<"Role", "what a persistent state is", [
    I32EnumAttrCase<"parameter", 0>, I32EnumAttrCase<"gradient", 1>,
    I32EnumAttrCase<"optimizer", 2>, I32EnumAttrCase<"buffer", 3>,
    I32EnumAttrCase<"metric", 4>, I32EnumAttrCase<"accumulated", 5>]> {
  let cppNamespace = "::shardc::exec";
}

#endif // SHARDC_DIALECTS_EXEC_EXECENUMS
