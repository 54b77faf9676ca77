// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=x86-64-v3 \
// RUN:   --shardc-materialize-views | FileCheck %s

// A third of the projection, split into heads and transposed, is strides.
// CHECK-LABEL: @split_heads
//  CHECK-SAME: (%[[QKV:.*]]: tensor<2x5x24xf32>)
//  CHECK-NEXT: %[[HEADS:.*]] = exec.view %[[QKV]] offset 8 strides [120, 4, 24, 1] : tensor<2x5x24xf32> -> tensor<2x2x5x4xf32>
//  CHECK-NEXT: return %[[HEADS]]
func.func @split_heads(%qkv: tensor<2x5x24xf32>) -> tensor<2x2x5x4xf32> {
  %0 = aten.slice %qkv dim 2 [8 : 16] : (tensor<2x5x24xf32>) -> tensor<2x5x8xf32>
  %1 = aten.view %0 [2, 5, 2, 4] : (tensor<2x5x8xf32>) -> tensor<2x5x2x4xf32>
  %2 = aten.permute %1 [0, 2, 1, 3] : (tensor<2x5x2x4xf32>) -> tensor<2x2x5x4xf32>
  return %2 : tensor<2x2x5x4xf32>
}

// -----

// Attention stores its result as [B, T, H, D], so that joining the heads is a
// view of it.
// CHECK-LABEL: @join_heads
//       CHECK: %[[OUT:.*]]:2 = exec.library "scaled_dot_product_attention"
//  CHECK-SAME: order [array<i64: 0, 2, 1, 3>, array<i64>]
//   CHECK-NOT: exec.kernel
//       CHECK: exec.view %[[OUT]]#0 offset 0 strides [40, 8, 1] : tensor<2x2x5x4xf32> -> tensor<2x5x8xf32>
func.func @join_heads(%q: tensor<2x2x5x4xf32>) -> tensor<2x5x8xf32> {
  %0, %1 = exec.library "scaled_dot_product_attention"(%q, %q, %q) {is_causal = true, scale = 0.5} order [array<i64>, array<i64>] : (tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>) -> (tensor<2x2x5x4xf32>, tensor<2x2x5xf32>)
  %2 = aten.permute %0 [0, 2, 1, 3] : (tensor<2x2x5x4xf32>) -> tensor<2x5x2x4xf32>
  %3 = aten.view %2 [2, 5, 8] : (tensor<2x5x2x4xf32>) -> tensor<2x5x8xf32>
  return %3 : tensor<2x5x8xf32>
}

// -----

// No strides say the transposed matrix as a vector.
// CHECK-LABEL: @copy_when_strides_cannot
//       CHECK: %[[T:.*]] = exec.view %{{.*}} offset 0 strides [1, 3]
//       CHECK: %[[COPY:.*]] = exec.kernel "copy" (%{{.*}} = %[[T]] : tensor<3x2xf32>)
//       CHECK: exec.view %[[COPY]] offset 0 strides [1] : tensor<3x2xf32> -> tensor<6xf32>
func.func @copy_when_strides_cannot(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %0 = aten.permute %x [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = aten.view %0 [6] : (tensor<3x2xf32>) -> tensor<6xf32>
  return %1 : tensor<6xf32>
}

// -----

// A product reads a transposed matrix as it is, but not one broadcast.
// CHECK-LABEL: @copy_for_a_library
//       CHECK: %[[T:.*]] = exec.view %{{.*}} offset 0 strides [1, 4]
//       CHECK: %[[E:.*]] = exec.view %{{.*}} offset 0 strides [0, 1]
//       CHECK: %[[COPY:.*]] = exec.kernel "copy" (%{{.*}} = %[[E]]
//       CHECK: exec.library "matmul"(%[[T]], %[[COPY]])
func.func @copy_for_a_library(%x: tensor<3x4xf32>, %y: tensor<5xf32>) -> tensor<4x5xf32> {
  %0 = aten.permute %x [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %1 = aten.expand %y [3, 5] : (tensor<5xf32>) -> tensor<3x5xf32>
  %2 = exec.library "matmul"(%0, %1) {epilogue = "none", transpose_a = false, transpose_b = false} order [array<i64>] : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  return %2 : tensor<4x5xf32>
}

// -----

// What is kept or sent is row-major.
// CHECK-LABEL: @copy_for_a_buffer
//       CHECK: %[[T:.*]] = exec.view
//       CHECK: %[[COPY:.*]] = exec.kernel "copy" (%{{.*}} = %[[T]]
//       CHECK: fsdp.write %[[COPY]], @table
fsdp.buffer @table : tensor<4x3xf32>
func.func @copy_for_a_buffer(%x: tensor<3x4xf32>) {
  %0 = aten.permute %x [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
  fsdp.write %0, @table : tensor<4x3xf32>
  return
}

// -----

// A step is part of the strides.
// CHECK-LABEL: @slice_with_a_step
//       CHECK: exec.view %{{.*}} offset 1 strides [6, 2] : tensor<2x6xf32> -> tensor<2x3xf32>
func.func @slice_with_a_step(%x: tensor<2x6xf32>) -> tensor<2x3xf32> {
  %0 = aten.slice %x dim 1 [1 : 6 : 2] : (tensor<2x6xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
