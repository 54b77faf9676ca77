// RUN: RandomPrograms --replay=%s
// The gradient of the keys is a difference of equal numbers: rounding is all of it.
// policy: --world-size 2 --lr 0.00 --seed 603
module @program {
  fsdp.parameter @weight : tensor<5x1xf32>
  fsdp.parameter @h.0.weight : tensor<1x3x11x8xf32>
  func.func @forward(%arg0: tensor<1xf32> {shardc.name = "input0"}, %arg1: tensor<1x3x2x8xf32> {shardc.name = "input1"}, %arg2: tensor<1x6xi64> {shardc.name = "input2"}) -> tensor<f32> {
    %weight = fsdp.read @weight : tensor<5x1xf32>
    %0 = aten.linear %arg0, %weight : (tensor<1xf32>, tensor<5x1xf32>) -> tensor<5xf32>
    %1 = aten.sum %0 [0] : (tensor<5xf32>) -> tensor<f32>
    %weight_0 = fsdp.read @h.0.weight : tensor<1x3x11x8xf32>
    %2 = aten.expand %1 [1, 3, 11, 8] : (tensor<f32>) -> tensor<1x3x11x8xf32>
    %result, %log_sum_exp = aten.scaled_dot_product_attention %arg1, %weight_0, %2 {is_causal = false, scale = 4.000000e-01 : f64} : (tensor<1x3x2x8xf32>, tensor<1x3x11x8xf32>, tensor<1x3x11x8xf32>) -> (tensor<1x3x2x8xf32>, tensor<1x3x2xf32>)
    %3 = aten.view %result [6, 8] : (tensor<1x3x2x8xf32>) -> tensor<6x8xf32>
    %4 = aten.view %arg2 [6] : (tensor<1x6xi64>) -> tensor<6xi64>
    %loss, %log_sum_exp_1, %total_weight = aten.cross_entropy_loss %3, %4 {ignore_index = -100 : i64, reduction = #aten.reduction<sum>} : (tensor<6x8xf32>, tensor<6xi64>) -> (tensor<f32>, tensor<6xf32>, tensor<f32>)
    %5 = aten.constant dense<0.000000e+00> : tensor<1x3x11x8xf32>
    %6 = aten.expand %loss [1, 3, 11, 8] : (tensor<f32>) -> tensor<1x3x11x8xf32>
    %result_2, %log_sum_exp_3 = aten.scaled_dot_product_attention %arg1, %5, %6 {is_causal = false, scale = 0.35355339059327373 : f64} : (tensor<1x3x2x8xf32>, tensor<1x3x11x8xf32>, tensor<1x3x11x8xf32>) -> (tensor<1x3x2x8xf32>, tensor<1x3x2xf32>)
    %7 = aten.view %result_2 [3, 2, 8, 1] : (tensor<1x3x2x8xf32>) -> tensor<3x2x8x1xf32>
    %8 = aten.slice %7 dim 2 [7 : 8] : (tensor<3x2x8x1xf32>) -> tensor<3x2x1x1xf32>
    %9 = aten.mean %8 [0, 1, 2, 3] : (tensor<3x2x1x1xf32>) -> tensor<f32>
    %10 = aten.add %1, %9 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %10 : tensor<f32>
  }
}

