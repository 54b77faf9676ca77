// RUN: shardc-opt %s --split-input-file --verify-diagnostics --shardc-rematerialize-gathers

// expected-error@+1 {{expected a training step with a backward part}}
module @no_step {
}

// -----

// expected-error@+1 {{expected a training step with a backward part}}
module @no_backward {
  func.func @step() {
    fsdp.begin forward
    return
  }
}
