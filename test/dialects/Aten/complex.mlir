// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// Complex numbers as pairs and back.

// CHECK-LABEL: @pairs
//       CHECK:   aten.view_as_complex %{{.*}} : (tensor<3x2xf32>) -> tensor<3xcomplex<f32>>
//       CHECK:   aten.view_as_real %{{.*}} : (tensor<3xcomplex<f32>>) -> tensor<3x2xf32>
func.func @pairs(%x: tensor<3x2xf32>) {
  %0 = aten.view_as_complex %x : (tensor<3x2xf32>) -> tensor<3xcomplex<f32>>
  %1 = aten.view_as_real %0 : (tensor<3xcomplex<f32>>) -> tensor<3x2xf32>
  return
}
