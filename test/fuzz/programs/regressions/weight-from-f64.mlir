// RUN: RandomPrograms --replay=%s
// The gradient of a weight that was converted from f64 was written in f64 by a
// product of f32, which no library has.
// policy: --world-size 2
module @program {
  fsdp.parameter @weight : tensor<3x3xf32>
  func.func @forward(%arg0: tensor<2x3xf32> {shardc.name = "input0"}) -> tensor<f32> {
    %w = fsdp.read @weight : tensor<3x3xf32>
    %0 = aten.linear %arg0, %w : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    %1 = aten.to %0 f64 : (tensor<2x3xf32>) -> tensor<2x3xf64>
    %2 = aten.to %1 f32 : (tensor<2x3xf64>) -> tensor<2x3xf32>
    %3 = aten.linear %arg0, %2 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
    %4 = aten.mean %3 [0, 1] {keepdim = false} : (tensor<2x2xf32>) -> tensor<f32>
    return %4 : tensor<f32>
  }
}
