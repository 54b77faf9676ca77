// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=cuda --shardc-select-libraries | FileCheck %s

// A GPU's library multiplies batches of matrices too, in one call.
// CHECK-LABEL: @batches
//  CHECK-SAME: (%[[X:.*]]: tensor<2x7x3x4xbf16>, %[[V:.*]]: tensor<2x7x4x5xbf16>)
//   CHECK-NOT: aten.view
//       CHECK: exec.library "matmul"(%[[X]], %[[V]])
//  CHECK-SAME: {epilogue = "none", transpose_a = false, transpose_b = false}
//  CHECK-SAME: -> tensor<2x7x3x5xbf16>
//   CHECK-NOT: aten.matmul
func.func @batches(%x: tensor<2x7x3x4xbf16>, %v: tensor<2x7x4x5xbf16>) -> tensor<2x7x3x5xbf16> {
  %0 = aten.matmul %x, %v : (tensor<2x7x3x4xbf16>, tensor<2x7x4x5xbf16>) -> tensor<2x7x3x5xbf16>
  return %0 : tensor<2x7x3x5xbf16>
}

// -----

// Rows times one matrix are one product, as on a processor.
// CHECK-LABEL: @rows
//  CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>, %[[W:.*]]: tensor<4x5xf32>)
//       CHECK: %[[ROWS:.*]] = aten.view %[[X]] [6, 4]
//       CHECK: exec.library "matmul"(%[[ROWS]], %[[W]])
func.func @rows(%x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>) -> tensor<2x3x5xf32> {
  %0 = aten.matmul %x, %w : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
  return %0 : tensor<2x3x5xf32>
}

// -----

// Batches that broadcast, and products of integers, are left to a kernel.
// CHECK-LABEL: @left_to_a_kernel
//   CHECK-NOT: exec.library
//       CHECK: aten.matmul
//       CHECK: aten.matmul
func.func @left_to_a_kernel(%x: tensor<3x4xf32>, %v: tensor<2x4x5xf32>, %i: tensor<2x3x4xi64>, %j: tensor<2x4x5xi64>) -> (tensor<2x3x5xf32>, tensor<2x3x5xi64>) {
  %0 = aten.matmul %x, %v : (tensor<3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  %1 = aten.matmul %i, %j : (tensor<2x3x4xi64>, tensor<2x4x5xi64>) -> tensor<2x3x5xi64>
  return %0, %1 : tensor<2x3x5xf32>, tensor<2x3x5xi64>
}
