// RUN: RandomPrograms --replay=%s
// Numbers of 16 bits are chosen in f32: there is no instruction, and no function.
// policy: --world-size 2 --param-dtype bf16 --lr 0.001 --seed 411
module @program {
  fsdp.parameter @weight : tensor<1x1xf32>
  func.func @forward(%arg0: tensor<2x13xf32> {shardc.name = "input0"}, %arg1: tensor<2xi64> {shardc.name = "input2"}) -> tensor<f32> {
    %0 = aten.slice %arg0 dim 1 [1 : 12 : 5] : (tensor<2x13xf32>) -> tensor<2x3xf32>
    %weight = fsdp.read @weight : tensor<1x1xf32>
    %1 = aten.view %arg1 [2, 1] : (tensor<2xi64>) -> tensor<2x1xi64>
    %2 = aten.eq.Scalar %1, 0 : i64 : (tensor<2x1xi64>) -> tensor<2x1xi1>
    %3 = aten.where %2, %0, %weight : (tensor<2x1xi1>, tensor<2x3xf32>, tensor<1x1xf32>) -> tensor<2x3xf32>
    %4 = aten.mean %3 [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
    return %4 : tensor<f32>
  }
}

