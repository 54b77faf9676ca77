// RUN: shardc-opt %s --split-input-file --verify-diagnostics --shardc-choose-optimizers=optimizer=muon

// One error for all that a pattern says.
module @no_matrix {
  // expected-error@+2 {{E0226: the optimizer muon needs a matrix, but parameter 'bias' has type 'tensor<2xf32>'}}
  // expected-note@+1 {{help: leave it to adamw}}
  fsdp.parameter @bias : tensor<2xf32>
  fsdp.parameter @other : tensor<2xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.member @bias with {optimizer = "muon"}
    fsdp.member @other with {optimizer = "muon"}
  }
}

// -----

// A matrix without elements has no norm.
module @no_elements {
  // expected-error@+2 {{E0226: the optimizer muon needs a matrix, but parameter 'none' has type 'tensor<0x2xf32>'}}
  // expected-note@+1 {{help: leave it to adamw}}
  fsdp.parameter @none : tensor<0x2xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.member @none with {optimizer = "muon"}
  }
}

// -----

// expected-warning@+1 {{no trained parameter uses muon; all use adamw}}
module @nothing_for_muon {
  fsdp.parameter @bias : tensor<2xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.member @bias
  }
}
