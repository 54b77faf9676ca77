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

def Exec_Section : I32EnumAttr<"Section", "how often a command runs in a step", [
    I32EnumAttrCase<"begin", 0>, I32EnumAttrCase<"micro_batch", 1>,
    I32EnumAttrCase<"update", 2>]> {
  let cppNamespace = "::shardc::exec";
}

def Exec_Role : I32EnumAttr<"Role", "what a persistent state is", [
    I32EnumAttrCase<"parameter", 0>, I32EnumAttrCase<"gradient", 1>,
    I32EnumAttrCase<"optimizer", 2>, I32EnumAttrCase<"buffer", 3>,
    I32EnumAttrCase<"metric", 4>]> {
  let cppNamespace = "::shardc::exec";
}

#endif // SHARDC_DIALECTS_EXEC_EXECENUMS
