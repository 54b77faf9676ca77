// RUN: RandomPrograms --replay=%s
// Booleans that every head reads, of which some rows see nothing; a learned bias
// that samples share, under grouped queries; and the least number where a
// boolean is false, as Hugging Face writes masks.
// policy: --world-size 2 --lr 0.01 --seed 7
module @program {
  fsdp.parameter @queries : tensor<2x4x6x8xf32>
  fsdp.parameter @bias : tensor<4x6x6xf32>
  func.func @forward(%keys: tensor<2x2x6x8xf32> {shardc.name = "input0"}, %values: tensor<2x2x6x5xf32> {shardc.name = "input1"}, %seen: tensor<2x1x6x6xi64> {shardc.name = "input2"}) -> tensor<f32> {
    %queries = fsdp.read @queries : tensor<2x4x6x8xf32>
    %bias = fsdp.read @bias : tensor<4x6x6xf32>
    %mask = aten.eq.Scalar %seen, 0 : i64 : (tensor<2x1x6x6xi64>) -> tensor<2x1x6x6xi1>
    %y, %0 = aten.scaled_dot_product_attention %queries, %keys, %values mask(%mask) {is_causal = true, scale = 3.000000e-01 : f64} : (tensor<2x4x6x8xf32>, tensor<2x2x6x8xf32>, tensor<2x2x6x5xf32>, tensor<2x1x6x6xi1>) -> (tensor<2x4x6x5xf32>, tensor<2x4x6xf32>)
    %z, %1 = aten.scaled_dot_product_attention %y, %values, %keys mask(%bias) {is_causal = false, scale = 4.000000e-01 : f64} : (tensor<2x4x6x5xf32>, tensor<2x2x6x5xf32>, tensor<2x2x6x8xf32>, tensor<4x6x6xf32>) -> (tensor<2x4x6x8xf32>, tensor<2x4x6xf32>)
    %zero = aten.constant dense<0.000000e+00> : tensor<f32>
    %least = aten.constant dense<-3.40282347E+38> : tensor<f32>
    %numbers = aten.where %mask, %zero, %least : (tensor<2x1x6x6xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x6x6xf32>
    %u, %2 = aten.scaled_dot_product_attention %z, %keys, %keys mask(%numbers) {is_causal = false, scale = 5.000000e-01 : f64} : (tensor<2x4x6x8xf32>, tensor<2x2x6x8xf32>, tensor<2x2x6x8xf32>, tensor<2x1x6x6xf32>) -> (tensor<2x4x6x8xf32>, tensor<2x4x6xf32>)
    %square = aten.mul %u, %u : (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
    %loss = aten.mean %square [0, 1, 2, 3] : (tensor<2x4x6x8xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
