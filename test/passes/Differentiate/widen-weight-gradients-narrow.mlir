// RUN: shardc-opt %s '--shardc-widen-weight-gradients=narrow=true' | FileCheck %s

// PyTorch adds up the gradients of a tied parameter, then converts them.
// CHECK-LABEL: @tied
//       CHECK:   %[[D_HEAD:.*]] = aten.linear_backward_weight {{.*}} -> tensor<4x8xbf16>
//       CHECK:   %[[SUM:.*]] = aten.add %[[D_HEAD]], %arg2 : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
//  CHECK-NEXT:   %[[WIDE:.*]] = aten.to %[[SUM]] f32 : (tensor<4x8xbf16>) -> tensor<4x8xf32>
//  CHECK-NEXT:   return %[[WIDE]]
func.func @tied(%d_y: tensor<2x4xbf16>, %x: tensor<2x8xbf16>, %d_table: tensor<4x8xbf16>) -> tensor<4x8xf32> {
  %0 = aten.linear_backward_weight %d_y, %x : (tensor<2x4xbf16>, tensor<2x8xbf16>) -> tensor<4x8xbf16>
  %1 = aten.to %0 f32 : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %2 = aten.to %d_table f32 : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %3 = aten.add %1, %2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// A conversion that something else reads stays.
// CHECK-LABEL: @read_twice
//       CHECK:   aten.add {{.*}} -> tensor<4xf32>
func.func @read_twice(%a: tensor<4xbf16>, %b: tensor<4xbf16>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = aten.to %a f32 : (tensor<4xbf16>) -> tensor<4xf32>
  %1 = aten.to %b f32 : (tensor<4xbf16>) -> tensor<4xf32>
  %2 = aten.add %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %2 : tensor<4xf32>, tensor<4xf32>
}
