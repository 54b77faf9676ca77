// RUN: shardc-opt %s --split-input-file --verify-diagnostics

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

// Shapes are known at compile time.
func.func @dynamic_shape(%x: tensor<?xf32>) {
  // expected-error@+1 {{'aten.gelu' op operand #0 must be static tensor of floats, but got 'tensor<?xf32>'}}
  %0 = aten.gelu %x : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @integer_activation(%x: tensor<4xi64>) {
  // expected-error@+1 {{operand #0 must be static tensor of floats, but got 'tensor<4xi64>'}}
  %0 = aten.gelu %x : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @unsigned_16_bit_tensor(%x: tensor<4xui16>) {
  // expected-error@+1 {{but got 'tensor<4xui16>'}}
  %0 = aten.view %x [2, 2] : (tensor<4xui16>) -> tensor<2x2xui16>
  return
}

// -----

// The declared type is held against the one that PyTorch would have.
func.func @other_result_type(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error@+2 {{'aten.add' op inferred type(s) 'tensor<4xf64>' are incompatible with return type(s) of operation 'tensor<4xf32>'}}
  // expected-error@+1 {{'aten.add' op failed to infer returned types}}
  %0 = aten.add %x, %y : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// Point-wise operators
//===----------------------------------------------------------------------===//

func.func @add_shapes_do_not_broadcast(%x: tensor<2x3xf32>, %y: tensor<2xf32>) {
  // expected-error@+2 {{expected shapes that broadcast, got tensor<2x3xf32> and tensor<2xf32>}}
  // expected-error@+1 {{'aten.add' op failed to infer returned types}}
  %0 = aten.add %x, %y : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

func.func @sum_of_a_missing_dimension(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{expected increasing dimensions below rank 2, got 2}}
  // expected-error@+1 {{'aten.sum' op failed to infer returned types}}
  %0 = aten.sum %x [2] : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @sum_dimensions_out_of_order(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{expected increasing dimensions below rank 2, got 0}}
  // expected-error@+1 {{'aten.sum' op failed to infer returned types}}
  %0 = aten.sum %x [1, 0] : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @mean_dimension_twice(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{expected increasing dimensions below rank 2, got 1}}
  // expected-error@+1 {{'aten.mean' op failed to infer returned types}}
  %0 = aten.mean %x [1, 1] : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

// The importer resolves negative dimensions.
func.func @mean_negative_dimension(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{expected increasing dimensions below rank 2, got -1}}
  // expected-error@+1 {{'aten.mean' op failed to infer returned types}}
  %0 = aten.mean %x [-1] : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// Look-ups and constants
//===----------------------------------------------------------------------===//

func.func @embedding_table(%w: tensor<10xf32>, %i: tensor<2xi64>) {
  // expected-error@+2 {{expected a weight [V, D], got tensor<10xf32>}}
  // expected-error@+1 {{'aten.embedding' op failed to infer returned types}}
  %0 = aten.embedding %w, %i : (tensor<10xf32>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @embedding_of_floats(%w: tensor<10x4xf32>, %i: tensor<2xf32>) {
  // expected-error@+1 {{operand #1 must be static tensor of i64 or i32, but got 'tensor<2xf32>'}}
  %0 = aten.embedding %w, %i : (tensor<10x4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  return
}
