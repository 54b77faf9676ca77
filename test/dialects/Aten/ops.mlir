// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// Every operator of the dialect, in the order of the operator families.

//===----------------------------------------------------------------------===//
// Point-wise operators
//===----------------------------------------------------------------------===//

// CHECK-LABEL: @add_sub_mul
//       CHECK:   aten.add %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
//       CHECK:   aten.sub %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
//       CHECK:   aten.mul %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @add_sub_mul(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
  %0 = aten.add %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = aten.sub %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %2 = aten.mul %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @scalars
//       CHECK:   aten.add.Scalar %{{.*}}, 5.000000e-01 : f64 : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.mul.Scalar %{{.*}}, 2 : i64 : (tensor<4xi64>) -> tensor<4xi64>
func.func @scalars(%x: tensor<4xbf16>, %y: tensor<4xi64>) {
  %0 = aten.add.Scalar %x, 0.5 : f64 : (tensor<4xbf16>) -> tensor<4xbf16>
  %1 = aten.mul.Scalar %y, 2 : i64 : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// The approximation is printed when it is not the default.
// CHECK-LABEL: @activations
//       CHECK:   aten.relu %{{.*}} : (tensor<4xf32>) -> tensor<4xf32>
//       CHECK:   aten.threshold_backward %{{.*}}, %{{.*}} {threshold = 0.000000e+00 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
//       CHECK:   aten.gelu %{{.*}} : (tensor<4xf32>) -> tensor<4xf32>
//       CHECK:   aten.gelu %{{.*}} {approximate = #aten.gelu_approximation<tanh>} : (tensor<4xf32>) -> tensor<4xf32>
//       CHECK:   aten.gelu_backward %{{.*}}, %{{.*}} {approximate = #aten.gelu_approximation<tanh>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
func.func @activations(%x: tensor<4xf32>) {
  %0 = aten.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.threshold_backward %x, %0 {threshold = 0.0 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = aten.gelu %x {approximate = #aten.gelu_approximation<none>} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = aten.gelu %x {approximate = #aten.gelu_approximation<tanh>} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = aten.gelu_backward %x, %x {approximate = #aten.gelu_approximation<tanh>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: @conversion
//       CHECK:   aten.to %{{.*}} bf16 : (tensor<4xf32>) -> tensor<4xbf16>
//       CHECK:   aten.to.other %{{.*}} as %{{.*}} : (tensor<4xf32>, tensor<2x3xbf16>) -> tensor<4xbf16>
func.func @conversion(%x: tensor<4xf32>, %other: tensor<2x3xbf16>) {
  %0 = aten.to %x bf16 : (tensor<4xf32>) -> tensor<4xbf16>
  %1 = aten.to.other %x as %other : (tensor<4xf32>, tensor<2x3xbf16>) -> tensor<4xbf16>
  return
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

// CHECK-LABEL: @reductions
//       CHECK:   aten.sum %{{.*}} [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
//       CHECK:   aten.mean %{{.*}} [1] {keepdim = true} : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>
func.func @reductions(%x: tensor<2x3x4xf32>) {
  %0 = aten.sum %x [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
  %1 = aten.mean %x [1] {keepdim = true} : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>
  return
}

//===----------------------------------------------------------------------===//
// Look-ups and constants
//===----------------------------------------------------------------------===//

// CHECK-LABEL: @embedding
//       CHECK:   aten.embedding %{{.*}}, %{{.*}} : (tensor<10x8xf32>, tensor<2x3xi64>) -> tensor<2x3x8xf32>
//       CHECK:   aten.embedding %{{.*}}, %{{.*}} {padding_idx = 0 : i64}
//       CHECK:   aten.embedding_dense_backward %{{.*}}, %{{.*}} : (tensor<2x3x8xf32>, tensor<2x3xi64>) -> tensor<10x8xf32>
func.func @embedding(%table: tensor<10x8xf32>, %indices: tensor<2x3xi64>) {
  %0 = aten.embedding %table, %indices : (tensor<10x8xf32>, tensor<2x3xi64>) -> tensor<2x3x8xf32>
  %1 = aten.embedding %table, %indices {padding_idx = 0 : i64} : (tensor<10x8xf32>, tensor<2x3xi64>) -> tensor<2x3x8xf32>
  %2 = aten.embedding_dense_backward %0, %indices : (tensor<2x3x8xf32>, tensor<2x3xi64>) -> tensor<10x8xf32>
  return
}

// CHECK-LABEL: @constant
//       CHECK:   aten.constant dense<[0, 1, 2]> : tensor<3xi64>
func.func @constant() {
  %0 = aten.constant dense<[0, 1, 2]> : tensor<3xi64>
  return
}
