// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// Linear layers and matrix products.

// CHECK-LABEL: @linear
//       CHECK:   aten.linear %{{.*}}, %{{.*}} : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
//       CHECK:   aten.linear %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<2x4xf32>
//       CHECK:   aten.linear_backward_input %{{.*}}, %{{.*}} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
//       CHECK:   aten.linear_backward_weight %{{.*}}, %{{.*}} : (tensor<2x4xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
func.func @linear(%x: tensor<2x8xf32>, %weight: tensor<4x8xf32>, %bias: tensor<4xf32>) {
  %0 = aten.linear %x, %weight : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  %1 = aten.linear %x, %weight, %bias : (tensor<2x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = aten.linear_backward_input %1, %weight : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %3 = aten.linear_backward_weight %1, %x : (tensor<2x4xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  return
}

// The batches broadcast; the element type may be any.
// CHECK-LABEL: @matmul
//       CHECK:   aten.matmul %{{.*}}, %{{.*}} : (tensor<5x1x2x3xi64>, tensor<4x3x6xi64>) -> tensor<5x4x2x6xi64>
func.func @matmul(%x: tensor<5x1x2x3xi64>, %y: tensor<4x3x6xi64>) {
  %0 = aten.matmul %x, %y : (tensor<5x1x2x3xi64>, tensor<4x3x6xi64>) -> tensor<5x4x2x6xi64>
  return
}

// CHECK-LABEL: @grouped_mm
//       CHECK:   aten.grouped_mm %{{.*}}, %{{.*}}, %{{.*}} : (tensor<8x4xbf16>, tensor<3x4x5xbf16>, tensor<3xi32>) -> tensor<8x5xbf16>
func.func @grouped_mm(%x: tensor<8x4xbf16>, %weight: tensor<3x4x5xbf16>, %offs: tensor<3xi32>) {
  %0 = aten.grouped_mm %x, %weight, %offs : (tensor<8x4xbf16>, tensor<3x4x5xbf16>, tensor<3xi32>) -> tensor<8x5xbf16>
  return
}

// CHECK-LABEL: @grouped_mm_backward_mat2
//       CHECK:   aten.grouped_mm_backward_mat2 %{{.*}}, %{{.*}}, %{{.*}} : (tensor<8x5xbf16>, tensor<8x4xbf16>, tensor<3xi32>) -> tensor<3x4x5xf32>
func.func @grouped_mm_backward_mat2(%d_y: tensor<8x5xbf16>, %x: tensor<8x4xbf16>, %offs: tensor<3xi32>) {
  %0 = aten.grouped_mm_backward_mat2 %d_y, %x, %offs : (tensor<8x5xbf16>, tensor<8x4xbf16>, tensor<3xi32>) -> tensor<3x4x5xf32>
  return
}
