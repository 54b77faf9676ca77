// RUN: shardc-opt %s --split-input-file --shardc-differentiate | FileCheck %s

// The recorded value is not reduced to a scalar, which keeps the cases small: its
// gradient is a constant of its own shape.

// Backward takes the mean and the reciprocal standard deviation of forward.
// CHECK-LABEL: module @layer_norm
//       CHECK:   %[[WEIGHT:.*]] = fsdp.view {{.*}}[@weight]
//       CHECK:   %[[X:.*]] = fsdp.view {{.*}}[@x]
//       CHECK:   %[[Y:.*]], %[[MEAN:.*]], %[[RSTD:.*]] = aten.layer_norm
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[D_X:.*]], %[[D_WEIGHT:.*]], %[[D_BIAS:.*]] = aten.native_layer_norm_backward %[[ONE]], %[[X]], %[[MEAN]], %[[RSTD]] weight(%[[WEIGHT]]) {normalized_shape = array<i64: 8>}
//  CHECK-SAME:   -> (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>)
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@x, @bias, @weight](%[[D_X]], %[[D_BIAS]], %[[D_WEIGHT]])
module @layer_norm {
  fsdp.parameter @weight : tensor<8xf32>
  fsdp.parameter @bias : tensor<8xf32>
  fsdp.parameter @x : tensor<2x3x8xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 80 shard 80 {
      fsdp.member @weight at 0
      fsdp.member @bias at 16
      fsdp.member @x at 32
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %weight = fsdp.view %root[@weight] : !fsdp.unsharded<@root> -> tensor<8xf32>
    %bias = fsdp.view %root[@bias] : !fsdp.unsharded<@root> -> tensor<8xf32>
    %x = fsdp.view %root[@x] : !fsdp.unsharded<@root> -> tensor<2x3x8xf32>
    %y, %mean, %rstd = aten.layer_norm %x weight(%weight) bias(%bias) {normalized_shape = array<i64: 8>, eps = 1.0e-5 : f64}
        : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>)
    fsdp.record_loss %y : tensor<2x3x8xf32>
    return
  }
}

// -----

// The operator still gives three gradients; the bias's has no use.
// CHECK-LABEL: module @layer_norm_without_bias
//       CHECK:   %{{.*}}, %[[D_WEIGHT:.*]], %{{.*}} = aten.native_layer_norm_backward
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@weight](%[[D_WEIGHT]])
module @layer_norm_without_bias {
  fsdp.parameter @weight : tensor<8xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @weight at 0
    }
  }
  func.func @step(%x: tensor<2x8xf32>) {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %weight = fsdp.view %root[@weight] : !fsdp.unsharded<@root> -> tensor<8xf32>
    %y, %mean, %rstd = aten.layer_norm %x weight(%weight) {normalized_shape = array<i64: 8>, eps = 1.0e-5 : f64}
        : (tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
    fsdp.record_loss %y : tensor<2x8xf32>
    return
  }
}

// -----

// Backward takes what forward normalized with. The running statistics are state,
// not parameters: they have no gradient.
// CHECK-LABEL: module @batch_norm
//       CHECK:   %[[WEIGHT:.*]] = fsdp.view {{.*}}[@weight]
//       CHECK:   %[[X:.*]] = fsdp.view {{.*}}[@x]
//       CHECK:   %{{.*}}, %{{.*}}, %{{.*}}, %[[MEAN:.*]], %[[INVSTD:.*]] = aten.batch_norm
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[D_X:.*]], %[[D_WEIGHT:.*]], %[[D_BIAS:.*]] = aten.native_batch_norm_backward %[[ONE]], %[[X]], %[[MEAN]], %[[INVSTD]] weight(%[[WEIGHT]]) {training = true}
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@x, @bias, @weight](%[[D_X]], %[[D_BIAS]], %[[D_WEIGHT]])
module @batch_norm {
  fsdp.parameter @weight : tensor<3xf32>
  fsdp.parameter @bias : tensor<3xf32>
  fsdp.parameter @x : tensor<2x3x4x4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 128 shard 128 {
      fsdp.member @weight at 0
      fsdp.member @bias at 16
      fsdp.member @x at 32
    }
  }
  func.func @step(%running_mean: tensor<3xf32>, %running_var: tensor<3xf32>) {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %weight = fsdp.view %root[@weight] : !fsdp.unsharded<@root> -> tensor<3xf32>
    %bias = fsdp.view %root[@bias] : !fsdp.unsharded<@root> -> tensor<3xf32>
    %x = fsdp.view %root[@x] : !fsdp.unsharded<@root> -> tensor<2x3x4x4xf32>
    %y, %mean, %var, %save_mean, %save_invstd = aten.batch_norm %x running(%running_mean, %running_var) weight(%weight) bias(%bias)
        {training = true, momentum = 0.1 : f64, eps = 1.0e-5 : f64}
        : (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
        -> (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
    fsdp.record_loss %y : tensor<2x3x4x4xf32>
    return
  }
}
