// RUN: shardc-opt --shardc-decompose-operators %s | FileCheck %s

// A pattern of elements along a dimension is a resampling.
// CHECK-LABEL: @flip
func.func @flip(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK: %[[FLIPPED:.*]] = aten.resample %arg0 dim 1 at [2, 1, 0] {taps = 1 : i64}
  // CHECK: return %[[FLIPPED]]
  %y = aten.flip %x [1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// Means are sums along each dimension, divided by how many elements count.
// CHECK-LABEL: @means_that_leave_padding_out
func.func @means_that_leave_padding_out(%x: tensor<1x1x1x4xf32>) -> tensor<1x1x1x3xf32> {
  // CHECK: %[[SUMS:.*]] = aten.resample %arg0 dim 3 at [0, -1, 1, 2, 3, -1] {taps = 2 : i64}
  // CHECK: %[[COUNTS:.*]] = aten.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00, 1.000000e+00]]>
  // CHECK: aten.div %[[SUMS]], %[[COUNTS]]
  %y = aten.avg_pool2d %x {kernel_size = array<i64: 1, 2>, stride = array<i64: 1, 2>, padding = array<i64: 0, 1>, count_include_pad = false} : (tensor<1x1x1x4xf32>) -> tensor<1x1x1x3xf32>
  return %y : tensor<1x1x1x3xf32>
}

// A composition of bf16 is computed in f32 and rounded once.
// CHECK-LABEL: @upsampled_bf16
func.func @upsampled_bf16(%x: tensor<1x1x2x2xbf16>) -> tensor<1x1x3x3xbf16> {
  // CHECK: %[[WIDE:.*]] = aten.to %arg0 f32
  // CHECK: %[[ROWS:.*]] = aten.resample %[[WIDE]] dim 3
  // CHECK: %[[IMAGE:.*]] = aten.resample %[[ROWS]] dim 2
  // CHECK: aten.to %[[IMAGE]] bf16
  %y = aten.upsample %x [3, 3] {mode = #aten.upsample_mode<linear>, align_corners = true} : (tensor<1x1x2x2xbf16>) -> tensor<1x1x3x3xbf16>
  return %y : tensor<1x1x3x3xbf16>
}

// A convolution over one dimension is one over two; the one over two stays.
// CHECK-LABEL: @convolutions
func.func @convolutions(%x: tensor<1x2x5xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x3xf32> {
  // CHECK: %[[PLANE:.*]] = aten.view %arg0 [1, 2, 1, 5]
  // CHECK: %[[WINDOW:.*]] = aten.view %arg1 [3, 2, 1, 3]
  // CHECK: aten.convolution %[[PLANE]], %[[WINDOW]] {dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 0, 0>, stride = array<i64: 1, 1>}
  %y = aten.convolution %x, %w {stride = array<i64: 1>, padding = array<i64: 0>, dilation = array<i64: 1>, groups = 1 : i64} : (tensor<1x2x5xf32>, tensor<3x2x3xf32>) -> tensor<1x3x3xf32>
  return %y : tensor<1x3x3xf32>
}

// An operator with a derivative and a kernel stays.
// CHECK-LABEL: @what_has_a_derivative_stays
func.func @what_has_a_derivative_stays(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: aten.silu
  // CHECK-NEXT: return
  %y = aten.silu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
