// RUN: shardc-opt %s --split-input-file --verify-diagnostics

// PyTorch fails here at run time: "expected m1 and m2 to have the same dtype".
func.func @linear_of_two_dtypes(%x: tensor<2x8xbf16>, %w: tensor<4x8xf32>) {
  // expected-error@+2 {{expected operands of one dtype, got bf16 and f32}}
  // expected-error@+1 {{'aten.linear' op failed to infer returned types}}
  %0 = aten.linear %x, %w : (tensor<2x8xbf16>, tensor<4x8xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @linear_inner_dimension(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) {
  // expected-error@+2 {{expected a weight [out, 8], got tensor<8x4xf32>}}
  // expected-error@+1 {{'aten.linear' op failed to infer returned types}}
  %0 = aten.linear %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @linear_of_a_scalar(%x: tensor<f32>, %w: tensor<4x8xf32>) {
  // expected-error@+2 {{expected an input [*, in], got tensor<f32>}}
  // expected-error@+1 {{'aten.linear' op failed to infer returned types}}
  %0 = aten.linear %x, %w : (tensor<f32>, tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @linear_bias(%x: tensor<2x8xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) {
  // expected-error@+2 {{expected a bias [4], got tensor<8xf32>}}
  // expected-error@+1 {{'aten.linear' op failed to infer returned types}}
  %0 = aten.linear %x, %w, %b : (tensor<2x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @linear_backward_input_of_two_dtypes(%d_y: tensor<2x4xf32>, %w: tensor<4x8xbf16>) {
  // expected-error@+2 {{expected operands of one dtype, got f32 and bf16}}
  // expected-error@+1 {{'aten.linear_backward_input' op failed to infer returned types}}
  %0 = aten.linear_backward_input %d_y, %w : (tensor<2x4xf32>, tensor<4x8xbf16>) -> tensor<2x8xf32>
  return
}

// -----

func.func @linear_backward_input_shapes(%d_y: tensor<2x4xf32>, %w: tensor<8x4xf32>) {
  // expected-error@+2 {{expected a weight [4, in], got tensor<8x4xf32>}}
  // expected-error@+1 {{'aten.linear_backward_input' op failed to infer returned types}}
  %0 = aten.linear_backward_input %d_y, %w : (tensor<2x4xf32>, tensor<8x4xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @linear_backward_input_of_a_scalar(%d_y: tensor<f32>, %w: tensor<4x8xf32>) {
  // expected-error@+2 {{expected a gradient [*, out], got tensor<f32>}}
  // expected-error@+1 {{'aten.linear_backward_input' op failed to infer returned types}}
  %0 = aten.linear_backward_input %d_y, %w : (tensor<f32>, tensor<4x8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @linear_backward_weight_rows(%d_y: tensor<2x4xf32>, %x: tensor<3x8xf32>) {
  // expected-error@+1 {{'aten.linear_backward_weight' op expected operands with equal leading dimensions}}
  %0 = aten.linear_backward_weight %d_y, %x : (tensor<2x4xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @linear_backward_weight_result(%d_y: tensor<2x4xf32>, %x: tensor<2x8xf32>) {
  // expected-error@+1 {{'aten.linear_backward_weight' op expected a result [4, 8], got 'tensor<8x4xf32>'}}
  %0 = aten.linear_backward_weight %d_y, %x : (tensor<2x4xf32>, tensor<2x8xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @linear_backward_weight_of_a_scalar(%d_y: tensor<f32>, %x: tensor<f32>) {
  // expected-error@+1 {{'aten.linear_backward_weight' op expected operands with at least one dimension}}
  %0 = aten.linear_backward_weight %d_y, %x : (tensor<f32>, tensor<f32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @matmul_inner_dimension(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) {
  // expected-error@+2 {{expected matrices [*, n, k] and [*, k, m], got tensor<2x3xf32> and tensor<2x3xf32>}}
  // expected-error@+1 {{'aten.matmul' op failed to infer returned types}}
  %0 = aten.matmul %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// Vectors are matrices with one row or column.
func.func @matmul_of_a_vector(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
  // expected-error@+2 {{expected matrices [*, n, k] and [*, k, m], got tensor<2x3xf32> and tensor<3xf32>}}
  // expected-error@+1 {{'aten.matmul' op failed to infer returned types}}
  %0 = aten.matmul %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @matmul_batches(%x: tensor<2x2x3xf32>, %y: tensor<4x3x2xf32>) {
  // expected-error@+2 {{expected batches that broadcast, got tensor<2x2x3xf32> and tensor<4x3x2xf32>}}
  // expected-error@+1 {{'aten.matmul' op failed to infer returned types}}
  %0 = aten.matmul %x, %y : (tensor<2x2x3xf32>, tensor<4x3x2xf32>) -> tensor<2x2x2xf32>
  return
}

// -----

func.func @matmul_of_two_dtypes(%x: tensor<2x3xf32>, %y: tensor<3x2xbf16>) {
  // expected-error@+2 {{expected operands of one dtype, got f32 and bf16}}
  // expected-error@+1 {{'aten.matmul' op failed to infer returned types}}
  %0 = aten.matmul %x, %y : (tensor<2x3xf32>, tensor<3x2xbf16>) -> tensor<2x2xf32>
  return
}

// -----

func.func @grouped_mm_offsets(%x: tensor<8x4xf32>, %w: tensor<3x4x5xf32>, %o: tensor<2xi32>) {
  // expected-error@+2 {{expected rows [n, k], matrices [groups, k, m] of one dtype and offsets [groups], got tensor<8x4xf32>, tensor<3x4x5xf32>, tensor<2xi32>}}
  // expected-error@+1 {{'aten.grouped_mm' op failed to infer returned types}}
  %0 = aten.grouped_mm %x, %w, %o : (tensor<8x4xf32>, tensor<3x4x5xf32>, tensor<2xi32>) -> tensor<8x5xf32>
  return
}

// -----

func.func @grouped_mm_backward_rows(%d_y: tensor<8x5xf32>, %x: tensor<7x4xf32>, %o: tensor<3xi32>) {
  // expected-error@+1 {{'aten.grouped_mm_backward_mat2' op expected gradients [n, m] and rows [n, k] of one dtype and offsets [groups], got 'tensor<8x5xf32>', 'tensor<7x4xf32>', 'tensor<3xi32>'}}
  %0 = aten.grouped_mm_backward_mat2 %d_y, %x, %o : (tensor<8x5xf32>, tensor<7x4xf32>, tensor<3xi32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @grouped_mm_backward_result(%d_y: tensor<8x5xf32>, %x: tensor<8x4xf32>, %o: tensor<3xi32>) {
  // expected-error@+1 {{'aten.grouped_mm_backward_mat2' op expected a result [3, 4, 5], got 'tensor<3x5x4xf32>'}}
  %0 = aten.grouped_mm_backward_mat2 %d_y, %x, %o : (tensor<8x5xf32>, tensor<8x4xf32>, tensor<3xi32>) -> tensor<3x5x4xf32>
  return
}
