// RUN: shardc-opt %s --split-input-file --shardc-differentiate | FileCheck %s

// The recorded value is not reduced to a scalar, which keeps the cases small: its
// gradient is a constant of its own shape.

// A linear layer of a sequence: the bias's gradient is summed over all leading
// dimensions.
// CHECK-LABEL: module @linear
//       CHECK:   %[[WEIGHT:.*]] = fsdp.view {{.*}}[@weight]
//       CHECK:   %[[X:.*]] = fsdp.view {{.*}}[@x]
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[D_X:.*]] = aten.linear_backward_input %[[ONE]], %[[WEIGHT]] : (tensor<2x3x4xf32>, tensor<4x8xf32>) -> tensor<2x3x8xf32>
//  CHECK-NEXT:   %[[D_WEIGHT:.*]] = aten.linear_backward_weight %[[ONE]], %[[X]] : (tensor<2x3x4xf32>, tensor<2x3x8xf32>) -> tensor<4x8xf32>
//  CHECK-NEXT:   %[[D_BIAS:.*]] = aten.sum %[[ONE]] [0, 1] : (tensor<2x3x4xf32>) -> tensor<4xf32>
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@x, @bias, @weight](%[[D_X]], %[[D_BIAS]], %[[D_WEIGHT]])
module @linear {
  fsdp.parameter @weight : tensor<4x8xf32>
  fsdp.parameter @bias : tensor<4xf32>
  fsdp.parameter @x : tensor<2x3x8xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 96 shard 96 {
      fsdp.member @weight at 0
      fsdp.member @bias at 32
      fsdp.member @x at 48
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %weight = fsdp.view %root[@weight] : !fsdp.unsharded<@root> -> tensor<4x8xf32>
    %bias = fsdp.view %root[@bias] : !fsdp.unsharded<@root> -> tensor<4xf32>
    %x = fsdp.view %root[@x] : !fsdp.unsharded<@root> -> tensor<2x3x8xf32>
    %y = aten.linear %x, %weight, %bias : (tensor<2x3x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
    fsdp.record_loss %y : tensor<2x3x4xf32>
    return
  }
}

// -----

// The gradient of an input of the model is never computed.
// CHECK-LABEL: module @linear_without_bias_of_an_input
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[D_WEIGHT:.*]] = aten.linear_backward_weight %[[ONE]], %{{.*}}
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@weight](%[[D_WEIGHT]])
module @linear_without_bias_of_an_input {
  fsdp.parameter @weight : tensor<4x8xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 32 {
      fsdp.member @weight at 0
    }
  }
  func.func @step(%x: tensor<2x8xf32>) {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %weight = fsdp.view %root[@weight] : !fsdp.unsharded<@root> -> tensor<4x8xf32>
    %y = aten.linear %x, %weight : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
    fsdp.record_loss %y : tensor<2x4xf32>
    return
  }
}

// -----

// The bias's gradient is summed over everything but the channels.
// CHECK-LABEL: module @convolution
//       CHECK:   %[[WEIGHT:.*]] = fsdp.view {{.*}}[@weight]
//       CHECK:   %[[X:.*]] = fsdp.view {{.*}}[@x]
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[D_X:.*]] = aten.convolution_backward_input %[[ONE]], %[[WEIGHT]] {dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>} : {{.*}} -> tensor<2x3x8x8xf32>
//  CHECK-NEXT:   %[[D_WEIGHT:.*]] = aten.convolution_backward_weight %[[ONE]], %[[X]] {dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>} : {{.*}} -> tensor<4x3x3x3xf32>
//  CHECK-NEXT:   %[[D_BIAS:.*]] = aten.sum %[[ONE]] [0, 2, 3] : (tensor<2x4x4x4xf32>) -> tensor<4xf32>
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@x, @bias, @weight](%[[D_X]], %[[D_BIAS]], %[[D_WEIGHT]])
module @convolution {
  fsdp.parameter @weight : tensor<4x3x3x3xf32>
  fsdp.parameter @bias : tensor<4xf32>
  fsdp.parameter @x : tensor<2x3x8x8xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 512 shard 512 {
      fsdp.member @weight at 0
      fsdp.member @bias at 112
      fsdp.member @x at 128
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %weight = fsdp.view %root[@weight] : !fsdp.unsharded<@root> -> tensor<4x3x3x3xf32>
    %bias = fsdp.view %root[@bias] : !fsdp.unsharded<@root> -> tensor<4xf32>
    %x = fsdp.view %root[@x] : !fsdp.unsharded<@root> -> tensor<2x3x8x8xf32>
    %y = aten.convolution %x, %weight, %bias
        {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64}
        : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<2x4x4x4xf32>
    fsdp.record_loss %y : tensor<2x4x4x4xf32>
    return
  }
}

