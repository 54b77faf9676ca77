// RUN: RandomPrograms --replay=%s
// A weight of a strided convolution meets padding alone: on processors with AMX its gradient was what a scratchpad held before.
// policy: --world-size 4 --param-dtype bf16 --reshard never --prefetch 3 --momentum 0.90 --threads 4 --seed 791 --check ranks
module @program {
  fsdp.parameter @weight : tensor<2x6x1x9xf32>
  fsdp.parameter @weight1 : tensor<3x6x1x2xf32>
  fsdp.parameter @bias : tensor<3xf32>
  fsdp.parameter @mlp.weight : tensor<6x1x2x2xf32>
  func.func @forward(%arg0: tensor<2xf32> {shardc.name = "input0"}, %arg1: tensor<2x3x1x10xf32> {shardc.name = "input1"}) -> tensor<f32> {
    %0 = aten.mul.Scalar %arg0, 5.000000e+00 : f32 : (tensor<2xf32>) -> tensor<2xf32>
    %weight = fsdp.read @weight : tensor<2x6x1x9xf32>
    %weight1 = fsdp.read @weight1 : tensor<3x6x1x2xf32>
    %bias = fsdp.read @bias : tensor<3xf32>
    %1 = aten.convolution %weight, %weight1, %bias {dilation = array<i64: 1, 1>, groups = 1 : i64, padding = array<i64: 0, 1>, stride = array<i64: 1, 1>} : (tensor<2x6x1x9xf32>, tensor<3x6x1x2xf32>, tensor<3xf32>) -> tensor<2x3x1x10xf32>
    %result, %indices = aten.max_pool2d_with_indices %1 {dilation = array<i64: 1, 1>, kernel_size = array<i64: 1, 3>, padding = array<i64: 0, 0>, stride = array<i64: 2, 1>} : (tensor<2x3x1x10xf32>) -> (tensor<2x3x1x8xf32>, tensor<2x3x1x8xi64>)
    %2 = aten.gelu %1 {approximate = #aten.gelu_approximation<tanh>, shardc.modules = [{path = "norm", type = "Inner"}]} : (tensor<2x3x1x10xf32>) -> tensor<2x3x1x10xf32>
    %3 = aten.mul.Scalar %2, 5.000000e+00 : f32 {shardc.modules = [{path = "norm", type = "Inner"}]} : (tensor<2x3x1x10xf32>) -> tensor<2x3x1x10xf32>
    %4 = aten.sum %3 [0, 2] {keepdim = true, shardc.modules = [{path = "h.0", type = "Block"}]} : (tensor<2x3x1x10xf32>) -> tensor<1x3x1x10xf32>
    %5 = aten.add %3, %arg1 {shardc.modules = [{path = "h.0", type = "Block"}]} : (tensor<2x3x1x10xf32>, tensor<2x3x1x10xf32>) -> tensor<2x3x1x10xf32>
    %6 = aten.view %5 [2, 3, 10] {shardc.modules = [{path = "mlp", type = "Inner"}]} : (tensor<2x3x1x10xf32>) -> tensor<2x3x10xf32>
    %7 = aten.expand %0 [2, 2, 8, 2] {shardc.modules = [{path = "mlp", type = "Inner"}]} : (tensor<2xf32>) -> tensor<2x2x8x2xf32>
    %weight_0 = fsdp.read @mlp.weight {shardc.modules = [{path = "mlp", type = "Inner"}]} : tensor<6x1x2x2xf32>
    %8 = aten.convolution %7, %weight_0 {dilation = array<i64: 1, 1>, groups = 2 : i64, padding = array<i64: 0, 1>, shardc.modules = [{path = "mlp", type = "Inner"}], stride = array<i64: 3, 3>} : (tensor<2x2x8x2xf32>, tensor<6x1x2x2xf32>) -> tensor<2x6x3x1xf32>
    %9 = aten.add.Scalar %6, -1.250000e+00 : f32 {shardc.modules = [{path = "mlp", type = "Inner"}]} : (tensor<2x3x10xf32>) -> tensor<2x3x10xf32>
    %10 = aten.permute %9 [1, 2, 0] {shardc.modules = [{path = "attn", type = "Inner"}]} : (tensor<2x3x10xf32>) -> tensor<3x10x2xf32>
    %11 = aten.gelu %8 {shardc.modules = [{path = "attn", type = "Inner"}]} : (tensor<2x6x3x1xf32>) -> tensor<2x6x3x1xf32>
    %12 = aten.mul.Scalar %11, 5.000000e+00 : f32 {shardc.modules = [{path = "attn", type = "Inner"}]} : (tensor<2x6x3x1xf32>) -> tensor<2x6x3x1xf32>
    %13 = aten.mul %12, %12 : (tensor<2x6x3x1xf32>, tensor<2x6x3x1xf32>) -> tensor<2x6x3x1xf32>
    %14 = aten.mean %13 [0, 1, 2, 3] : (tensor<2x6x3x1xf32>) -> tensor<f32>
    %15 = aten.mul %result, %result : (tensor<2x3x1x8xf32>, tensor<2x3x1x8xf32>) -> tensor<2x3x1x8xf32>
    %16 = aten.mean %15 [0, 1, 2, 3] : (tensor<2x3x1x8xf32>) -> tensor<f32>
    %17 = aten.add %14, %16 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %18 = aten.mul %10, %10 : (tensor<3x10x2xf32>, tensor<3x10x2xf32>) -> tensor<3x10x2xf32>
    %19 = aten.mean %18 [0, 1, 2] : (tensor<3x10x2xf32>) -> tensor<f32>
    %20 = aten.add %17, %19 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %20 : tensor<f32>
  }
}

