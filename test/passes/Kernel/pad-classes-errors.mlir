// RUN: not shardc-opt %s --shardc-pad-classes 2>&1 | FileCheck %s

// How long lines are is the target's matter.
// CHECK: error: expected the attribute shardc.target, which shardc-set-target sets
module @no_target {
  func.func @step() {
    return
  }
}
