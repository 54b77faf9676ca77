// RUN: shardc-opt %s --split-input-file --verify-diagnostics --shardc-insert-optimizer=optimizer=lion

// expected-error@+1 {{expected a function @step}}
module @no_step {
}

// -----

module @unknown_optimizer {
  // expected-error@+1 {{E0223: expected optimizer sgd or adamw, got 'lion'}}
  func.func @step() {
    return
  }
}
