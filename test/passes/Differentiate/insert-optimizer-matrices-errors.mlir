// RUN: shardc-opt %s --split-input-file --verify-diagnostics --shardc-insert-optimizer=optimizer=muon

module @no_such_optimizer {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    // expected-error@+1 {{expected the name of an optimizer, and matrices for muon}}
    fsdp.segment f32 reduce f32 elements 8 shard 4 with {optimizer = "lion"} {
      fsdp.member @w at 0
    }
  }
  func.func @step(%gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.begin backward
    %shard = fsdp.reduce_scatter @root [@w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@root>
    return
  }
}

// -----

module @no_matrix {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    // expected-error@+1 {{expected the name of an optimizer, and matrices for muon}}
    fsdp.segment f32 reduce f32 elements 8 shard 4 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.begin backward
    %shard = fsdp.reduce_scatter @root [@w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@root>
    return
  }
}
