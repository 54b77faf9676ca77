// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// Reduced dimensions go, or stay with size 1.
// CHECK-LABEL: @over_dimensions
//       CHECK:   aten.sum %{{.*}} [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
//       CHECK:   aten.mean %{{.*}} [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
//       CHECK:   aten.prod %{{.*}} [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
//       CHECK:   aten.amax %{{.*}} [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
//       CHECK:   aten.amin %{{.*}} [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
//       CHECK:   aten.logsumexp %{{.*}} [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
//       CHECK:   aten.sum %{{.*}} [1] {keepdim = true} : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>
//       CHECK:   aten.sum %{{.*}} [] : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
//       CHECK:   aten.var %{{.*}} [2] {correction = 1.000000e+00 : f64} : (tensor<2x3x4xf32>) -> tensor<2x3xf32>
func.func @over_dimensions(%x: tensor<2x3x4xf32>) {
  %0 = aten.sum %x [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
  %1 = aten.mean %x [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
  %2 = aten.prod %x [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
  %3 = aten.amax %x [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
  %4 = aten.amin %x [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
  %5 = aten.logsumexp %x [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
  %6 = aten.sum %x [1] {keepdim = true} : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>
  %7 = aten.sum %x [] : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %8 = aten.var %x [2] {correction = 1.000000e+00 : f64} : (tensor<2x3x4xf32>) -> tensor<2x3xf32>
  return
}

// Sums and products of integers and booleans are i64, extremes keep the type.
// CHECK-LABEL: @of_integers
//       CHECK:   aten.sum %{{.*}} [0, 1] : (tensor<2x3xi1>) -> tensor<i64>
//       CHECK:   aten.prod %{{.*}} [0] : (tensor<2x3xi8>) -> tensor<3xi64>
//       CHECK:   aten.amax %{{.*}} [1] : (tensor<2x3xi8>) -> tensor<2xi8>
func.func @of_integers(%x: tensor<2x3xi1>, %y: tensor<2x3xi8>) {
  %0 = aten.sum %x [0, 1] : (tensor<2x3xi1>) -> tensor<i64>
  %1 = aten.prod %y [0] : (tensor<2x3xi8>) -> tensor<3xi64>
  %2 = aten.amax %y [1] : (tensor<2x3xi8>) -> tensor<2xi8>
  return
}

// any and all are booleans, and ui8 for ui8 as in PyTorch.
// CHECK-LABEL: @truth
//       CHECK:   aten.any %{{.*}} [0] : (tensor<2x3xf32>) -> tensor<3xi1>
//       CHECK:   aten.all %{{.*}} [0, 1] : (tensor<2x3xui8>) -> tensor<ui8>
func.func @truth(%x: tensor<2x3xf32>, %y: tensor<2x3xui8>) {
  %0 = aten.any %x [0] : (tensor<2x3xf32>) -> tensor<3xi1>
  %1 = aten.all %y [0, 1] : (tensor<2x3xui8>) -> tensor<ui8>
  return
}

// Indices alone, or values and indices.
// CHECK-LABEL: @places_of_extremes
//       CHECK:   aten.argmax %{{.*}} dim 1 : (tensor<2x3xf32>) -> tensor<2xi64>
//       CHECK:   aten.argmin %{{.*}} dim 0 {keepdim = true} : (tensor<2x3xf32>) -> tensor<1x3xi64>
//       CHECK:   aten.max.dim %{{.*}} dim 1 : (tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2xi64>)
//       CHECK:   aten.min.dim %{{.*}} dim 0 : (tensor<2x3xf32>) -> (tensor<3xf32>, tensor<3xi64>)
func.func @places_of_extremes(%x: tensor<2x3xf32>) {
  %0 = aten.argmax %x dim 1 : (tensor<2x3xf32>) -> tensor<2xi64>
  %1 = aten.argmin %x dim 0 {keepdim = true} : (tensor<2x3xf32>) -> tensor<1x3xi64>
  %2:2 = aten.max.dim %x dim 1 : (tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2xi64>)
  %3:2 = aten.min.dim %x dim 0 : (tensor<2x3xf32>) -> (tensor<3xf32>, tensor<3xi64>)
  return
}

// Running sums and products.
// CHECK-LABEL: @scans
//       CHECK:   aten.cumsum %{{.*}} dim 0 : (tensor<4xi1>) -> tensor<4xi64>
//       CHECK:   aten.cumprod %{{.*}} dim 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @scans(%x: tensor<2x3xf32>, %y: tensor<4xi1>) {
  %0 = aten.cumsum %y dim 0 : (tensor<4xi1>) -> tensor<4xi64>
  %1 = aten.cumprod %x dim 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
