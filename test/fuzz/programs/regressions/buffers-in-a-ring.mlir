// RUN: RandomPrograms --replay=%s
// Buffers that take each other's values were written one after the other.
// policy: --world-size 2 --steps 2
module @program {
  fsdp.parameter @weight : tensor<3xf32>
  fsdp.buffer @first : tensor<3xf32>
  fsdp.buffer @second : tensor<3xf32>
  func.func @forward(%arg0: tensor<2x3xf32> {shardc.name = "input"}) -> tensor<f32> {
    %first = fsdp.read @first : tensor<3xf32>
    %second = fsdp.read @second : tensor<3xf32>
    %weight = fsdp.read @weight : tensor<3xf32>
    %0 = aten.mul %arg0, %weight : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %1 = aten.mean %0 [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
    fsdp.write %second, @first : tensor<3xf32>
    fsdp.write %first, @second : tensor<3xf32>
    return %1 : tensor<f32>
  }
}
