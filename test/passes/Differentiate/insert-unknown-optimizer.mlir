// RUN: shardc-opt %s --verify-diagnostics --shardc-insert-optimizer=optimizer=adagrad

// expected-error@+1 {{E0223: expected an optimizer of sgd, adam, adamw, lion, muon, got 'adagrad'}}
module @unknown_optimizer {
  func.func @step() {
    return
  }
}
