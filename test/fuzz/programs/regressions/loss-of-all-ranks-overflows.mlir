// RUN: RandomPrograms --replay=%s
// The sum of the losses is beyond f32, and so infinite.
// policy: --world-size 4 --param-dtype bf16 --reduce-dtype bf16 --cpu x86-64 --steps 3 --threads 3 --lr 0.00 --seed 787 --check fusion
module @program {
  fsdp.parameter @h.0.bias : tensor<3xf32>
  fsdp.parameter @h.2.mlp.bias : tensor<f32>
  fsdp.parameter frozen @fc.weight : tensor<1x5xf32>
  func.func @forward(%arg0: tensor<3xf32> {shardc.name = "input0"}, %arg1: tensor<3x1x3x5xf32> {shardc.name = "input1"}, %arg2: tensor<3xf32> {shardc.name = "input2"}) -> tensor<f32> {
    %0 = aten.view %arg0 [3] : (tensor<3xf32>) -> tensor<3xf32>
    %1 = aten.relu %0 : (tensor<3xf32>) -> tensor<3xf32>
    %2 = aten.mul.Scalar %1, 5.000000e+00 : f32 : (tensor<3xf32>) -> tensor<3xf32>
    %3 = aten.expand %arg0 [3] {shardc.modules = [{path = "fc", type = "Inner"}]} : (tensor<3xf32>) -> tensor<3xf32>
    %4 = aten.view %3 [3] {shardc.modules = [{path = "h.0", type = "Block"}]} : (tensor<3xf32>) -> tensor<3xf32>
    %5 = aten.sub %3, %3 {shardc.modules = [{path = "h.0", type = "Block"}, {path = "h.0.attn", type = "Inner"}]} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %bias = fsdp.read @h.0.bias {shardc.modules = [{path = "h.0", type = "Block"}]} : tensor<3xf32>
    %6 = aten.add %3, %bias {shardc.modules = [{path = "h.0", type = "Block"}]} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %7 = aten.slice %6 dim 0 [0 : 1] {shardc.modules = [{path = "h.1", type = "Block"}]} : (tensor<3xf32>) -> tensor<1xf32>
    %8 = aten.slice %6 dim 0 [1 : 3] {shardc.modules = [{path = "h.1", type = "Block"}]} : (tensor<3xf32>) -> tensor<2xf32>
    %9 = aten.view %6 [3] {shardc.modules = [{path = "h.1", type = "Block"}, {path = "h.1.attn", type = "Inner"}]} : (tensor<3xf32>) -> tensor<3xf32>
    %10 = aten.sum %9 [0] {keepdim = true, shardc.modules = [{path = "h.1", type = "Block"}, {call = 1 : i64, path = "h.1.attn", type = "Inner"}]} : (tensor<3xf32>) -> tensor<1xf32>
    %11 = aten.expand %10 [3] {shardc.modules = [{path = "h.1", type = "Block"}]} : (tensor<1xf32>) -> tensor<3xf32>
    %12 = aten.add %6, %11 {shardc.modules = [{path = "h.1", type = "Block"}]} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %result, %indices = aten.max_pool2d_with_indices %arg1 {dilation = array<i64: 2, 1>, kernel_size = array<i64: 2, 3>, padding = array<i64: 1, 1>, shardc.modules = [{path = "h.2", type = "Block"}, {path = "h.2.mlp", type = "Inner"}], stride = array<i64: 1, 1>} : (tensor<3x1x3x5xf32>) -> (tensor<3x1x3x5xf32>, tensor<3x1x3x5xi64>)
    %bias_0 = fsdp.read @h.2.mlp.bias {shardc.modules = [{path = "h.2", type = "Block"}, {path = "h.2.mlp", type = "Inner"}]} : tensor<f32>
    %13 = aten.add %result, %bias_0 {shardc.modules = [{path = "h.2", type = "Block"}, {path = "h.2.mlp", type = "Inner"}]} : (tensor<3x1x3x5xf32>, tensor<f32>) -> tensor<3x1x3x5xf32>
    %14 = aten.mul %13, %13 {shardc.modules = [{path = "h.2", type = "Block"}]} : (tensor<3x1x3x5xf32>, tensor<3x1x3x5xf32>) -> tensor<3x1x3x5xf32>
    %weight = fsdp.read @fc.weight {shardc.modules = [{call = 1 : i64, path = "fc", type = "Inner"}]} : tensor<1x5xf32>
    %15 = aten.linear %13, %weight {shardc.modules = [{call = 1 : i64, path = "fc", type = "Inner"}]} : (tensor<3x1x3x5xf32>, tensor<1x5xf32>) -> tensor<3x1x3x1xf32>
    %16 = aten.expand %14 [1, 3, 1, 3, 5] {shardc.modules = [{call = 2 : i64, path = "fc", type = "Inner"}]} : (tensor<3x1x3x5xf32>) -> tensor<1x3x1x3x5xf32>
    %17 = aten.slice %14 dim 2 [0 : 2] {shardc.modules = [{call = 2 : i64, path = "fc", type = "Inner"}]} : (tensor<3x1x3x5xf32>) -> tensor<3x1x2x5xf32>
    %18 = aten.mul %17, %17 {shardc.modules = [{call = 2 : i64, path = "fc", type = "Inner"}]} : (tensor<3x1x2x5xf32>, tensor<3x1x2x5xf32>) -> tensor<3x1x2x5xf32>
    %19 = aten.mul.Scalar %18, 5.000000e+00 : f32 {shardc.modules = [{call = 2 : i64, path = "fc", type = "Inner"}]} : (tensor<3x1x2x5xf32>) -> tensor<3x1x2x5xf32>
    %20 = aten.slice %14 dim 2 [2 : 3] {shardc.modules = [{call = 2 : i64, path = "fc", type = "Inner"}]} : (tensor<3x1x3x5xf32>) -> tensor<3x1x1x5xf32>
    %21 = aten.mul %20, %20 {shardc.modules = [{call = 2 : i64, path = "fc", type = "Inner"}]} : (tensor<3x1x1x5xf32>, tensor<3x1x1x5xf32>) -> tensor<3x1x1x5xf32>
    %22 = aten.mul.Scalar %21, 5.000000e+00 : f32 {shardc.modules = [{call = 2 : i64, path = "fc", type = "Inner"}]} : (tensor<3x1x1x5xf32>) -> tensor<3x1x1x5xf32>
    %23 = aten.mul %22, %22 : (tensor<3x1x1x5xf32>, tensor<3x1x1x5xf32>) -> tensor<3x1x1x5xf32>
    %24 = aten.mean %23 [0, 1, 2, 3] : (tensor<3x1x1x5xf32>) -> tensor<f32>
    %25 = aten.mul %15, %15 : (tensor<3x1x3x1xf32>, tensor<3x1x3x1xf32>) -> tensor<3x1x3x1xf32>
    %26 = aten.mean %25 [0, 1, 2, 3] : (tensor<3x1x3x1xf32>) -> tensor<f32>
    %27 = aten.add %24, %26 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %28 = aten.mul %16, %16 : (tensor<1x3x1x3x5xf32>, tensor<1x3x1x3x5xf32>) -> tensor<1x3x1x3x5xf32>
    %29 = aten.mean %28 [0, 1, 2, 3, 4] : (tensor<1x3x1x3x5xf32>) -> tensor<f32>
    %30 = aten.add %27, %29 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %31 = aten.mul %19, %19 : (tensor<3x1x2x5xf32>, tensor<3x1x2x5xf32>) -> tensor<3x1x2x5xf32>
    %32 = aten.mean %31 [0, 1, 2, 3] : (tensor<3x1x2x5xf32>) -> tensor<f32>
    %33 = aten.add %30, %32 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %34 = aten.mul %8, %8 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %35 = aten.mean %34 [0] : (tensor<2xf32>) -> tensor<f32>
    %36 = aten.add %33, %35 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %37 = aten.mul %12, %arg2 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %38 = aten.mean %37 [0] : (tensor<3xf32>) -> tensor<f32>
    %39 = aten.add %36, %38 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %39 : tensor<f32>
  }
}

