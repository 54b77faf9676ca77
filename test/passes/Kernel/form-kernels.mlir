// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=x86-64-v3 --shardc-form-kernels | FileCheck %s

// CHECK-LABEL: @relu
//  CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
//       CHECK: exec.kernel "relu" (%[[IN:.*]] = %[[X]] : tensor<4xf32>) -> tensor<4xf32>
//       CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%[[IN]] : tensor<4xf32>)
//       CHECK: arith.select
//       CHECK: exec.yield %[[Y]]
func.func @relu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// No share is subnormal: 2^-126 is the smallest normal number, -87.3365 a little
// more than its logarithm.
// CHECK-LABEL: @softmax
//       CHECK: exec.kernel "softmax"
//       CHECK: arith.constant -8.733650e+01 : f32
//       CHECK: arith.divf
//       CHECK: arith.constant 1.17549435E-38 : f32
//       CHECK: arith.select
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = aten.softmax %x dim 1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// bf16 is computed in f32 and rounded once.
// CHECK-LABEL: @bf16_is_rounded_once
//       CHECK: exec.kernel "gelu"
//       CHECK: arith.extf %{{.*}} : bf16 to f32
//       CHECK: math.erfc %{{.*}} : f32
//       CHECK: arith.truncf %{{.*}} : f32 to bf16
//  CHECK-NEXT: linalg.yield
func.func @bf16_is_rounded_once(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = aten.gelu %x : (tensor<4xbf16>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// -----

// CHECK-LABEL: @sums_accumulate_wider
//       CHECK: linalg.fill {{.*}} -> tensor<8xf64>
//       CHECK: iterator_types = ["reduction", "parallel"]
//       CHECK: arith.addf %{{.*}} : f64
//       CHECK: arith.truncf %{{.*}} : f64 to f32
func.func @sums_accumulate_wider(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  %0 = aten.sum %x [0] : (tensor<4x8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// The statistics of a layer norm that nothing reads are not results.
// CHECK-LABEL: @unused_results_are_dropped
//       CHECK: exec.kernel "layer_norm" ({{.*}}) -> tensor<4x8xf32> {
func.func @unused_results_are_dropped(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0, %mean, %rstd = aten.layer_norm %x {normalized_shape = array<i64: 8>, eps = 1.0e-5 : f64} : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  return %0 : tensor<4x8xf32>
}

// -----

// Position indices count elements: the kernel reads no table of numbers.
// CHECK-LABEL: @constants_move_in
//  CHECK-SAME: (%[[W:.*]]: tensor<9x4xf32>)
//   CHECK-NOT: aten.constant
//       CHECK: exec.kernel "embedding" (%{{.*}} = %[[W]] : tensor<9x4xf32>)
//       CHECK: %[[INDICES:.*]] = exec.iota : tensor<3xi64>
//       CHECK: linalg.generic {{.*}} ins(%[[INDICES]] : tensor<3xi64>)
//       CHECK: tensor.extract
func.func @constants_move_in(%w: tensor<9x4xf32>) -> tensor<3x4xf32> {
  %0 = aten.constant dense<[0, 1, 2]> : tensor<3xi64>
  %1 = aten.embedding %w, %0 : (tensor<9x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// -----

// An index that the table has not is not followed: its row is NaN.
// CHECK-LABEL: @index_outside_of_the_table
//       CHECK: ^bb0(%[[INDEX:.*]]: i64, %{{.*}}: f32):
//       CHECK: %[[LAST:.*]] = arith.constant 8 : i64
//       CHECK: arith.cmpi sle, %{{.*}}, %[[LAST]]
//       CHECK: %[[ROW:.*]] = arith.select
//       CHECK: %[[EXISTS:.*]] = arith.cmpi eq, %[[ROW]], %[[INDEX]]
//       CHECK: %[[ELEMENT:.*]] = tensor.extract
//       CHECK: %[[NAN:.*]] = arith.constant 0x7FC00000 : f32
//       CHECK: arith.select %[[EXISTS]], %[[ELEMENT]], %[[NAN]]
func.func @index_outside_of_the_table(%w: tensor<9x4xf32>, %i: tensor<3xi64>) -> tensor<3x4xf32> {
  %0 = aten.embedding %w, %i : (tensor<9x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// A product of batches is summed in f64. A dimension of size 1 is broadcast.
// CHECK-LABEL: @batches_of_matrices
//       CHECK: linalg.generic
//  CHECK-SAME: iterator_types = ["parallel", "parallel", "parallel", "reduction"]
//  CHECK-SAME: ins(%{{.*}}, %{{.*}} : tensor<1x3x4xf32>, tensor<2x4x5xf32>) outs(%{{.*}} : tensor<2x3x5xf64>)
//       CHECK: arith.mulf %{{.*}}, %{{.*}} : f64
//       CHECK: arith.truncf %{{.*}} : f64 to f32
func.func @batches_of_matrices(%x: tensor<1x3x4xf32>, %w: tensor<2x4x5xf32>) -> tensor<2x3x5xf32> {
  %0 = aten.matmul %x, %w : (tensor<1x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return %0 : tensor<2x3x5xf32>
}

// -----

// The mean over no dimension is the element itself.
// CHECK-LABEL: @mean_of_one_number
//   CHECK-NOT: "reduction"
func.func @mean_of_one_number(%x: tensor<f32>) -> tensor<f32> {
  %0 = aten.mean %x [] : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// A tensor that is normalized as a whole is one row: its affine gradients are
// sums over nothing.
// CHECK-LABEL: @one_row
//       CHECK: exec.kernel "native_layer_norm_backward"
//       CHECK: linalg.generic
//  CHECK-SAME: iterator_types = ["reduction", "reduction"]
//   CHECK-NOT: outs(%{{.*}} : tensor<3x5xf64>
//       CHECK: exec.yield
func.func @one_row(%g: tensor<3x5xf32>, %x: tensor<3x5xf32>, %mean: tensor<1x1xf32>, %rstd: tensor<1x1xf32>, %w: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>) {
  %0, %1, %2 = aten.native_layer_norm_backward %g, %x, %mean, %rstd weight(%w) {normalized_shape = array<i64: 3, 5>}
      : (tensor<3x5xf32>, tensor<3x5xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>)
  return %0, %1, %2 : tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>
}

// -----

// The sum of booleans is whether one of them is true, not how many are.
// CHECK-LABEL: @sum_of_booleans
//       CHECK: arith.select
//   CHECK-NOT: arith.addi
func.func @sum_of_booleans(%a: tensor<4xi1>, %b: tensor<4xi1>) -> tensor<4xi1> {
  %0 = aten.add %a, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// -----

// A boundary cast is a kernel like any other.
// CHECK-LABEL: @boundary_cast
//       CHECK: exec.kernel "cast"
//       CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @boundary_cast(%x: tensor<4xf32>) -> tensor<4xbf16> {
  %0 = fsdp.cast %x at input : tensor<4xf32> -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// -----

// Draws number the channels, on each rank and in each micro-batch from another
// number on. 0.5 of all first words are less than 2^31.
// CHECK-LABEL: @dropout_of_channels
//       CHECK: exec.kernel "dropout"
//       CHECK: %[[IOTA:.*]] = exec.iota : tensor<2x3x1xi64>
//       CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[IOTA]] : tensor<2x3x4xf32>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<2x3x1xi64>)
//       CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c6_i64
//       CHECK: arith.addi %[[FIRST]], %{{.*}} : i64
//       CHECK: %[[LAST:.*]] = arith.constant 2147483647 : i64
//       CHECK: %[[KEPT:.*]] = arith.cmpi sle, %{{.*}}, %[[LAST]] : i64
//       CHECK: arith.select %[[KEPT]]
func.func @dropout_of_channels(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %seed = fsdp.scalar seed : tensor<i64>
  %step = fsdp.scalar step : tensor<i64>
  %slice = fsdp.scalar slice : tensor<i64>
  %0 = aten.dropout %x, %seed, %step, %slice {p = 0.5 : f64, stream = 0 : i64, shared = array<i64: 2>} : (tensor<2x3x4xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// -----

// Nothing reads the view, so that the operator before it is not computed either:
// unsigned bytes have no kernels.
// CHECK-LABEL: @what_only_an_unread_view_reads
//   CHECK-NOT: aten
//   CHECK-NOT: bitwise_xor
//       CHECK: exec.kernel "relu"
func.func @what_only_an_unread_view_reads(%x: tensor<4xf32>, %u: tensor<4xui8>) -> tensor<4xf32> {
  %0 = aten.bitwise_xor %u, %u : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %1 = aten.view %0 [2, 2] : (tensor<4xui8>) -> tensor<2x2xui8>
  %2 = aten.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
