// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// Pooling.

// CHECK-LABEL: @pooling
//       CHECK:   aten.max_pool2d_with_indices %{{.*}} {dilation = array<i64: 1, 1>, kernel_size = array<i64: 3, 3>, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>}
//  CHECK-SAME:     -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
//       CHECK:   aten.max_pool2d_with_indices_backward %{{.*}}, %{{.*}} {{.*}} -> tensor<1x2x8x8xf32>
//       CHECK:   aten.adaptive_avg_pool2d %{{.*}} [2, 1] : (tensor<1x2x8x8xf32>) -> tensor<1x2x2x1xf32>
//       CHECK:   aten.adaptive_avg_pool2d_backward %{{.*}} : (tensor<1x2x2x1xf32>) -> tensor<1x2x8x8xf32>
func.func @pooling(%x: tensor<1x2x8x8xf32>) {
  %0, %indices = aten.max_pool2d_with_indices %x
      {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>}
      : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  %1 = aten.max_pool2d_with_indices_backward %0, %indices
      {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>}
      : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>) -> tensor<1x2x8x8xf32>
  %2 = aten.adaptive_avg_pool2d %x [2, 1] : (tensor<1x2x8x8xf32>) -> tensor<1x2x2x1xf32>
  %3 = aten.adaptive_avg_pool2d_backward %2 : (tensor<1x2x2x1xf32>) -> tensor<1x2x8x8xf32>
  return
}

// With ceil_mode the last window reaches over the end.
// CHECK-LABEL: @pools_with_ceil_mode
//       CHECK:   aten.max_pool2d_with_indices %{{.*}} {ceil_mode = true, {{.*}} -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
//       CHECK:   aten.avg_pool2d %{{.*}} {ceil_mode = true, count_include_pad = false, divisor_override = 3 : i64, {{.*}} -> tensor<1x2x4x4xf32>
func.func @pools_with_ceil_mode(%x: tensor<1x2x8x8xf32>) {
  %0:2 = aten.max_pool2d_with_indices %x
      {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, ceil_mode = true}
      : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  %1 = aten.avg_pool2d %x
      {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, ceil_mode = true, count_include_pad = false, divisor_override = 3 : i64}
      : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
  return
}

// CHECK-LABEL: @pools_of_volumes
//       CHECK:   aten.max_pool3d_with_indices %{{.*}} -> (tensor<1x2x2x2x2xf32>, tensor<1x2x2x2x2xi64>)
//       CHECK:   aten.avg_pool3d %{{.*}} -> tensor<1x2x2x2x2xf32>
//       CHECK:   aten.adaptive_avg_pool3d %{{.*}} [3, 1, 1] : (tensor<1x2x4x4x4xf32>) -> tensor<1x2x3x1x1xf32>
//       CHECK:   aten.adaptive_max_pool3d %{{.*}} [3, 1, 1] : (tensor<1x2x4x4x4xf32>) -> (tensor<1x2x3x1x1xf32>, tensor<1x2x3x1x1xi64>)
func.func @pools_of_volumes(%x: tensor<1x2x4x4x4xf32>) {
  %0:2 = aten.max_pool3d_with_indices %x
      {kernel_size = array<i64: 2, 2, 2>, stride = array<i64: 2, 2, 2>, padding = array<i64: 0, 0, 0>, dilation = array<i64: 1, 1, 1>}
      : (tensor<1x2x4x4x4xf32>) -> (tensor<1x2x2x2x2xf32>, tensor<1x2x2x2x2xi64>)
  %1 = aten.avg_pool3d %x
      {kernel_size = array<i64: 2, 2, 2>, stride = array<i64: 2, 2, 2>, padding = array<i64: 0, 0, 0>}
      : (tensor<1x2x4x4x4xf32>) -> tensor<1x2x2x2x2xf32>
  %2 = aten.adaptive_avg_pool3d %x [3, 1, 1] : (tensor<1x2x4x4x4xf32>) -> tensor<1x2x3x1x1xf32>
  %3:2 = aten.adaptive_max_pool3d %x [3, 1, 1] : (tensor<1x2x4x4x4xf32>) -> (tensor<1x2x3x1x1xf32>, tensor<1x2x3x1x1xi64>)
  return
}

// CHECK-LABEL: @adaptive_max_pool2d
//       CHECK:   aten.adaptive_max_pool2d %{{.*}} [3, 2] : (tensor<1x2x8x8xf32>) -> (tensor<1x2x3x2xf32>, tensor<1x2x3x2xi64>)
func.func @adaptive_max_pool2d(%x: tensor<1x2x8x8xf32>) {
  %0:2 = aten.adaptive_max_pool2d %x [3, 2] : (tensor<1x2x8x8xf32>) -> (tensor<1x2x3x2xf32>, tensor<1x2x3x2xi64>)
  return
}
