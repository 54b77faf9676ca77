// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// Values and where they were.
// CHECK-LABEL: @order
//       CHECK:   aten.sort %{{.*}} dim 1 {descending = true} : (tensor<2x5xf32>) -> (tensor<2x5xf32>, tensor<2x5xi64>)
//       CHECK:   aten.topk %{{.*}} dim 1 {k = 3 : i64} : (tensor<2x5xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
//       CHECK:   aten.topk %{{.*}} dim 0 {k = 1 : i64, largest = false} : (tensor<2x5xf32>) -> (tensor<1x5xf32>, tensor<1x5xi64>)
func.func @order(%x: tensor<2x5xf32>) {
  %0:2 = aten.sort %x dim 1 {descending = true} : (tensor<2x5xf32>) -> (tensor<2x5xf32>, tensor<2x5xi64>)
  %1:2 = aten.topk %x dim 1 {k = 3 : i64} : (tensor<2x5xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  %2:2 = aten.topk %x dim 0 {k = 1 : i64, largest = false} : (tensor<2x5xf32>) -> (tensor<1x5xf32>, tensor<1x5xi64>)
  return
}

// In one sequence for all, or one a row.
// CHECK-LABEL: @look_up
//       CHECK:   aten.searchsorted %{{.*}}, %{{.*}} {right = true} : (tensor<4xf32>, tensor<2x5xf32>) -> tensor<2x5xi64>
//       CHECK:   aten.searchsorted %{{.*}}, %{{.*}} {out_int32 = true} : (tensor<2x4xf32>, tensor<2x5xf32>) -> tensor<2x5xi32>
func.func @look_up(%one: tensor<4xf32>, %rows: tensor<2x4xf32>, %x: tensor<2x5xf32>) {
  %0 = aten.searchsorted %one, %x {right = true} : (tensor<4xf32>, tensor<2x5xf32>) -> tensor<2x5xi64>
  %1 = aten.searchsorted %rows, %x {out_int32 = true} : (tensor<2x4xf32>, tensor<2x5xf32>) -> tensor<2x5xi32>
  return
}

// As many counts as bins.
// CHECK-LABEL: @counts
//       CHECK:   aten.histc %{{.*}} {bins = 4 : i64, max = 1.000000e+00 : f64, min = 0.000000e+00 : f64} : (tensor<7xf32>) -> tensor<4xf32>
func.func @counts(%x: tensor<7xf32>) {
  %0 = aten.histc %x {bins = 4 : i64, max = 1.000000e+00 : f64, min = 0.000000e+00 : f64} : (tensor<7xf32>) -> tensor<4xf32>
  return
}
