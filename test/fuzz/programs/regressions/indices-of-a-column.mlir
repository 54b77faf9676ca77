// RUN: RandomPrograms --replay=%s
// Strides of a dimension of size 1 refused the artifact at its own door (E0309).
// policy: --world-size 2 --lr 0.10 --seed 820
module @program {
  fsdp.parameter @weight : tensor<11x2xf32>
  func.func @forward(%arg0: tensor<5x1xi64> {shardc.name = "input1"}) -> tensor<f32> {
    %weight = fsdp.read @weight : tensor<11x2xf32>
    %0 = aten.permute %arg0 [1, 0] : (tensor<5x1xi64>) -> tensor<1x5xi64>
    %1 = aten.embedding %weight, %0 : (tensor<11x2xf32>, tensor<1x5xi64>) -> tensor<1x5x2xf32>
    %2 = aten.to %1 bf16 : (tensor<1x5x2xf32>) -> tensor<1x5x2xbf16>
    %3 = aten.to %2 f32 : (tensor<1x5x2xbf16>) -> tensor<1x5x2xf32>
    %4 = aten.constant dense<0.000000e+00> : tensor<f32>
    %5 = aten.mean %3 [0, 1, 2] : (tensor<1x5x2xf32>) -> tensor<f32>
    %6 = aten.add %4, %5 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %6 : tensor<f32>
  }
}
