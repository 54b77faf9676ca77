// RUN: shardc-opt %s --split-input-file --shardc-split-complex | FileCheck %s

// Rows of complex numbers: those of real and of imaginary parts.
// CHECK-LABEL: @index_of_complex
//       CHECK:   %[[REAL:.*]] = aten.index %{{.*}} -> tensor<2x3xf32>
//       CHECK:   %[[IMAG:.*]] = aten.index %{{.*}} -> tensor<2x3xf32>
//       CHECK:   %[[PAIRS:.*]] = aten.cat %{{.*}}, %{{.*}} -> tensor<2x3x2xf32>
//       CHECK:   aten.view_as_complex %[[PAIRS]]
func.func @index_of_complex(%z: tensor<4x3xcomplex<f32>>, %i: tensor<2xi64>) -> tensor<2x3xcomplex<f32>> {
  %0 = aten.index %z at %i of [0] : (tensor<4x3xcomplex<f32>>, tensor<2xi64>) -> tensor<2x3xcomplex<f32>>
  return %0 : tensor<2x3xcomplex<f32>>
}

// -----

// What is real among complex operands has an imaginary part of 0; a condition
// is that of both.
// CHECK-LABEL: @where_with_real
//  CHECK-SAME:   %[[MASK:.*]]: tensor<4xi1>
//       CHECK:   aten.where %[[MASK]], %{{.*}}, %[[X:.*]] : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>)
//       CHECK:   %[[ZERO:.*]] = aten.expand
//       CHECK:   aten.where %[[MASK]], %{{.*}}, %[[ZERO]]
func.func @where_with_real(%mask: tensor<4xi1>, %z: tensor<4xcomplex<f32>>, %x: tensor<4xf32>) -> tensor<4xcomplex<f32>> {
  %0 = aten.where %mask, %z, %x : (tensor<4xi1>, tensor<4xcomplex<f32>>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// -----

// Arithmetic stays complex, and so does what real numbers compute.
// CHECK-LABEL: @arithmetic_stays
//       CHECK:   aten.mul {{.*}} -> tensor<4xcomplex<f32>>
//       CHECK:   aten.index {{.*}} -> tensor<2xf32>
func.func @arithmetic_stays(%z: tensor<4xcomplex<f32>>, %x: tensor<4xf32>, %i: tensor<2xi64>) -> (tensor<4xcomplex<f32>>, tensor<2xf32>) {
  %0 = aten.mul %z, %z : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %1 = aten.index %x at %i of [0] : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
  return %0, %1 : tensor<4xcomplex<f32>>, tensor<2xf32>
}
