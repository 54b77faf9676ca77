// RUN: RandomPrograms --replay=%s
// log(1 + e) and log-sum-exp less a logit keep no digit of a loss below 1e-7.
// policy: --world-size 2
module @program {
  fsdp.parameter @weight : tensor<3xf32>
  func.func @forward(%arg0: tensor<4x3xf32> {shardc.name = "input0"}) -> tensor<f32> {
    %weight = fsdp.read @weight : tensor<3xf32>
    %0 = aten.mul %arg0, %weight : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %1 = aten.mul.Scalar %0, 1.000000e-02 : f32 : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %2 = aten.constant dense<[[32.0, 0.0, 3.0], [0.0, 33.0, -2.0], [1.0, 0.0, 35.0], [0.0, 37.0, 1.0]]> : tensor<4x3xf32>
    %3 = aten.add %1, %2 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    %4 = aten.constant dense<[0, 1, 2, 1]> : tensor<4xi64>
    %loss, %log_sum_exp, %total_weight = aten.cross_entropy_loss %3, %4 {ignore_index = -100 : i64, reduction = #aten.reduction<sum>} : (tensor<4x3xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
    return %loss : tensor<f32>
  }
}
