// RUN: RandomPrograms --replay=%s
// A reduction over no dimensions had no loop to reduce (K2).
// policy: --world-size 2 --lr 0.10 --seed 410
module @program {
  fsdp.parameter @h.1.weight1 : tensor<12x8xf32>
  func.func @forward(%arg0: tensor<2x1x7x3xf32> {shardc.name = "input0"}, %arg1: tensor<2xi64> {shardc.name = "input2"}) -> tensor<f32> {
    %0 = aten.view %arg0 [14, 3] : (tensor<2x1x7x3xf32>) -> tensor<14x3xf32>
    %1 = aten.sum %0 [] {keepdim = true} : (tensor<14x3xf32>) -> tensor<14x3xf32>
    %2 = aten.view %1 [1, 14, 3] : (tensor<14x3xf32>) -> tensor<1x14x3xf32>
    %3 = aten.view %1 [1, 14, 3] : (tensor<14x3xf32>) -> tensor<1x14x3xf32>
    %4 = aten.constant dense<0.000000e+00> : tensor<1x14x3xf32>
    %5 = aten.cat %2, %3, %4 dim 0 : (tensor<1x14x3xf32>, tensor<1x14x3xf32>, tensor<1x14x3xf32>) -> tensor<3x14x3xf32>
    %weight1 = fsdp.read @h.1.weight1 : tensor<12x8xf32>
    %6 = aten.embedding %weight1, %arg1 : (tensor<12x8xf32>, tensor<2xi64>) -> tensor<2x8xf32>
    %7 = aten.mean %6 [0, 1] : (tensor<2x8xf32>) -> tensor<f32>
    return %7 : tensor<f32>
  }
}
