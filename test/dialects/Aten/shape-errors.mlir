// RUN: shardc-opt %s --split-input-file --verify-diagnostics

func.func @view_of_other_size(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{expected a view of 6 elements, got tensor<4xf32>}}
  // expected-error@+1 {{'aten.view' op failed to infer returned types}}
  %0 = aten.view %x [4] : (tensor<2x3xf32>) -> tensor<4xf32>
  return
}

// -----

// The importer resolves -1.
func.func @view_with_open_size(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{expected sizes of at least 0, got -1}}
  // expected-error@+1 {{'aten.view' op failed to infer returned types}}
  %0 = aten.view %x [-1, -6] : (tensor<2x3xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @permute_not_a_permutation(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{expected a permutation of dimensions}}
  // expected-error@+1 {{'aten.permute' op failed to infer returned types}}
  %0 = aten.permute %x [0, 0] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @permute_of_fewer_dimensions(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{expected 2 dimensions, got 1}}
  // expected-error@+1 {{'aten.permute' op failed to infer returned types}}
  %0 = aten.permute %x [0] : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

// Only dimensions of size 1 are repeated.
func.func @expand_of_a_size(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{expected a shape that tensor<2x3xf32> broadcasts to}}
  // expected-error@+1 {{'aten.expand' op failed to infer returned types}}
  %0 = aten.expand %x [2, 6] : (tensor<2x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @expand_to_fewer_dimensions(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{expected a shape that tensor<2x3xf32> broadcasts to}}
  // expected-error@+1 {{'aten.expand' op failed to infer returned types}}
  %0 = aten.expand %x [3] : (tensor<2x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @slice_of_a_missing_dimension(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{expected a dimension below 2, got 2}}
  // expected-error@+1 {{'aten.slice' op failed to infer returned types}}
  %0 = aten.slice %x dim 2 [0 : 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_past_the_end(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{expected a slice of [0, 3), got [1, 4)}}
  // expected-error@+1 {{'aten.slice' op failed to infer returned types}}
  %0 = aten.slice %x dim 1 [1 : 4] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_backward_past_the_end(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{expected a slice of [0, 3), got [1, 4)}}
  // expected-error@+1 {{'aten.slice_backward' op failed to infer returned types}}
  %0 = aten.slice_backward %x into [2, 3] dim 1 [1 : 4] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @cat_of_nothing() {
  // expected-error@+2 {{expected at least one tensor}}
  // expected-error@+1 {{'aten.cat' op failed to infer returned types}}
  %0 = aten.cat dim 0 : () -> tensor<0xf32>
  return
}

// -----

func.func @cat_along_a_missing_dimension(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{expected a dimension below 2, got 2}}
  // expected-error@+1 {{'aten.cat' op failed to infer returned types}}
  %0 = aten.cat %x, %x dim 2 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @cat_of_ranks(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
  // expected-error@+2 {{expected tensors of one rank}}
  // expected-error@+1 {{'aten.cat' op failed to infer returned types}}
  %0 = aten.cat %x, %y dim 0 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @cat_of_sizes(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error@+2 {{expected equal sizes in dimension 1}}
  // expected-error@+1 {{'aten.cat' op failed to infer returned types}}
  %0 = aten.cat %x, %y dim 0 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @slice_step_zero(%x: tensor<4xf32>) {
  // expected-error@+2 {{expected a step of at least 1, got 0}}
  // expected-error@+1 {{'aten.slice' op failed to infer returned types}}
  %0 = aten.slice %x dim 0 [0 : 4 : 0] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @slice_scatter_of_another_dtype(%x: tensor<4xf32>, %y: tensor<2xi64>) {
  // expected-error@+2 {{expected a source of f32, got i64}}
  // expected-error@+1 {{'aten.slice_scatter' op failed to infer returned types}}
  %0 = aten.slice_scatter %x, %y dim 0 [0 : 2] : (tensor<4xf32>, tensor<2xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @slice_scatter_of_another_size(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error@+2 {{expected a slice tensor<2xf32>, got tensor<3xf32>}}
  // expected-error@+1 {{'aten.slice_scatter' op failed to infer returned types}}
  %0 = aten.slice_scatter %x, %y dim 0 [0 : 2] : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pad_of_too_many_dimensions(%x: tensor<4xf32>) {
  // expected-error@+2 {{expected two numbers for up to 1 dimensions, got 4}}
  // expected-error@+1 {{'aten.pad' op failed to infer returned types}}
  %0 = aten.pad %x [0, 1, 0, 1] : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @pad_that_removes_too_much(%x: tensor<4xf32>) {
  // expected-error@+2 {{expected a pad that removes at most 4 elements, got -3 and -2}}
  // expected-error@+1 {{'aten.pad' op failed to infer returned types}}
  %0 = aten.pad %x [-3, -2] : (tensor<4xf32>) -> tensor<0xf32>
  return
}

// -----

// A reflection does not repeat the edge, so that it has one element less.
func.func @pad_reflects_too_far(%x: tensor<4xf32>) {
  // expected-error@+2 {{expected a reflect pad of at most 3, got 4 and 0}}
  // expected-error@+1 {{'aten.pad' op failed to infer returned types}}
  %0 = aten.pad %x [4, 0] {mode = #aten.pad_mode<reflect>} : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @as_strided_past_the_end(%x: tensor<4xf32>) {
  // expected-error@+2 {{expected elements of [0, 4), got [1, 4]}}
  // expected-error@+1 {{'aten.as_strided' op failed to infer returned types}}
  %0 = aten.as_strided %x [2] stride [3] offset 1 : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @as_strided_lengths(%x: tensor<4xf32>) {
  // expected-error@+2 {{expected 1 strides, got 2}}
  // expected-error@+1 {{'aten.as_strided' op failed to infer returned types}}
  %0 = aten.as_strided %x [2] stride [1, 1] offset 0 : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @as_strided_backwards(%x: tensor<4xf32>) {
  // expected-error@+2 {{expected sizes and strides of at least 0}}
  // expected-error@+1 {{'aten.as_strided' op failed to infer returned types}}
  %0 = aten.as_strided %x [2] stride [-1] offset 3 : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @as_strided_scatter_of_another_size(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error@+2 {{expected a slice tensor<2xf32>, got tensor<3xf32>}}
  // expected-error@+1 {{'aten.as_strided_scatter' op failed to infer returned types}}
  %0 = aten.as_strided_scatter %x, %y [2] stride [2] offset 0 : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @col2im_channels(%x: tensor<2x10x9xf32>) {
  // expected-error@+2 {{expected windows [N, C * 4, positions], got tensor<2x10x9xf32>}}
  // expected-error@+1 {{'aten.col2im' op failed to infer returned types}}
  %0 = aten.col2im %x {output_size = array<i64: 4, 4>, kernel_size = array<i64: 2, 2>, dilation = array<i64: 1, 1>, padding = array<i64: 0, 0>, stride = array<i64: 1, 1>} : (tensor<2x10x9xf32>) -> tensor<2x3x4x4xf32>
  return
}

// -----

func.func @col2im_positions(%x: tensor<2x12x8xf32>) {
  // expected-error@+2 {{expected 9 positions, got 8}}
  // expected-error@+1 {{'aten.col2im' op failed to infer returned types}}
  %0 = aten.col2im %x {output_size = array<i64: 4, 4>, kernel_size = array<i64: 2, 2>, dilation = array<i64: 1, 1>, padding = array<i64: 0, 0>, stride = array<i64: 1, 1>} : (tensor<2x12x8xf32>) -> tensor<2x3x4x4xf32>
  return
}
