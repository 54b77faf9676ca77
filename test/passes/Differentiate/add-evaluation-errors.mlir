// RUN: shardc-opt %s --split-input-file --verify-diagnostics --shardc-add-evaluation

// expected-error@+1 {{expected a function @step}}
module @no_step {
}

// -----

module @stochastic_depth {
  func.func @step(%x: tensor<4xf32>) {
    fsdp.begin forward
    %seed = fsdp.scalar seed : tensor<i64>
    %step = fsdp.scalar step : tensor<i64>
    %slice = fsdp.scalar slice : tensor<i64>
    // expected-error@+1 {{E0224: 'aten.rand' draws random numbers beside dropout; whether an evaluation does so, an export of training does not say}}
    %0 = aten.rand %seed, %step, %slice {stream = 0} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4xf32>
    %1 = aten.mul %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = aten.sum %1 [0] : (tensor<4xf32>) -> tensor<f32>
    fsdp.record_loss %2 : tensor<f32>
    return
  }
}

// -----

module @moving_average_in_use {
  fsdp.buffer @mean : tensor<f32>
  func.func @step(%x: tensor<f32>) {
    fsdp.begin forward
    %0 = fsdp.read @mean : tensor<f32>
    %1 = aten.add %0, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
    // expected-error@+1 {{E0224: forward changes buffer 'mean' and uses what it becomes; whether an evaluation does so, an export of training does not say}}
    fsdp.write %1, @mean : tensor<f32>
    %2 = aten.mul %1, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
    fsdp.record_loss %2 : tensor<f32>
    return
  }
}
