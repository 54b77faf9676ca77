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
