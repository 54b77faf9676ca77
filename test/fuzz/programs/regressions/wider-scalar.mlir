// RUN: RandomPrograms --replay=%s
// The kernel of mul did not round a factor without dimensions to bf16.
// policy: --param-dtype bf16 --reduce-dtype f32
module @program {
  fsdp.buffer @cache : tensor<f32>
  fsdp.parameter @weight : tensor<11x2xf32>
  fsdp.parameter @bias : tensor<11xf32>
  fsdp.buffer @history : tensor<8x17x11xf32>
  func.func @forward(%arg0: tensor<8x17x2xf32> {shardc.name = "input0"}) -> tensor<f32> {
    %weight = fsdp.read @weight : tensor<11x2xf32>
    %bias = fsdp.read @bias : tensor<11xf32>
    %cache = fsdp.read @cache : tensor<f32>
    %2 = aten.mul %arg0, %cache : (tensor<8x17x2xf32>, tensor<f32>) -> tensor<8x17x2xf32>
    %3 = aten.linear %2, %weight, %bias : (tensor<8x17x2xf32>, tensor<11x2xf32>, tensor<11xf32>) -> tensor<8x17x11xf32>
    fsdp.write %3, @history : tensor<8x17x11xf32>
    %8 = aten.mean %3 [0, 1, 2] : (tensor<8x17x11xf32>) -> tensor<f32>
    return %8 : tensor<f32>
  }
}
