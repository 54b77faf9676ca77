// RUN: not shardc-opt %s --shardc-sort-scatters 2>&1 | FileCheck %s

// Whether rows are sorted is the target's matter.
// CHECK: error: expected the attribute shardc.target, which shardc-set-target sets
module @no_target {
  func.func @step() {
    return
  }
}
