// RUN: shardc-opt %s --split-input-file --verify-diagnostics --shardc-insert-optimizer=loss-scale=-2
// RUN: shardc-opt %s --split-input-file --verify-diagnostics --shardc-differentiate=loss-scale=-2

// expected-error@+1 {{E0225: expected a positive loss scale or dynamic, got '-2'}}
module @negative {
  func.func @step() {
    return
  }
}
