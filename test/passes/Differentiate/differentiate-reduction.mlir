// RUN: shardc-opt %s --split-input-file --shardc-differentiate | FileCheck %s

// The recorded value is not reduced to a scalar, which keeps the cases small: its
// gradient is a constant of its own shape.

// Every summed element receives the gradient.
// CHECK-LABEL: module @sum
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[COLUMN:.*]] = aten.view %[[ONE]] [2, 1]
//  CHECK-NEXT:   %[[D_W:.*]] = aten.expand %[[COLUMN]] [2, 3]
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@w](%[[D_W]])
module @sum {
  fsdp.parameter @w : tensor<2x3xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<2x3xf32>
    %y = aten.sum %w [1] : (tensor<2x3xf32>) -> tensor<2xf32>
    fsdp.record_loss %y : tensor<2xf32>
    return
  }
}

// -----

// The dimensions are there already under `keepdim`.
// CHECK-LABEL: module @sum_keepdim
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[D_W:.*]] = aten.expand %[[ONE]] [2, 3]
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@w](%[[D_W]])
module @sum_keepdim {
  fsdp.parameter @w : tensor<2x3xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<2x3xf32>
    %y = aten.sum %w [1] {keepdim = true} : (tensor<2x3xf32>) -> tensor<2x1xf32>
    fsdp.record_loss %y : tensor<2x1xf32>
    return
  }
}

// -----

// The gradient of a mean is divided by the number of elements: here 2 * 4.
// CHECK-LABEL: module @mean
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[SCALED:.*]] = aten.mul.Scalar %[[ONE]], 1.250000e-01
//  CHECK-NEXT:   %[[KEPT:.*]] = aten.view %[[SCALED]] [1, 3, 1]
//  CHECK-NEXT:   %[[D_W:.*]] = aten.expand %[[KEPT]] [2, 3, 4]
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@w](%[[D_W]])
module @mean {
  fsdp.parameter @w : tensor<2x3x4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 32 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<2x3x4xf32>
    %y = aten.mean %w [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
    fsdp.record_loss %y : tensor<3xf32>
    return
  }
}
