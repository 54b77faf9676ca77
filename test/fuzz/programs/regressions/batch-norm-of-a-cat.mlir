// RUN: RandomPrograms --replay=%s
// A cat inside a fused kernel gave batch_norm other statistics than unfused.
// policy: --world-size 2 --param-dtype bf16 --micro-batches 2 --seed 121 --check fusion
module @program {
  fsdp.parameter @h.1.mlp.weight : tensor<4x1x3x3xf32>
  fsdp.buffer @mlp.num_batches_tracked : tensor<i64>
  fsdp.parameter @mlp.bias : tensor<1xf32>
  fsdp.buffer @mlp.running_mean : tensor<1xf32>
  fsdp.buffer @mlp.running_var : tensor<1xf32>
  fsdp.parameter @bias : tensor<5xf32>
  func.func @forward(%arg0: tensor<1xf32> {shardc.name = "input0"}, %arg1: tensor<1x4x9x3xf32> {shardc.name = "input1"}) -> tensor<f32> {
    %0 = aten.add %arg0, %arg0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %1 = aten.add %0, %0 {shardc.modules = [{path = "h.0", type = "Block"}]} : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %weight = fsdp.read @h.1.mlp.weight {shardc.modules = [{path = "h.1", type = "Block"}, {path = "h.1.mlp", type = "Inner"}]} : tensor<4x1x3x3xf32>
    %2 = aten.convolution %arg1, %weight {dilation = array<i64: 1, 1>, groups = 4 : i64, padding = array<i64: 2, 0>, shardc.modules = [{path = "h.1", type = "Block"}, {path = "h.1.mlp", type = "Inner"}], stride = array<i64: 1, 1>} : (tensor<1x4x9x3xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x11x1xf32>
    %3 = aten.view %2 [1, 1, 4, 11, 1] {shardc.modules = [{path = "h.1", type = "Block"}]} : (tensor<1x4x11x1xf32>) -> tensor<1x1x4x11x1xf32>
    %4 = aten.view %2 [1, 1, 4, 11, 1] {shardc.modules = [{path = "h.1", type = "Block"}]} : (tensor<1x4x11x1xf32>) -> tensor<1x1x4x11x1xf32>
    %5 = aten.expand %arg0 [1, 4, 11, 1] {shardc.modules = [{path = "h.1", type = "Block"}]} : (tensor<1xf32>) -> tensor<1x4x11x1xf32>
    %6 = aten.cat %3, %4 dim 0 {shardc.modules = [{path = "h.1", type = "Block"}]} : (tensor<1x1x4x11x1xf32>, tensor<1x1x4x11x1xf32>) -> tensor<2x1x4x11x1xf32>
    %7 = aten.expand %1 [2, 1, 4, 11, 1] {shardc.modules = [{path = "h.1", type = "Block"}, {path = "h.1.fc", type = "Inner"}]} : (tensor<1xf32>) -> tensor<2x1x4x11x1xf32>
    %8 = aten.mul %7, %6 {shardc.modules = [{path = "h.1", type = "Block"}, {path = "h.1.fc", type = "Inner"}]} : (tensor<2x1x4x11x1xf32>, tensor<2x1x4x11x1xf32>) -> tensor<2x1x4x11x1xf32>
    %9 = aten.constant dense<0> : tensor<i64>
    %bias = fsdp.read @mlp.bias {shardc.modules = [{path = "mlp", type = "Inner"}]} : tensor<1xf32>
    %running_mean = fsdp.read @mlp.running_mean {shardc.modules = [{path = "mlp", type = "Inner"}]} : tensor<1xf32>
    %running_var = fsdp.read @mlp.running_var {shardc.modules = [{path = "mlp", type = "Inner"}]} : tensor<1xf32>
    %result, %new_running_mean, %new_running_var, %save_mean, %save_invstd = aten.batch_norm %8 running(%running_mean, %running_var) weight(%bias) {eps = 1.000000e-05 : f64, momentum = 3.000000e-01 : f64, shardc.modules = [{path = "mlp", type = "Inner"}], training = true} : (tensor<2x1x4x11x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> (tensor<2x1x4x11x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>)
    %10 = aten.mean %result [0, 1, 2, 3, 4] : (tensor<2x1x4x11x1xf32>) -> tensor<f32>
    return %10 : tensor<f32>
  }
}
