// RUN: shardc-opt %s --verify-diagnostics --shardc-keep-changed-parameters

module @E0137_changed_and_frozen {
  fsdp.parameter frozen @weight : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.group @root on @mesh policy <param = bf16> reshard default {
    fsdp.member @weight
  }
  func.func @forward(%x: tensor<4xf32> {shardc.name = "x"}) -> tensor<4xf32> {
    // expected-error@+1 {{E0137: changes parameter 'weight', which a rule freezes}}
    fsdp.write %x, @weight : tensor<4xf32>
    return %x : tensor<4xf32>
  }
}
