// RUN: shardc-opt %s --shardc-verify-kernels | FileCheck %s

// Rules K1 to K5 hold: a view of an argument, a kernel, a known call.
// CHECK-LABEL: @accepted
func.func @accepted(%x: tensor<3x4xf32>, %w: tensor<3x5xf32>) -> tensor<4x5xf32> {
  %0 = exec.view %x offset 0 strides [1, 4] : tensor<3x4xf32> -> tensor<4x3xf32>
  %1 = exec.library "matmul"(%0, %w) {epilogue = "none", transpose_a = false, transpose_b = false} order [array<i64>] : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  %2 = exec.kernel "double" (%in = %1 : tensor<4x5xf32>) -> tensor<4x5xf32> {
    %empty = tensor.empty() : tensor<4x5xf32>
    %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%in : tensor<4x5xf32>) outs(%empty : tensor<4x5xf32>) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %a : f32
      linalg.yield %s : f32
    } -> tensor<4x5xf32>
    exec.yield %sum : tensor<4x5xf32>
  }
  return %2 : tensor<4x5xf32>
}
