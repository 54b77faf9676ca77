// RUN: shardc-opt %s --split-input-file --verify-diagnostics --shardc-insert-unshards

// expected-error@+1 {{expected a function @forward}}
module @no_forward {
  func.func @backward() {
    return
  }
}
