// RUN: RandomPrograms --replay=%s
// 1 + tanh and 1 + erf keep no digit of what is left of them at -4.5.
// policy: --world-size 2
module @program {
  fsdp.parameter @weight : tensor<3xf32>
  func.func @forward(%arg0: tensor<5x3xf32> {shardc.name = "input0"}) -> tensor<f32> {
    %weight = fsdp.read @weight : tensor<3xf32>
    %0 = aten.mul %arg0, %weight : (tensor<5x3xf32>, tensor<3xf32>) -> tensor<5x3xf32>
    %1 = aten.mul.Scalar %0, 1.000000e-02 : f32 : (tensor<5x3xf32>) -> tensor<5x3xf32>
    %2 = aten.add.Scalar %1, -4.500000e+00 : f32 : (tensor<5x3xf32>) -> tensor<5x3xf32>
    %3 = aten.gelu %2 {approximate = #aten.gelu_approximation<none>} : (tensor<5x3xf32>) -> tensor<5x3xf32>
    %4 = aten.mul.Scalar %3, 1.000000e+03 : f32 : (tensor<5x3xf32>) -> tensor<5x3xf32>
    %5 = aten.mul %4, %4 : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    %6 = aten.mean %5 [0, 1] : (tensor<5x3xf32>) -> tensor<f32>
    return %6 : tensor<f32>
  }
}
