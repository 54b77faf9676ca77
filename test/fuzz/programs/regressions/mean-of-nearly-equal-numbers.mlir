// RUN: RandomPrograms --replay=%s
// A normalization rounds the mean that it subtracts, by 4e-5 of what is left
// here, and for both elements alike: no rounding of its operands does that.
// PyTorch in f32 is off by as much.
// policy: --world-size 2
module @program {
  fsdp.parameter @bias : tensor<1xf32>
  func.func @forward(%arg0: tensor<2xf32> {shardc.name = "input0"}) -> tensor<f32> {
    %bias = fsdp.read @bias : tensor<1xf32>
    %0 = aten.constant dense<[1.636592268, 1.633672238]> : tensor<2xf32>
    %1 = aten.mul.Scalar %arg0, 0.000000e+00 : f32 : (tensor<2xf32>) -> tensor<2xf32>
    %2 = aten.mul.Scalar %bias, 0.000000e+00 : f32 : (tensor<1xf32>) -> tensor<1xf32>
    %3 = aten.add %0, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %4 = aten.add %3, %2 : (tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32>
    %result, %mean, %rstd = aten.layer_norm %4 weight(%3) {eps = 1.000000e-05 : f64, normalized_shape = array<i64: 2>} : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<1xf32>, tensor<1xf32>)
    %5 = aten.sum %result [0] : (tensor<2xf32>) -> tensor<f32>
    return %5 : tensor<f32>
  }
}
