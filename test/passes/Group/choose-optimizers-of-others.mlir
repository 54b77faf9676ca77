// RUN: shardc-opt %s --verify-diagnostics --shardc-choose-optimizers=optimizer=sgd

// Only muon comes with another optimizer.
module @two_optimizers {
  // expected-error@+2 {{E0226: 'w' is to have the optimizer adamw, the model's is sgd}}
  // expected-note@+1 {{help: --optimizer muon has adamw for parameters that rules name}}
  fsdp.parameter @w : tensor<2x2xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.member @w with {optimizer = "adamw"}
  }
}
