// RUN: shardc-opt %s --split-input-file --shardc-differentiate | FileCheck %s

// The gradient of a complex number is that of its real part plus i times that of
// its imaginary part. The recorded value is not reduced to a scalar, which keeps
// the cases small: its gradient is a constant of its own shape.

// A factor's gradient is multiplied by the conjugate of the other factor.
// CHECK-LABEL: module @mul
//       CHECK:   %[[TURN:.*]] = aten.constant dense<(0.000000e+00,1.000000e+00)>
//       CHECK:   fsdp.begin backward
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00> : tensor<4x2xf32>
//  CHECK-NEXT:   %[[D_Y:.*]] = aten.view_as_complex %[[ONE]]
//  CHECK-NEXT:   %[[SIGNS:.*]] = aten.constant dense<[1.000000e+00, -1.000000e+00]>
//  CHECK-NEXT:   %[[PAIRS:.*]] = aten.view_as_real %[[TURN]]
//  CHECK-NEXT:   %[[TURNED_BACK:.*]] = aten.mul %[[PAIRS]], %[[SIGNS]]
//  CHECK-NEXT:   %[[CONJUGATE:.*]] = aten.view_as_complex %[[TURNED_BACK]]
//  CHECK-NEXT:   %[[D_C:.*]] = aten.mul %[[D_Y]], %[[CONJUGATE]]
//  CHECK-NEXT:   %[[D_W:.*]] = aten.view_as_real %[[D_C]]
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@w](%[[D_W]])
module @mul {
  fsdp.parameter @w : tensor<4x2xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<4x2xf32>
    %turn = aten.constant dense<(0.0, 1.0)> : tensor<4xcomplex<f32>>
    %c = aten.view_as_complex %w : (tensor<4x2xf32>) -> tensor<4xcomplex<f32>>
    %d = aten.mul %c, %turn : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %y = aten.view_as_real %d : (tensor<4xcomplex<f32>>) -> tensor<4x2xf32>
    fsdp.record_loss %y : tensor<4x2xf32>
    return
  }
}

// -----

// A real factor's gradient is the real part.
// CHECK-LABEL: module @real_factor
//       CHECK:   %[[PRODUCT:.*]] = aten.mul %{{.*}} : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
//  CHECK-NEXT:   %[[D_W:.*]] = aten.to %[[PRODUCT]] f32 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@w](%[[D_W]])
module @real_factor {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<4xf32>
    %turn = aten.constant dense<(0.0, 1.0)> : tensor<4xcomplex<f32>>
    %d = aten.mul %w, %turn : (tensor<4xf32>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %y = aten.view_as_real %d : (tensor<4xcomplex<f32>>) -> tensor<4x2xf32>
    fsdp.record_loss %y : tensor<4x2xf32>
    return
  }
}

// -----

// The number of mul.Scalar is real.
// CHECK-LABEL: module @sub
//       CHECK:   %[[MINUS:.*]] = aten.mul.Scalar %{{.*}}, -1.000000e+00 : f32 : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
//  CHECK-NEXT:   aten.view_as_real %[[MINUS]]
module @sub {
  fsdp.parameter @w : tensor<4x2xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<4x2xf32>
    %one = aten.constant dense<(1.0, 0.0)> : tensor<4xcomplex<f32>>
    %c = aten.view_as_complex %w : (tensor<4x2xf32>) -> tensor<4xcomplex<f32>>
    %d = aten.sub %one, %c : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %y = aten.view_as_real %d : (tensor<4xcomplex<f32>>) -> tensor<4x2xf32>
    fsdp.record_loss %y : tensor<4x2xf32>
    return
  }
}
