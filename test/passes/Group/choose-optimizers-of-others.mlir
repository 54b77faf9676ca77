// RUN: shardc-opt %s --verify-diagnostics --shardc-choose-optimizers=optimizer=sgd

// Only muon comes with another optimizer.
module @two_optimizers {
  // expected-error@+2 {{E0226: a rule assigns the optimizer adamw to parameter 'w', but the model's optimizer is sgd}}
  // expected-note@+1 {{help: with --optimizer muon, rules can assign adamw to parameters}}
  fsdp.parameter @w : tensor<2x2xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.member @w with {optimizer = "adamw"}
  }
}