// -----

// Rows times one matrix have a linear layer's gradients, which sum over the
// leading dimensions inside of one product.
// CHECK-LABEL: module @rows_times_a_matrix
//       CHECK:   %[[W:.*]] = fsdp.view {{.*}}[@w]
//       CHECK:   %[[X:.*]] = fsdp.view {{.*}}[@x]
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[D_X:.*]] = aten.linear %[[ONE]], %[[W]] : (tensor<2x3x4xf32>, tensor<8x4xf32>) -> tensor<2x3x8xf32>
//  CHECK-NEXT:   %[[D_W:.*]] = aten.linear_backward_weight %[[X]], %[[ONE]] : (tensor<2x3x8xf32>, tensor<2x3x4xf32>) -> tensor<8x4xf32>
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@x, @w](%[[D_X]], %[[D_W]])
module @rows_times_a_matrix {
  fsdp.parameter @w : tensor<8x4xf32>
  fsdp.parameter @x : tensor<2x3x8xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 80 shard 80 {
      fsdp.member @w at 0
      fsdp.member @x at 32
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<8x4xf32>
    %x = fsdp.view %root[@x] : !fsdp.unsharded<@root> -> tensor<2x3x8xf32>
    %y = aten.matmul %x, %w : (tensor<2x3x8xf32>, tensor<8x4xf32>) -> tensor<2x3x4xf32>
    fsdp.record_loss %y : tensor<2x3x4xf32>
    return
  }
}

// -----

// A matrix that is broadcast over a batch gets the sum over the batch.
// CHECK-LABEL: module @matrix_times_a_batch
//       CHECK:   %[[W:.*]] = fsdp.view {{.*}}[@w]
//       CHECK:   %[[X:.*]] = fsdp.view {{.*}}[@x]
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[X_T:.*]] = aten.permute %[[X]] [0, 2, 1]
//  CHECK-NEXT:   %[[EACH:.*]] = aten.matmul %[[ONE]], %[[X_T]] : (tensor<2x3x4xf32>, tensor<2x4x8xf32>) -> tensor<2x3x8xf32>
//  CHECK-NEXT:   %[[D_W:.*]] = aten.sum %[[EACH]] [0]
//  CHECK-NEXT:   %[[W_T:.*]] = aten.permute %[[W]] [1, 0]
//  CHECK-NEXT:   %[[D_X:.*]] = aten.matmul %[[W_T]], %[[ONE]] : (tensor<8x3xf32>, tensor<2x3x4xf32>) -> tensor<2x8x4xf32>
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@x, @w](%[[D_X]], %[[D_W]])
module @matrix_times_a_batch {
  fsdp.parameter @w : tensor<3x8xf32>
  fsdp.parameter @x : tensor<2x8x4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 96 shard 96 {
      fsdp.member @w at 0
      fsdp.member @x at 32
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<3x8xf32>
    %x = fsdp.view %root[@x] : !fsdp.unsharded<@root> -> tensor<2x8x4xf32>
    %y = aten.matmul %w, %x : (tensor<3x8xf32>, tensor<2x8x4xf32>) -> tensor<2x3x4xf32>
    fsdp.record_loss %y : tensor<2x3x4xf32>
    return
  }
}
