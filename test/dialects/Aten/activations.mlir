// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// Activations keep the type.
// CHECK-LABEL: @of_one_tensor
//       CHECK:   aten.silu %{{.*}} : (tensor<2x3xf32>) -> tensor<2x3xf32>
//       CHECK:   aten.hardswish %{{.*}} : (tensor<2x3xf32>) -> tensor<2x3xf32>
//       CHECK:   aten.hardsigmoid %{{.*}} : (tensor<2x3xf32>) -> tensor<2x3xf32>
//       CHECK:   aten.mish %{{.*}} : (tensor<2x3xf32>) -> tensor<2x3xf32>
//       CHECK:   aten.log_sigmoid %{{.*}} : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @of_one_tensor(%x: tensor<2x3xf32>) {
  %0 = aten.silu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = aten.hardswish %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = aten.hardsigmoid %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = aten.mish %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = aten.log_sigmoid %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// Their parameters are attributes.
// CHECK-LABEL: @with_parameters
//       CHECK:   aten.leaky_relu %{{.*}} {negative_slope = 1.000000e-02 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
//       CHECK:   aten.elu %{{.*}} {alpha = 1.000000e+00 : f64, input_scale = 1.000000e+00 : f64, scale = 1.000000e+00 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
//       CHECK:   aten.softplus %{{.*}} {beta = 1.000000e+00 : f64, threshold = 2.000000e+01 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @with_parameters(%x: tensor<2x3xf32>) {
  %0 = aten.leaky_relu %x {negative_slope = 1.000000e-02 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = aten.elu %x {alpha = 1.000000e+00 : f64, input_scale = 1.000000e+00 : f64, scale = 1.000000e+00 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = aten.softplus %x {beta = 1.000000e+00 : f64, threshold = 2.000000e+01 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// One slope, or one a channel.
// CHECK-LABEL: @learned_slopes
//       CHECK:   aten.prelu %{{.*}}, %{{.*}} : (tensor<2x3x4xf32>, tensor<1xf32>) -> tensor<2x3x4xf32>
//       CHECK:   aten.prelu %{{.*}}, %{{.*}} : (tensor<2x3x4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
func.func @learned_slopes(%x: tensor<2x3x4xf32>, %one: tensor<1xf32>, %many: tensor<3xf32>) {
  %0 = aten.prelu %x, %one : (tensor<2x3x4xf32>, tensor<1xf32>) -> tensor<2x3x4xf32>
  %1 = aten.prelu %x, %many : (tensor<2x3x4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}

// Along a dimension; a 0-d tensor has dimension 0.
// CHECK-LABEL: @softmax
//       CHECK:   aten.softmax %{{.*}} dim 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
//       CHECK:   aten.log_softmax %{{.*}} dim 0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
//       CHECK:   aten.softmax %{{.*}} dim 0 : (tensor<f32>) -> tensor<f32>
func.func @softmax(%x: tensor<2x3xf32>, %s: tensor<f32>) {
  %0 = aten.softmax %x dim 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = aten.log_softmax %x dim 0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = aten.softmax %s dim 0 : (tensor<f32>) -> tensor<f32>
  return
}
