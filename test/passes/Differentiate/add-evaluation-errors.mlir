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
    // expected-error@+1 {{E0224: 'aten.rand' draws random numbers and is not dropout; an export made in training mode does not show whether evaluation does the same}}
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
    // expected-error@+1 {{E0224: forward changes buffer 'mean' and may use its new value; an export made in training mode does not show whether evaluation does the same}}
    fsdp.write %1, @mean : tensor<f32>
    %2 = aten.mul %1, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
    fsdp.record_loss %2 : tensor<f32>
    return
  }
}

// -----

// The loss uses a view of the buffer's new value, of which the buffer's own is
// another view.
module @changed_through_a_view {
  fsdp.buffer @mean : tensor<4xf32>
  func.func @step(%x: tensor<1x4xf32>) {
    fsdp.begin forward
    %0 = fsdp.read @mean : tensor<4xf32>
    %1 = aten.view %0 [1, 4] : (tensor<4xf32>) -> tensor<1x4xf32>
    %2 = aten.add %1, %x : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
    %3 = aten.view %2 [4] : (tensor<1x4xf32>) -> tensor<4xf32>
    // expected-error@+1 {{E0224: forward changes buffer 'mean' and may use its new value}}
    fsdp.write %3, @mean : tensor<4xf32>
    %4 = aten.sum %2 [0, 1] : (tensor<1x4xf32>) -> tensor<f32>
    fsdp.record_loss %4 : tensor<f32>
    return
  }
}

// -----

// What is copied into the buffer does not depend on it.
module @copied_into_a_window {
  fsdp.buffer @queue : tensor<4xf32>
  func.func @step(%x: tensor<2xf32>) {
    fsdp.begin forward
    %0 = fsdp.read @queue : tensor<4xf32>
    %1 = aten.mul %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %2 = aten.slice %0 dim 0 [2:4] : (tensor<4xf32>) -> tensor<2xf32>
    %3 = aten.cat %1, %2 dim 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
    // expected-error@+1 {{E0224: forward changes buffer 'queue' and may use its new value}}
    fsdp.write %3, @queue : tensor<4xf32>
    %4 = aten.sum %1 [0] : (tensor<2xf32>) -> tensor<f32>
    fsdp.record_loss %4 : tensor<f32>
    return
  }
}

// -----

// It was used between two changes, of which an export has the last.
module @between_two_changes {
  fsdp.buffer @b : tensor<f32>
  func.func @step(%x: tensor<f32>) {
    fsdp.begin forward
    %0 = fsdp.read @b : tensor<f32>
    %1 = aten.mul.Scalar %0, 0.5 : f32 : (tensor<f32>) -> tensor<f32>
    %2 = aten.add %1, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
    // expected-error@+1 {{E0224: forward changes buffer 'b' and may use its new value}}
    fsdp.write %2, @b : tensor<f32>
    %3 = aten.mul %1, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
    fsdp.record_loss %3 : tensor<f32>
    return
  }
}

// -----

module @computed_statistics {
  fsdp.buffer @mean : tensor<2xf32>
  fsdp.buffer @var : tensor<2xf32>
  func.func @step(%x: tensor<4x2xf32>) {
    fsdp.begin forward
    %mean = fsdp.read @mean : tensor<2xf32>
    %var = fsdp.read @var : tensor<2xf32>
    %sum = aten.add %mean, %var : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    // expected-error@+1 {{E0224: 'aten.batch_norm' normalizes with batch statistics although it has running statistics, which it does not update; an export made in training mode does not show whether evaluation does the same}}
    %0:5 = aten.batch_norm %x running(%sum, %var) {training = true, momentum = 0.1, eps = 1.0e-5} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
    %1 = aten.sum %0#0 [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
    fsdp.record_loss %1 : tensor<f32>
    return
  }
}

// -----

module @statistics_that_stay {
  fsdp.buffer @mean : tensor<2xf32>
  fsdp.buffer @var : tensor<2xf32>
  func.func @step(%x: tensor<4x2xf32>) {
    fsdp.begin forward
    %mean = fsdp.read @mean : tensor<2xf32>
    %var = fsdp.read @var : tensor<2xf32>
    // expected-error@+1 {{E0224: 'aten.batch_norm' normalizes with batch statistics although it has running statistics, which it does not update}}
    %0:5 = aten.batch_norm %x running(%mean, %var) {training = true, momentum = 0.1, eps = 1.0e-5} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
    fsdp.write %0#1, @mean : tensor<2xf32>
    %1 = aten.sum %0#0 [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
    fsdp.record_loss %1 : tensor<f32>
    return
  }
}

// -----

// What the export helper saw in eval mode.
module @branch_of_training attributes {shardc.no_evaluation = "in eval mode the module computes something else"} {
  // expected-error@+1 {{E0224: the export helper found that in eval mode the module computes something else}}
  func.func @step(%x: tensor<f32>) {
    fsdp.begin forward
    fsdp.record_loss %x : tensor<f32>
    return
  }
}

// -----

// The weight of an evaluation may be clipped, or not.
module @clipped_weight {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 4 shard 4 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%x: tensor<4xf32>) {
    fsdp.begin forward
    %root = fsdp.unshard @root : <@root>
    %w = fsdp.view %root[@w] : <@root> -> tensor<4xf32>
    %0 = aten.clamp %w {max = 1.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error@+1 {{E0224: forward changes parameter 'w' and may use its new value}}
    fsdp.write %0, @w : tensor<4xf32>
    %1 = aten.sum %0 [0] : (tensor<4xf32>) -> tensor<f32>
    fsdp.record_loss %1 : tensor<f32>
    return
  }
}
