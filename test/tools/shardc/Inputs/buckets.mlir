module @buckets {
  fsdp.parameter @e.weight : tensor<8x4xf32>
  func.func @forward(%x: tensor<4x3xf32> {shardc.name = "x"}) -> tensor<f32> {
    %0 = aten.mul.Scalar %x, 8.000000e+00 : f64 : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %1 = aten.to %0 i64 : (tensor<4x3xf32>) -> tensor<4x3xi64>
    %weight = fsdp.read @e.weight : tensor<8x4xf32>
    %2 = aten.embedding %weight, %1 : (tensor<8x4xf32>, tensor<4x3xi64>) -> tensor<4x3x4xf32>
    %3 = aten.mul %2, %2 : (tensor<4x3x4xf32>, tensor<4x3x4xf32>) -> tensor<4x3x4xf32>
    %4 = aten.mean %3 [0, 1, 2] : (tensor<4x3x4xf32>) -> tensor<f32>
    return %4 : tensor<f32>
  }
}
