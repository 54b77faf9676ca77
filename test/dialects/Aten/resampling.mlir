// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// Images under another grid.

// CHECK-LABEL: @upsample
//       CHECK:   aten.upsample %{{.*}} [8] {mode = #aten.upsample_mode<nearest>} : (tensor<2x3x4xui8>) -> tensor<2x3x8xui8>
//       CHECK:   aten.upsample %{{.*}} [6, 5] {align_corners = true, mode = #aten.upsample_mode<linear>} : (tensor<2x3x4x4xf32>) -> tensor<2x3x6x5xf32>
//       CHECK:   aten.upsample %{{.*}} [2, 2] {antialias = true, mode = #aten.upsample_mode<cubic>, scales = array<f64: 5.000000e-01, 5.000000e-01>}
func.func @upsample(%x: tensor<2x3x4xui8>, %y: tensor<2x3x4x4xf32>) {
  %0 = aten.upsample %x [8] {mode = #aten.upsample_mode<nearest>} : (tensor<2x3x4xui8>) -> tensor<2x3x8xui8>
  %1 = aten.upsample %y [6, 5] {mode = #aten.upsample_mode<linear>, align_corners = true} : (tensor<2x3x4x4xf32>) -> tensor<2x3x6x5xf32>
  %2 = aten.upsample %y [2, 2] {mode = #aten.upsample_mode<cubic>, antialias = true, scales = array<f64: 0.5, 0.5>} : (tensor<2x3x4x4xf32>) -> tensor<2x3x2x2xf32>
  return
}

// CHECK-LABEL: @grid_sampler
//       CHECK:   aten.grid_sampler %{{.*}}, %{{.*}} {align_corners = false, interpolation_mode = #aten.grid_interpolation<bilinear>, padding_mode = #aten.grid_padding<border>}
//  CHECK-SAME:     -> tensor<2x3x5x6xf32>
func.func @grid_sampler(%x: tensor<2x3x4x4xf32>, %grid: tensor<2x5x6x2xf32>) {
  %0 = aten.grid_sampler %x, %grid {interpolation_mode = #aten.grid_interpolation<bilinear>, padding_mode = #aten.grid_padding<border>, align_corners = false}
      : (tensor<2x3x4x4xf32>, tensor<2x5x6x2xf32>) -> tensor<2x3x5x6xf32>
  return
}

// Two weighted elements a position, one of which is not there.
// CHECK-LABEL: @resampled
func.func @resampled(%x: tensor<2x3xf32>) -> tensor<2x2xf32> {
  // CHECK: aten.resample %arg0 dim 1 at [0, 1, 2, -1] {taps = 2 : i64, weights = array<f64: 5.000000e-01, 5.000000e-01, 2.000000e+00, 1.000000e+00>}
  %y = aten.resample %x dim 1 at [0, 1, 2, -1] {taps = 2 : i64, weights = array<f64: 0.5, 0.5, 2.0, 1.0>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// Single elements are moved, whatever they are.
// CHECK-LABEL: @moved
func.func @moved(%x: tensor<3xi1>) -> tensor<4xi1> {
  // CHECK: aten.resample %arg0 dim 0 at [2, 1, 0, 0] {taps = 1 : i64}
  %y = aten.resample %x dim 0 at [2, 1, 0, 0] {taps = 1 : i64} : (tensor<3xi1>) -> tensor<4xi1>
  return %y : tensor<4xi1>
}
