// RUN: not shardc-opt %s --shardc-add-workspaces 2>&1 | FileCheck %s

// There is no processor that is meant where none is named.
// CHECK: error: expected the attribute shardc.target, which shardc-set-target sets
module @no_target {
}
