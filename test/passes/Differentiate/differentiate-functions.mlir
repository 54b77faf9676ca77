// RUN: shardc-opt %s --split-input-file --shardc-differentiate | FileCheck %s

// What takes several operations is computed in f32 and rounded once, and the
// result is used again where it says all there is to say.
// CHECK-LABEL: module @sigmoid_of_bf16
//       CHECK:     %[[Y:.*]] = aten.sigmoid
//       CHECK:     fsdp.begin backward
//       CHECK:     %[[WIDE:.*]] = aten.to %[[Y]] f32
//       CHECK:     %[[NEGATIVE:.*]] = aten.mul.Scalar %[[WIDE]], -1.000000e+00 : f32
//  CHECK-NEXT:     %[[REST:.*]] = aten.add.Scalar %[[NEGATIVE]], 1.000000e+00 : f32
//  CHECK-NEXT:     %[[SLOPE:.*]] = aten.mul %[[REST]], %[[WIDE]]
//       CHECK:     %[[D_X:.*]] = aten.mul %{{.*}}, %[[SLOPE]]
//  CHECK-NEXT:     aten.to %[[D_X]] bf16
module @sigmoid_of_bf16 {
  fsdp.parameter @w : tensor<8xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <param = bf16, reduce = f32> reshard default {
    fsdp.segment bf16 reduce f32 elements 8 shard 8 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<8xbf16>
    %y = aten.sigmoid %w : (tensor<8xbf16>) -> tensor<8xbf16>
    %loss = aten.sum %y [0] : (tensor<8xbf16>) -> tensor<bf16>
    fsdp.record_loss %loss : tensor<bf16>
    return
  }
}

// -----

// No gradient passes at a bound or beyond; operands that were broadcast
// get the sum of their uses.
// CHECK-LABEL: module @clamp_and_where
//       CHECK:     fsdp.begin backward
//       CHECK:     %[[INSIDE:.*]] = aten.lt.Scalar %{{.*}}, 2.000000e+00
//       CHECK:     aten.where %[[INSIDE]]
//       CHECK:     %[[CHOSEN:.*]] = aten.where %arg0, %{{.*}}, %{{.*}} : (tensor<4xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
//       CHECK:     aten.sum %[[CHOSEN]] [0]
module @clamp_and_where {
  fsdp.parameter @w : tensor<1xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%c: tensor<4xi1>, %x: tensor<4xf32>) {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<1xf32>
    %0 = aten.where %c, %w, %x : (tensor<4xi1>, tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = aten.clamp %0 {max = 2.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
    %loss = aten.sum %1 [0] : (tensor<4xf32>) -> tensor<f32>
    fsdp.record_loss %loss : tensor<f32>
    return
  }
}
