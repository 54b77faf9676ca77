// RUN: shardc-opt %s --verify-diagnostics --shardc-insert-optimizer=optimizer=lion

// expected-error@+1 {{E0223: expected optimizer sgd or adamw, got 'lion'}}
module @unknown_optimizer {
  func.func @step() {
    return
  }
}
