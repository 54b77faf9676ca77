// RUN: shardc-opt %s --split-input-file --verify-diagnostics

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

// Shapes are known at compile time.
func.func @dynamic_shape(%x: tensor<?xf32>) {
  // expected-error@+1 {{'aten.relu' op operand #0 must be statically shaped tensor of bfloat16 type or 16-bit float or 32-bit float or 64-bit float values, but got 'tensor<?xf32>'}}
  %0 = aten.relu %x : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @integer_activation(%x: tensor<4xi64>) {
  // expected-error@+1 {{operand #0 must be statically shaped tensor of bfloat16 type or 16-bit float or 32-bit float or 64-bit float values, but got 'tensor<4xi64>'}}
  %0 = aten.relu %x : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @complex_tensor(%x: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{but got 'tensor<4xcomplex<f32>>'}}
  %0 = aten.view %x [2, 2] : (tensor<4xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
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
// Views, joins and splits
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Matrix operators
//===----------------------------------------------------------------------===//

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

func.func @convolution_channels(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error@+2 {{expected input [N, C, H, W] and weight [O, C/2, kH, kW], got tensor<2x4x8x8xf32> and tensor<6x4x3x3xf32>}}
  // expected-error@+1 {{'aten.convolution' op failed to infer returned types}}
  %0 = aten.convolution %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64}
      : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x4x4xf32>
  return
}

// -----

func.func @convolution_1d(%x: tensor<2x4x8xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error@+2 {{expected input [N, C, H, W] and weight [O, C/1, kH, kW], got tensor<2x4x8xf32> and tensor<6x4x3xf32>}}
  // expected-error@+1 {{'aten.convolution' op failed to infer returned types}}
  %0 = aten.convolution %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<2x4x8xf32>, tensor<6x4x3xf32>) -> tensor<2x6x4xf32>
  return
}

// -----

func.func @convolution_kernel_too_large(%x: tensor<1x1x2x2xf32>, %w: tensor<1x1x3x3xf32>) {
  // expected-error@+2 {{expected a kernel of at most 4, got 5}}
  // expected-error@+1 {{'aten.convolution' op failed to infer returned types}}
  %0 = aten.convolution %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 2, 2>, groups = 1 : i64}
      : (tensor<1x1x2x2xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x1x1xf32>
  return
}

// -----

func.func @convolution_one_stride(%x: tensor<1x1x8x8xf32>, %w: tensor<1x1x3x3xf32>) {
  // expected-error@+2 {{expected 2 strides of at least 1, got [2]}}
  // expected-error@+1 {{'aten.convolution' op failed to infer returned types}}
  %0 = aten.convolution %x, %w {stride = array<i64: 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<1x1x8x8xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x4x4xf32>
  return
}

// -----

func.func @convolution_stride_zero(%x: tensor<1x1x8x8xf32>, %w: tensor<1x1x3x3xf32>) {
  // expected-error@+2 {{expected 2 strides of at least 1, got [0, 1]}}
  // expected-error@+1 {{'aten.convolution' op failed to infer returned types}}
  %0 = aten.convolution %x, %w {stride = array<i64: 0, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<1x1x8x8xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x4x4xf32>
  return
}

// -----

func.func @convolution_negative_padding(%x: tensor<1x1x8x8xf32>, %w: tensor<1x1x3x3xf32>) {
  // expected-error@+2 {{expected 2 paddings of at least 0, got [-1, 0]}}
  // expected-error@+1 {{'aten.convolution' op failed to infer returned types}}
  %0 = aten.convolution %x, %w {stride = array<i64: 2, 2>, padding = array<i64: -1, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<1x1x8x8xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x4x4xf32>
  return
}

// -----

func.func @convolution_dilation_zero(%x: tensor<1x1x8x8xf32>, %w: tensor<1x1x3x3xf32>) {
  // expected-error@+2 {{expected 2 dilations of at least 1, got [1, 0]}}
  // expected-error@+1 {{'aten.convolution' op failed to infer returned types}}
  %0 = aten.convolution %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 0>, groups = 1 : i64}
      : (tensor<1x1x8x8xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x4x4xf32>
  return
}

// -----

func.func @convolution_bias(%x: tensor<1x1x8x8xf32>, %w: tensor<4x1x3x3xf32>, %b: tensor<1xf32>) {
  // expected-error@+2 {{expected a bias [4], got tensor<1xf32>}}
  // expected-error@+1 {{'aten.convolution' op failed to infer returned types}}
  %0 = aten.convolution %x, %w, %b {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<1x1x8x8xf32>, tensor<4x1x3x3xf32>, tensor<1xf32>) -> tensor<1x4x4x4xf32>
  return
}

// -----

func.func @convolution_output_channels_in_groups(%x: tensor<1x2x8x8xf32>, %w: tensor<3x1x3x3xf32>) {
  // expected-error@+2 {{expected groups to divide 3 output channels, got 2}}
  // expected-error@+1 {{'aten.convolution' op failed to infer returned types}}
  %0 = aten.convolution %x, %w {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64}
      : (tensor<1x2x8x8xf32>, tensor<3x1x3x3xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

func.func @attention_head_dimension(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x16xf32>) {
  // expected-error@+2 {{expected query [B, H, T, D] and key, value [B, H, S, D] of one dtype, got tensor<1x2x4x8xf32>, tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>}}
  // expected-error@+1 {{'aten.scaled_dot_product_attention' op failed to infer returned types}}
  %0, %1 = aten.scaled_dot_product_attention %q, %k, %k {is_causal = true, scale = 1.0 : f64}
      : (tensor<1x2x4x8xf32>, tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// Normalization
//===----------------------------------------------------------------------===//

func.func @layer_norm_shape(%x: tensor<2x8xf32>) {
  // expected-error@+2 {{expected trailing dimensions equal to normalized_shape, got tensor<2x8xf32>}}
  // expected-error@+1 {{'aten.layer_norm' op failed to infer returned types}}
  %0, %1, %2 = aten.layer_norm %x {normalized_shape = array<i64: 4>, eps = 1.0e-5 : f64}
      : (tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----

func.func @layer_norm_weight(%x: tensor<2x8xf32>, %w: tensor<2xf32>) {
  // expected-error@+2 {{expected weight and bias of normalized_shape}}
  // expected-error@+1 {{'aten.layer_norm' op failed to infer returned types}}
  %0, %1, %2 = aten.layer_norm %x weight(%w) {normalized_shape = array<i64: 8>, eps = 1.0e-5 : f64}
      : (tensor<2x8xf32>, tensor<2xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----

func.func @batch_norm_rank(%x: tensor<3xf32>, %s: tensor<3xf32>) {
  // expected-error@+2 {{expected an input [N, C, ...], got tensor<3xf32>}}
  // expected-error@+1 {{'aten.batch_norm' op failed to infer returned types}}
  %0:5 = aten.batch_norm %x running(%s, %s) {training = true, momentum = 0.1 : f64, eps = 1.0e-5 : f64}
      : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
      -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

// A bf16 running mean stalls.
func.func @batch_norm_narrow_statistics(%x: tensor<2x3xbf16>, %s: tensor<3xbf16>) {
  // expected-error@+2 {{expected running statistics tensor<3xf32>, got tensor<3xbf16>}}
  // expected-error@+1 {{'aten.batch_norm' op failed to infer returned types}}
  %0:5 = aten.batch_norm %x running(%s, %s) {training = true, momentum = 0.1 : f64, eps = 1.0e-5 : f64}
      : (tensor<2x3xbf16>, tensor<3xbf16>, tensor<3xbf16>)
      -> (tensor<2x3xbf16>, tensor<3xbf16>, tensor<3xbf16>, tensor<3xbf16>, tensor<3xbf16>)
  return
}

// -----

func.func @batch_norm_weight(%x: tensor<2x3xf32>, %s: tensor<3xf32>, %w: tensor<2xf32>) {
  // expected-error@+2 {{expected weight and bias [3]}}
  // expected-error@+1 {{'aten.batch_norm' op failed to infer returned types}}
  %0:5 = aten.batch_norm %x running(%s, %s) weight(%w) {training = true, momentum = 0.1 : f64, eps = 1.0e-5 : f64}
      : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>)
      -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

func.func @cross_entropy_batches(%x: tensor<4x8xf32>, %t: tensor<8xi64>) {
  // expected-error@+2 {{expected logits [N, C] and class indices [N], got tensor<4x8xf32> and tensor<8xi64>}}
  // expected-error@+1 {{'aten.cross_entropy_loss' op failed to infer returned types}}
  %0:3 = aten.cross_entropy_loss %x, %t {reduction = #aten.reduction<mean>, ignore_index = -100 : i64}
      : (tensor<4x8xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
  return
}

// -----

func.func @cross_entropy_without_reduction(%x: tensor<4x8xf32>, %t: tensor<4xi64>) {
  // expected-error@+2 {{expected reduction mean or sum, got none}}
  // expected-error@+1 {{'aten.cross_entropy_loss' op failed to infer returned types}}
  %0:3 = aten.cross_entropy_loss %x, %t {reduction = #aten.reduction<none>, ignore_index = -100 : i64}
      : (tensor<4x8xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

func.func @max_pool2d_rank(%x: tensor<2x8x8xf32>) {
  // expected-error@+2 {{expected an input [N, C, H, W], got tensor<2x8x8xf32>}}
  // expected-error@+1 {{'aten.max_pool2d_with_indices' op failed to infer returned types}}
  %0:2 = aten.max_pool2d_with_indices %x
      {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>}
      : (tensor<2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  return
}

// -----

func.func @max_pool2d_window_too_large(%x: tensor<1x2x8x8xf32>) {
  // expected-error@+2 {{expected a kernel of at most 8, got 9}}
  // expected-error@+1 {{'aten.max_pool2d_with_indices' op failed to infer returned types}}
  %0:2 = aten.max_pool2d_with_indices %x
      {kernel_size = array<i64: 9, 9>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>}
      : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  return
}

// -----

func.func @max_pool2d_one_size(%x: tensor<1x2x8x8xf32>) {
  // expected-error@+2 {{expected 2 kernel sizes of at least 1, got [3]}}
  // expected-error@+1 {{'aten.max_pool2d_with_indices' op failed to infer returned types}}
  %0:2 = aten.max_pool2d_with_indices %x
      {kernel_size = array<i64: 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>}
      : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  return
}

// -----

func.func @max_pool2d_stride_zero(%x: tensor<1x2x8x8xf32>) {
  // expected-error@+2 {{expected 2 strides of at least 1, got [0, 0]}}
  // expected-error@+1 {{'aten.max_pool2d_with_indices' op failed to infer returned types}}
  %0:2 = aten.max_pool2d_with_indices %x
      {kernel_size = array<i64: 3, 3>, stride = array<i64: 0, 0>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>}
      : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  return
}

// -----

func.func @max_pool2d_negative_padding(%x: tensor<1x2x8x8xf32>) {
  // expected-error@+2 {{expected 2 paddings of at least 0, got [0, -1]}}
  // expected-error@+1 {{'aten.max_pool2d_with_indices' op failed to infer returned types}}
  %0:2 = aten.max_pool2d_with_indices %x
      {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 0, -1>, dilation = array<i64: 1, 1>}
      : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  return
}

// -----

func.func @max_pool2d_dilation_zero(%x: tensor<1x2x8x8xf32>) {
  // expected-error@+2 {{expected 2 dilations of at least 1, got [0, 1]}}
  // expected-error@+1 {{'aten.max_pool2d_with_indices' op failed to infer returned types}}
  %0:2 = aten.max_pool2d_with_indices %x
      {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 0, 1>}
      : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  return
}

// -----

func.func @adaptive_avg_pool2d_rank(%x: tensor<8x8xf32>) {
  // expected-error@+2 {{expected an input [N, C, H, W], got tensor<8x8xf32>}}
  // expected-error@+1 {{'aten.adaptive_avg_pool2d' op failed to infer returned types}}
  %0 = aten.adaptive_avg_pool2d %x [1, 1] : (tensor<8x8xf32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @adaptive_avg_pool2d_remainder(%x: tensor<1x2x8x8xf32>) {
  // expected-error@+2 {{expected an output size that divides 8, got 3}}
  // expected-error@+1 {{'aten.adaptive_avg_pool2d' op failed to infer returned types}}
  %0 = aten.adaptive_avg_pool2d %x [3, 1] : (tensor<1x2x8x8xf32>) -> tensor<1x2x3x1xf32>
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
  // expected-error@+1 {{operand #1 must be statically shaped tensor of 64-bit signless integer or 32-bit signless integer values, but got 'tensor<2xf32>'}}
  %0 = aten.embedding %w, %i : (tensor<10x4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  return
}
