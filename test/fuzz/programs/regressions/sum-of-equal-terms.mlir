// RUN: RandomPrograms --replay=%s
// The roundings of 200 equal terms are equal and do not cancel.
// policy: --world-size 2
module @program {
  fsdp.parameter @weight : tensor<17x7xf32>
  func.func @forward(%arg0: tensor<200x7xf32> {shardc.name = "input0"}) -> tensor<f32> {
    %weight = fsdp.read @weight : tensor<17x7xf32>
    %0 = aten.constant dense<-1.231470e-01> : tensor<200x7xf32>
    %1 = aten.mul.Scalar %arg0, 0.000000e+00 : f32 : (tensor<200x7xf32>) -> tensor<200x7xf32>
    %2 = aten.add %1, %0 : (tensor<200x7xf32>, tensor<200x7xf32>) -> tensor<200x7xf32>
    %3 = aten.linear %2, %weight : (tensor<200x7xf32>, tensor<17x7xf32>) -> tensor<200x17xf32>
    %4 = aten.mul.Scalar %3, 3.700000e+00 : f32 : (tensor<200x17xf32>) -> tensor<200x17xf32>
    %5 = aten.mean %4 [0, 1] : (tensor<200x17xf32>) -> tensor<f32>
    return %5 : tensor<f32>
  }
}
