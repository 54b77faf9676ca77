// RUN: shardc-opt %s --split-input-file --verify-diagnostics

// gather's index has the tensor's rank.
func.func @rank_of_index(%x: tensor<3x4xf32>, %i: tensor<2xi64>) {
  // expected-error@+2 {{expected an index of the rank of tensor<3x4xf32>, got tensor<2xi64>}}
  // expected-error@+1 {{'aten.gather' op failed to infer returned types}}
  %0 = aten.gather %x dim 0 at %i : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

// And is not larger outside of the dimension.
func.func @size_of_index(%x: tensor<3x4xf32>, %i: tensor<2x5xi64>) {
  // expected-error@+2 {{expected at most 4 indices in dimension 1, got tensor<2x5xi64>}}
  // expected-error@+1 {{'aten.gather' op failed to infer returned types}}
  %0 = aten.gather %x dim 0 at %i : (tensor<3x4xf32>, tensor<2x5xi64>) -> tensor<2x5xf32>
  return
}

// -----

// Scattered elements have the tensor's type.
func.func @scatter_of_other_elements(%x: tensor<3xf32>, %i: tensor<2xi64>, %s: tensor<2xi64>) {
  // expected-error@+2 {{expected elements of type f32, got tensor<2xi64>}}
  // expected-error@+1 {{'aten.scatter' op failed to infer returned types}}
  %0 = aten.scatter %x dim 0 at %i from %s : (tensor<3xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<3xf32>
  return
}

// -----

// Each index tensor is for a dimension.
func.func @dimension_for_index(%x: tensor<3x4xf32>, %i: tensor<2xi64>) {
  // expected-error@+2 {{expected one dimension an index tensor, got 2 for 1}}
  // expected-error@+1 {{'aten.index' op failed to infer returned types}}
  %0 = aten.index %x at %i of [0, 1] : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

// In increasing order.
func.func @order_of_dimensions(%x: tensor<3x4xf32>, %i: tensor<2xi64>) {
  // expected-error@+2 {{expected increasing dimensions below 2, got 0}}
  // expected-error@+1 {{'aten.index' op failed to infer returned types}}
  %0 = aten.index %x at %i, %i of [1, 0] : (tensor<3x4xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

// Values broadcast to the indexed shape.
func.func @values_that_do_not_fit(%x: tensor<3x4xf32>, %i: tensor<2xi64>, %v: tensor<3xf32>) {
  // expected-error@+2 {{expected values that broadcast to tensor<2x4xf32>, got tensor<3xf32>}}
  // expected-error@+1 {{'aten.index_put' op failed to infer returned types}}
  %0 = aten.index_put %x at %i of [0] from %v : (tensor<3x4xf32>, tensor<2xi64>, tensor<3xf32>) -> tensor<3x4xf32>
  return
}

// -----

// Each shift has a dimension.
func.func @shifts_without_dimensions(%x: tensor<3x4xf32>) {
  // expected-error@+2 {{expected one shift a dimension, got 2 for 1}}
  // expected-error@+1 {{'aten.roll' op failed to infer returned types}}
  %0 = aten.roll %x by [1, 2] along [0] : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

// A dimension is reversed once.
func.func @flip_twice(%x: tensor<3x4xf32>) {
  // expected-error@+2 {{expected distinct dimensions, got 1 twice}}
  // expected-error@+1 {{'aten.flip' op failed to infer returned types}}
  %0 = aten.flip %x [1, 1] : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

// Triangles are of matrices.
func.func @triangle_of_vector(%x: tensor<3xf32>) {
  // expected-error@+2 {{expected matrices, got tensor<3xf32>}}
  // expected-error@+1 {{'aten.tril' op failed to infer returned types}}
  %0 = aten.tril %x : (tensor<3xf32>) -> tensor<3xf32>
  return
}
