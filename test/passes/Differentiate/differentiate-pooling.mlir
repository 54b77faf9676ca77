// RUN: shardc-opt %s --split-input-file --shardc-differentiate | FileCheck %s

// The recorded value is not reduced to a scalar, which keeps the cases small: its
// gradient is a constant of its own shape.

// The gradient goes to where each maximum was found.
// CHECK-LABEL: module @max_pool2d
//       CHECK:   %[[Y:.*]], %[[INDICES:.*]] = aten.max_pool2d_with_indices
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[D_W:.*]] = aten.max_pool2d_with_indices_backward %[[ONE]], %[[INDICES]] {dilation = array<i64: 1, 1>, kernel_size = array<i64: 3, 3>, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>}
//  CHECK-SAME:   -> tensor<1x2x8x8xf32>
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@w](%[[D_W]])
module @max_pool2d {
  fsdp.parameter @w : tensor<1x2x8x8xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 128 shard 128 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<1x2x8x8xf32>
    %y, %indices = aten.max_pool2d_with_indices %w
        {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>}
        : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
    fsdp.record_loss %y : tensor<1x2x4x4xf32>
    return
  }
}

// -----

// The result type says how large each window was.
// CHECK-LABEL: module @adaptive_avg_pool2d
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[D_W:.*]] = aten.adaptive_avg_pool2d_backward %[[ONE]] : (tensor<1x2x1x1xf32>) -> tensor<1x2x8x8xf32>
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@w](%[[D_W]])
module @adaptive_avg_pool2d {
  fsdp.parameter @w : tensor<1x2x8x8xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 128 shard 128 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<1x2x8x8xf32>
    %y = aten.adaptive_avg_pool2d %w [1, 1] : (tensor<1x2x8x8xf32>) -> tensor<1x2x1x1xf32>
    fsdp.record_loss %y : tensor<1x2x1x1xf32>
    return
  }
}
