// RUN: shardc-opt %s --split-input-file --verify-diagnostics --shardc-insert-optimizer

// expected-error@+1 {{expected a function @step}}
module @no_step {
}

// -----

module @no_group {
  func.func @step(%gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.begin backward
    // expected-error@+1 {{expected a group @root}}
    %shard = fsdp.reduce_scatter @root [@w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@root>
    return
  }
}
