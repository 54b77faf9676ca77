// RUN: shardc-opt %s --shardc-set-target=target=x86-64-v4 | FileCheck %s

// CHECK: module @target attributes {shardc.target = "x86-64-v4"} {
module @target {
}
