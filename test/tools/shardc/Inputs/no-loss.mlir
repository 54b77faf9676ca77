module @no_loss {
  fsdp.parameter @weight : tensor<4xf32>
  func.func @forward(%x: tensor<3x4xf32> {shardc.name = "x"}) -> tensor<f32> {
    %weight = fsdp.read @weight : tensor<4xf32>
    %0 = aten.abs %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %1 = aten.mul.Scalar %0, -1.000000e+00 : f64 : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %2 = aten.log %1 : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %3 = aten.mul %2, %weight : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
    %4 = aten.mean %3 [0, 1] : (tensor<3x4xf32>) -> tensor<f32>
    return %4 : tensor<f32>
  }
}
