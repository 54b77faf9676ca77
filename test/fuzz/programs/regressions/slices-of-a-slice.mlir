// RUN: RandomPrograms --replay=%s
// The gradient of pieces of pieces is a cat inside a fused kernel.
// policy: --world-size 2 --seed 43
module @program {
  fsdp.parameter @bias : tensor<1xf32>
  func.func @forward(%arg0: tensor<3xf32> {shardc.name = "input0"}) -> tensor<f32> {
    %bias = fsdp.read @bias : tensor<1xf32>
    %0 = aten.mul %arg0, %bias : (tensor<3xf32>, tensor<1xf32>) -> tensor<3xf32>
    %1 = aten.slice %0 dim 0 [0 : 1] : (tensor<3xf32>) -> tensor<1xf32>
    %2 = aten.slice %0 dim 0 [1 : 3] : (tensor<3xf32>) -> tensor<2xf32>
    %3 = aten.slice %2 dim 0 [1 : 2] : (tensor<2xf32>) -> tensor<1xf32>
    %4 = aten.mul %1, %3 : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %5 = aten.constant dense<0.000000e+00> : tensor<f32>
    %6 = aten.mean %4 [0] : (tensor<1xf32>) -> tensor<f32>
    %7 = aten.add %5, %6 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %7 : tensor<f32>
  }
}
