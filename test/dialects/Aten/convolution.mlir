// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// Convolutions.

// CHECK-LABEL: @convolution
//       CHECK:   aten.convolution %{{.*}}, %{{.*}}, %{{.*}} {dilation = array<i64: 1, 1>, groups = 2 : i64, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>}
//       CHECK:   aten.convolution_backward_input %{{.*}}, %{{.*}} {{.*}} -> tensor<2x4x8x8xf32>
//       CHECK:   aten.convolution_backward_weight %{{.*}}, %{{.*}} {{.*}} -> tensor<6x2x3x3xf32>
func.func @convolution(%x: tensor<2x4x8x8xf32>, %weight: tensor<6x2x3x3xf32>, %bias: tensor<6xf32>) {
  %0 = aten.convolution %x, %weight, %bias
      {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64}
      : (tensor<2x4x8x8xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<2x6x4x4xf32>
  %1 = aten.convolution_backward_input %0, %weight
      {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64}
      : (tensor<2x6x4x4xf32>, tensor<6x2x3x3xf32>) -> tensor<2x4x8x8xf32>
  %2 = aten.convolution_backward_weight %0, %x
      {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64}
      : (tensor<2x6x4x4xf32>, tensor<2x4x8x8xf32>) -> tensor<6x2x3x3xf32>
  return
}

// CHECK-LABEL: @convolution_of_other_ranks
//       CHECK:   aten.convolution %{{.*}} -> tensor<2x6x4xf32>
//       CHECK:   aten.convolution %{{.*}} -> tensor<2x6x4x4x4xf32>
func.func @convolution_of_other_ranks(%x: tensor<2x4x8xf32>, %v: tensor<6x4x3xf32>, %y: tensor<2x4x8x8x8xf32>, %w: tensor<6x4x3x3x3xf32>) {
  %0 = aten.convolution %x, %v {stride = array<i64: 2>, padding = array<i64: 1>, dilation = array<i64: 1>, groups = 1 : i64} : (tensor<2x4x8xf32>, tensor<6x4x3xf32>) -> tensor<2x6x4xf32>
  %1 = aten.convolution %y, %w {stride = array<i64: 2, 2, 2>, padding = array<i64: 1, 1, 1>, dilation = array<i64: 1, 1, 1>, groups = 1 : i64} : (tensor<2x4x8x8x8xf32>, tensor<6x4x3x3x3xf32>) -> tensor<2x6x4x4x4xf32>
  return
}

// The weight of a transposed convolution has the input's channels first.
// CHECK-LABEL: @transposed_convolution
//       CHECK:   aten.convolution %{{.*}} {{.*}} output_padding = array<i64: 1, 1>, {{.*}} transposed} {{.*}} -> tensor<2x4x8x8xf32>
func.func @transposed_convolution(%x: tensor<2x6x4x4xf32>, %w: tensor<6x2x3x3xf32>) {
  %0 = aten.convolution %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64, transposed, output_padding = array<i64: 1, 1>} : (tensor<2x6x4x4xf32>, tensor<6x2x3x3xf32>) -> tensor<2x4x8x8xf32>
  return
}
