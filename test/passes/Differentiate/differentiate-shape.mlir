// RUN: shardc-opt %s --split-input-file --shardc-differentiate | FileCheck %s

// The recorded value is not reduced to a scalar, which keeps the cases small: its
// gradient is a constant of its own shape.

// CHECK-LABEL: module @view
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[D_W:.*]] = aten.view %[[ONE]] [2, 6]
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@w](%[[D_W]])
module @view {
  fsdp.parameter @w : tensor<2x6xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<2x6xf32>
    %y = aten.view %w [3, 4] : (tensor<2x6xf32>) -> tensor<3x4xf32>
    fsdp.record_loss %y : tensor<3x4xf32>
    return
  }
}

// -----

// The gradient is permuted by the inverse, [2, 0, 1].
// CHECK-LABEL: module @permute
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[D_W:.*]] = aten.permute %[[ONE]] [2, 0, 1] : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@w](%[[D_W]])
module @permute {
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
    %y = aten.permute %w [1, 2, 0] : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
    fsdp.record_loss %y : tensor<3x4x2xf32>
    return
  }
}

// -----

// What was repeated is summed.
// CHECK-LABEL: module @expand
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[SUM:.*]] = aten.sum %[[ONE]] [0, 2]
//  CHECK-NEXT:   %[[D_W:.*]] = aten.view %[[SUM]] [3, 1]
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@w](%[[D_W]])
module @expand {
  fsdp.parameter @w : tensor<3x1xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<3x1xf32>
    %y = aten.expand %w [2, 3, 4] : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
    fsdp.record_loss %y : tensor<2x3x4xf32>
    return
  }
}

// -----

// Elements outside of the slice have a gradient of zero.
// CHECK-LABEL: module @slice
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[D_W:.*]] = aten.slice_backward %[[ONE]] into [2, 6] dim 1{{ ?}}[1 : 4] : (tensor<2x3xf32>) -> tensor<2x6xf32>
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@w](%[[D_W]])
module @slice {
  fsdp.parameter @w : tensor<2x6xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<2x6xf32>
    %y = aten.slice %w dim 1 [1 : 4] : (tensor<2x6xf32>) -> tensor<2x3xf32>
    fsdp.record_loss %y : tensor<2x3xf32>
    return
  }
}

// -----

// Each tensor receives its piece.
// CHECK-LABEL: module @cat
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[D_A:.*]] = aten.slice %[[ONE]] dim 0{{ ?}}[0 : 2]
//  CHECK-NEXT:   %[[D_B:.*]] = aten.slice %[[ONE]] dim 0{{ ?}}[2 : 5]
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@b, @a](%[[D_B]], %[[D_A]])
module @cat {
  fsdp.parameter @a : tensor<2xf32>
  fsdp.parameter @b : tensor<3xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 32 {
      fsdp.member @a at 0
      fsdp.member @b at 16
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %a = fsdp.view %root[@a] : !fsdp.unsharded<@root> -> tensor<2xf32>
    %b = fsdp.view %root[@b] : !fsdp.unsharded<@root> -> tensor<3xf32>
    %y = aten.cat %a, %b dim 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
    fsdp.record_loss %y : tensor<5xf32>
    return
  }
}

// -----

// A tensor that depends on no parameter is passed over, not cut out.
// CHECK-LABEL: module @cat_with_an_input
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[D_W:.*]] = aten.slice %[[ONE]] dim 0{{ ?}}[2 : 5]
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@w](%[[D_W]])
module @cat_with_an_input {
  fsdp.parameter @w : tensor<3xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%x: tensor<2xf32>) {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<3xf32>
    %y = aten.cat %x, %w dim 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
    fsdp.record_loss %y : tensor<5xf32>
    return
  }
}
