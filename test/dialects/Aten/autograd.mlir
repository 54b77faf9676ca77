// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// CHECK-LABEL: @detach
//       CHECK:   aten.detach %{{.*}} : (tensor<4xf32>) -> tensor<4xf32>
func.func @detach(%x: tensor<4xf32>) {
  %0 = aten.detach %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// An argument may have fewer or more elements than the result.
// CHECK-LABEL: @with_slope
//       CHECK:   aten.with_slope %{{.*}} by %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<1xf32>, tensor<f32>) -> tensor<4xf32>
//       CHECK:   aten.with_slope %{{.*}} by %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<4xf32>
func.func @with_slope(%x: tensor<4xf32>, %one: tensor<1xf32>, %many: tensor<3x4xf32>, %slope: tensor<f32>) {
  %0 = aten.with_slope %x by %one, %slope : (tensor<4xf32>, tensor<1xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = aten.with_slope %x by %many, %many : (tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<4xf32>
  return
}
