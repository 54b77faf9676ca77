// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// Views, pieces and joins.

// CHECK-LABEL: @views
//       CHECK:   aten.view %{{.*}} [3, 2] : (tensor<2x3xf32>) -> tensor<3x2xf32>
//       CHECK:   aten.permute %{{.*}} [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
//       CHECK:   aten.expand %{{.*}} [4, 2, 3] : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
//       CHECK:   aten.slice %{{.*}} dim 1 [1 : 3] : (tensor<2x3xf32>) -> tensor<2x2xf32>
//       CHECK:   aten.slice_backward %{{.*}} into [2, 3] dim 1 [1 : 3] : (tensor<2x2xf32>) -> tensor<2x3xf32>
//       CHECK:   aten.cat %{{.*}}, %{{.*}} dim 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
func.func @views(%x: tensor<2x3xf32>) {
  %0 = aten.view %x [3, 2] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = aten.permute %x [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %2 = aten.expand %x [4, 2, 3] : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
  %3 = aten.slice %x dim 1 [1 : 3] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  %4 = aten.slice_backward %3 into [2, 3] dim 1 [1 : 3] : (tensor<2x2xf32>) -> tensor<2x3xf32>
  %5 = aten.cat %x, %x dim 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

// A step other than one is printed behind the bounds.
// CHECK-LABEL: @slices_with_steps
//       CHECK:   aten.slice %{{.*}} dim 0 [1 : 6 : 2] : (tensor<6xf32>) -> tensor<3xf32>
//       CHECK:   aten.slice_backward %{{.*}} into [6] dim 0 [1 : 6 : 2] : (tensor<3xf32>) -> tensor<6xf32>
//       CHECK:   aten.slice_scatter %{{.*}}, %{{.*}} dim 0 [1 : 6 : 2] : (tensor<6xf32>, tensor<3xf32>) -> tensor<6xf32>
func.func @slices_with_steps(%x: tensor<6xf32>) {
  %0 = aten.slice %x dim 0 [1 : 6 : 2] : (tensor<6xf32>) -> tensor<3xf32>
  %1 = aten.slice_backward %0 into [6] dim 0 [1 : 6 : 2] : (tensor<3xf32>) -> tensor<6xf32>
  %2 = aten.slice_scatter %x, %0 dim 0 [1 : 6 : 2] : (tensor<6xf32>, tensor<3xf32>) -> tensor<6xf32>
  return
}

// Pads list the last dimension first; negative ones remove elements.
// CHECK-LABEL: @pads
//       CHECK:   aten.pad %{{.*}} [1, -1, 0, 2] {value = 5.000000e-01 : f64} : (tensor<2x3xf32>) -> tensor<4x3xf32>
//       CHECK:   aten.pad %{{.*}} [2, 0] {mode = #aten.pad_mode<reflect>} : (tensor<2x3xf32>) -> tensor<2x5xf32>
func.func @pads(%x: tensor<2x3xf32>) {
  %0 = aten.pad %x [1, -1, 0, 2] {mode = #aten.pad_mode<constant>, value = 0.5 : f64} : (tensor<2x3xf32>) -> tensor<4x3xf32>
  %1 = aten.pad %x [2, 0] {mode = #aten.pad_mode<reflect>} : (tensor<2x3xf32>) -> tensor<2x5xf32>
  return
}

// The second diagonal of a matrix, read and written.
// CHECK-LABEL: @strided_windows
//       CHECK:   aten.as_strided %{{.*}} [2] stride [4] offset 1 : (tensor<3x3xi64>) -> tensor<2xi64>
//       CHECK:   aten.as_strided_scatter %{{.*}}, %{{.*}} [2] stride [4] offset 1 : (tensor<3x3xi64>, tensor<2xi64>) -> tensor<3x3xi64>
func.func @strided_windows(%x: tensor<3x3xi64>) {
  %0 = aten.as_strided %x [2] stride [4] offset 1 : (tensor<3x3xi64>) -> tensor<2xi64>
  %1 = aten.as_strided_scatter %x, %0 [2] stride [4] offset 1 : (tensor<3x3xi64>, tensor<2xi64>) -> tensor<3x3xi64>
  return
}

// CHECK-LABEL: @col2im
//       CHECK:   aten.col2im %{{.*}} {{.*}} : (tensor<2x12x9xf32>) -> tensor<2x3x4x4xf32>
func.func @col2im(%x: tensor<2x12x9xf32>) {
  %0 = aten.col2im %x {output_size = array<i64: 4, 4>, kernel_size = array<i64: 2, 2>, dilation = array<i64: 1, 1>, padding = array<i64: 0, 0>, stride = array<i64: 1, 1>} : (tensor<2x12x9xf32>) -> tensor<2x3x4x4xf32>
  return
}
