// RUN: shardc-opt %s --split-input-file --shardc-join-slices | FileCheck %s

// The gradients of a query-key-value projection, whose pieces tile it.
// CHECK-LABEL: @three_pieces
//  CHECK-SAME: (%[[Q:.*]]: tensor<4x2xf32>, %[[K:.*]]: tensor<4x2xf32>, %[[V:.*]]: tensor<4x2xf32>)
//   CHECK-NOT: aten.slice_backward
//       CHECK: %[[JOINED:.*]] = aten.cat %[[Q]], %[[K]], %[[V]] dim 1
//       CHECK: return %[[JOINED]]
func.func @three_pieces(%q: tensor<4x2xf32>, %k: tensor<4x2xf32>, %v: tensor<4x2xf32>) -> tensor<4x6xf32> {
  %0 = aten.slice_backward %v into [4, 6] dim 1 [4 : 6] : (tensor<4x2xf32>) -> tensor<4x6xf32>
  %1 = aten.slice_backward %k into [4, 6] dim 1 [2 : 4] : (tensor<4x2xf32>) -> tensor<4x6xf32>
  %2 = aten.add %0, %1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = aten.slice_backward %q into [4, 6] dim 1 [0 : 2] : (tensor<4x2xf32>) -> tensor<4x6xf32>
  %4 = aten.add %2, %3 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %4 : tensor<4x6xf32>
}

// -----

// Elements that no piece covers are zero: the sum stays.
// CHECK-LABEL: @gap_between_pieces
//       CHECK: aten.add
func.func @gap_between_pieces(%a: tensor<4x2xf32>, %b: tensor<4x2xf32>) -> tensor<4x6xf32> {
  %0 = aten.slice_backward %a into [4, 6] dim 1 [0 : 2] : (tensor<4x2xf32>) -> tensor<4x6xf32>
  %1 = aten.slice_backward %b into [4, 6] dim 1 [4 : 6] : (tensor<4x2xf32>) -> tensor<4x6xf32>
  %2 = aten.add %0, %1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %2 : tensor<4x6xf32>
}

// -----

// Something else reads a padded piece, so it has to exist.
// CHECK-LABEL: @piece_with_another_reader
//       CHECK: aten.slice_backward
//       CHECK: aten.add
func.func @piece_with_another_reader(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = aten.slice_backward %a into [4] dim 0 [0 : 2] : (tensor<2xf32>) -> tensor<4xf32>
  %1 = aten.slice_backward %b into [4] dim 0 [2 : 4] : (tensor<2xf32>) -> tensor<4xf32>
  %2 = aten.add %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2, %0 : tensor<4xf32>, tensor<4xf32>
}
