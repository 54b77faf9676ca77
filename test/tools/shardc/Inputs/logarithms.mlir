module @logarithms {
  fsdp.parameter @weight : tensor<4xf32>
  func.func @forward(%x: tensor<3x4xf32> {shardc.name = "x"}) -> tensor<f32> {
    %weight = fsdp.read @weight : tensor<4xf32>
    %0 = aten.mul.Scalar %x, 2.000000e+00 : f64 : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %1 = aten.log %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %2 = aten.mul %1, %weight : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
    %3 = aten.mean %2 [0, 1] : (tensor<3x4xf32>) -> tensor<f32>
    return %3 : tensor<f32>
  }
}
