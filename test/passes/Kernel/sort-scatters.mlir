// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=cuda --shardc-sort-scatters | FileCheck %s
// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=x86-64-v3 --shardc-sort-scatters | FileCheck %s --check-prefix=CPU

// A processor adds in order.
// CPU-NOT: embedding_dense_backward

// Messages of a graph's edges, added to its nodes: the index is one for a row.
// An edge without a node makes all nodes NaN.
// CHECK-LABEL: @rows_of_a_graph
//  CHECK-SAME: (%[[NODES:.*]]: tensor<100x16xf32>, %[[INDEX:.*]]: tensor<5000x1xi64>, %[[MESSAGES:.*]]: tensor<5000x16xf32>)
//       CHECK: %[[ALONG:.*]] = aten.view %[[INDEX]] [5000]
//       CHECK: aten.lt.Scalar %[[ALONG]], 0
//       CHECK: aten.ge.Scalar %[[ALONG]], 100
//       CHECK: %[[NONE:.*]] = aten.logical_or
//       CHECK: %[[PLACES:.*]] = aten.where %[[NONE]]
//       CHECK: %[[SUMS:.*]] = aten.embedding_dense_backward %[[MESSAGES]], %[[PLACES]]
//  CHECK-SAME: -> tensor<100x16xf32>
//       CHECK: %[[ALL:.*]] = aten.add %[[NODES]], %[[SUMS]]
//       CHECK: %[[LOST:.*]] = aten.sum
//       CHECK: aten.add %[[ALL]], %[[LOST]]
//   CHECK-NOT: aten.scatter_reduce
func.func @rows_of_a_graph(%nodes: tensor<100x16xf32>, %index: tensor<5000x1xi64>, %messages: tensor<5000x16xf32>) -> tensor<100x16xf32> {
  %0 = aten.expand %index [5000, 16] : (tensor<5000x1xi64>) -> tensor<5000x16xi64>
  %1 = aten.scatter_reduce %nodes dim 0 at %0 from %messages {reduce = #aten.scatter_reduction<sum>} : (tensor<100x16xf32>, tensor<5000x16xi64>, tensor<5000x16xf32>) -> tensor<100x16xf32>
  return %1 : tensor<100x16xf32>
}

// -----

// An index for each element: the lines of such a scatter are independent.
// CHECK-LABEL: @an_index_for_each_element
//   CHECK-NOT: embedding_dense_backward
//       CHECK: aten.scatter_reduce
func.func @an_index_for_each_element(%x: tensor<100x16xf32>, %index: tensor<5000x16xi64>, %src: tensor<5000x16xf32>) -> tensor<100x16xf32> {
  %0 = aten.scatter_reduce %x dim 0 at %index from %src {reduce = #aten.scatter_reduction<sum>} : (tensor<100x16xf32>, tensor<5000x16xi64>, tensor<5000x16xf32>) -> tensor<100x16xf32>
  return %0 : tensor<100x16xf32>
}

// -----

// The gradient of `table[i, j]`: two indices are one place of 10 x 20, and those
// below 0 count from the end. Nothing is added to zeros; sums of bf16 are f32.
// CHECK-LABEL: @two_indices
//  CHECK-SAME: (%[[I:.*]]: tensor<300xi64>, %[[J:.*]]: tensor<300xi64>, %[[VALUES:.*]]: tensor<300x8xbf16>)
//       CHECK: aten.lt.Scalar %[[I]], -10
//       CHECK: aten.lt.Scalar %[[J]], -20
//       CHECK: aten.mul.Scalar %{{.*}}, 20
//       CHECK: aten.embedding_dense_backward %[[VALUES]], %{{.*}} : (tensor<300x8xbf16>, tensor<300xi64>) -> tensor<200x8xf32>
//       CHECK: aten.view %{{.*}} [10, 20, 8]
//       CHECK: %[[ALL:.*]] = aten.add
//       CHECK: aten.to %[[ALL]] bf16
//   CHECK-NOT: aten.index_put
func.func @two_indices(%i: tensor<300xi64>, %j: tensor<300xi64>, %values: tensor<300x8xbf16>) -> tensor<10x20x8xbf16> {
  %zeros = aten.constant dense<0.0> : tensor<10x20x8xbf16>
  %0 = aten.index_put %zeros at %i, %j of [0, 1] from %values {accumulate = true} : (tensor<10x20x8xbf16>, tensor<300xi64>, tensor<300xi64>, tensor<300x8xbf16>) -> tensor<10x20x8xbf16>
  return %0 : tensor<10x20x8xbf16>
}

// -----

// Columns become rows and come back; of known places none is asked whether it is
// one.
// CHECK-LABEL: @known_columns
//  CHECK-SAME: (%[[X:.*]]: tensor<4x3xf32>, %[[VALUES:.*]]: tensor<4x64xf32>)
//   CHECK-NOT: aten.ge.Scalar
//       CHECK: %[[ROWS:.*]] = aten.permute %[[VALUES]] [1, 0]
//       CHECK: %[[SUMS:.*]] = aten.embedding_dense_backward %[[ROWS]],
//       CHECK: %[[COLUMNS:.*]] = aten.permute %[[SUMS]] [1, 0]
//       CHECK: %[[ALL:.*]] = aten.add %[[X]], %[[COLUMNS]]
//       CHECK: return %[[ALL]]
func.func @known_columns(%x: tensor<4x3xf32>, %values: tensor<4x64xf32>) -> tensor<4x3xf32> {
  %index = aten.constant dense<2> : tensor<64xi64>
  %0 = aten.index_put %x at %index of [1] from %values {accumulate = true} : (tensor<4x3xf32>, tensor<64xi64>, tensor<4x64xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

// What is put in place of another value, and few rows, stay.
// CHECK-LABEL: @left_in_order
//       CHECK: aten.index_put
//       CHECK: aten.index_put
func.func @left_in_order(%x: tensor<100x16xf32>, %many: tensor<500xi64>, %few: tensor<63xi64>, %a: tensor<500x16xf32>, %b: tensor<63x16xf32>) -> tensor<100x16xf32> {
  %0 = aten.index_put %x at %many of [0] from %a : (tensor<100x16xf32>, tensor<500xi64>, tensor<500x16xf32>) -> tensor<100x16xf32>
  %1 = aten.index_put %0 at %few of [0] from %b {accumulate = true} : (tensor<100x16xf32>, tensor<63xi64>, tensor<63x16xf32>) -> tensor<100x16xf32>
  return %1 : tensor<100x16xf32>
}
