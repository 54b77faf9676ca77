// RUN: shardc-opt %s --split-input-file --verify-diagnostics --shardc-lower-to-commands

// expected-error@+1 {{expected a function @step}}
module @no_step {
}

// -----

// The kernel phase leaves no operators.
module @operator_without_command {
  func.func @step(%x: tensor<4xf32>) {
    // expected-error@+1 {{expected an operation that has a command, got 'aten.relu'}}
    %0 = aten.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

// The kernel phase copies a transposed gradient.
module @transposed_gradient {
  fsdp.parameter @w : tensor<4x8xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 32 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%x: tensor<8x4xf32>) {
    fsdp.begin forward
    fsdp.begin backward
    %d = exec.library "copy" (%x) {} order [array<i64>] : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %t = exec.view %d offset 0 strides [1, 4] : tensor<8x4xf32> -> tensor<4x8xf32>
    // expected-error@+1 {{expected row-major operands}}
    %pending = fsdp.reduce_scatter_start @root [@w](%t) on reduce : (tensor<4x8xf32>) -> !fsdp.pending<@root>
    fsdp.begin update
    %shard = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.shard<@root>
    return
  }
}
