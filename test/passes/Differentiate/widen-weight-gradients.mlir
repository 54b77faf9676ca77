// RUN: shardc-opt %s --split-input-file --shardc-widen-weight-gradients | FileCheck %s

// The sum over the batch is written as f32 at once.
// CHECK-LABEL: @linear_weight
//       CHECK:   %[[D_WEIGHT:.*]] = aten.linear_backward_weight {{.*}} : (tensor<2x4xbf16>, tensor<2x8xbf16>) -> tensor<4x8xf32>
//  CHECK-NEXT:   return %[[D_WEIGHT]]
func.func @linear_weight(%d_y: tensor<2x4xbf16>, %x: tensor<2x8xbf16>) -> tensor<4x8xf32> {
  %0 = aten.linear_backward_weight %d_y, %x : (tensor<2x4xbf16>, tensor<2x8xbf16>) -> tensor<4x8xbf16>
  %1 = aten.to %0 f32 : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: @matrices_of_groups
//       CHECK:   aten.grouped_mm_backward_mat2 {{.*}} -> tensor<3x4x5xf32>
//   CHECK-NOT:   aten.to
func.func @matrices_of_groups(%d_y: tensor<8x5xbf16>, %x: tensor<8x4xbf16>, %ends: tensor<3xi32>) -> tensor<3x4x5xf32> {
  %0 = aten.grouped_mm_backward_mat2 %d_y, %x, %ends : (tensor<8x5xbf16>, tensor<8x4xbf16>, tensor<3xi32>) -> tensor<3x4x5xbf16>
  %1 = aten.to %0 f32 : (tensor<3x4x5xbf16>) -> tensor<3x4x5xf32>
  return %1 : tensor<3x4x5xf32>
}

// -----

// CHECK-LABEL: @convolution_weight
//       CHECK:   aten.convolution_backward_weight {{.*}} -> tensor<4x3x1x1xf32>
//   CHECK-NOT:   aten.to
func.func @convolution_weight(%d_y: tensor<2x4x8x8xbf16>, %x: tensor<2x3x8x8xbf16>) -> tensor<4x3x1x1xf32> {
  %0 = aten.convolution_backward_weight %d_y, %x
      {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<2x4x8x8xbf16>, tensor<2x3x8x8xbf16>) -> tensor<4x3x1x1xbf16>
  %1 = aten.to %0 f32 : (tensor<4x3x1x1xbf16>) -> tensor<4x3x1x1xf32>
  return %1 : tensor<4x3x1x1xf32>
}

// -----

// CHECK-LABEL: @embedding_table
//       CHECK:   aten.embedding_dense_backward {{.*}} -> tensor<10x8xf32>
//   CHECK-NOT:   aten.to
func.func @embedding_table(%d_y: tensor<3x8xbf16>, %indices: tensor<3xi64>) -> tensor<10x8xf32> {
  %0 = aten.embedding_dense_backward %d_y, %indices : (tensor<3x8xbf16>, tensor<3xi64>) -> tensor<10x8xbf16>
  %1 = aten.to %0 f32 : (tensor<10x8xbf16>) -> tensor<10x8xf32>
  return %1 : tensor<10x8xf32>
}

// -----

// Of a normalization's gradients the parameters' are widened, the input's is an
// activation and keeps its dtype.
// CHECK-LABEL: @normalization_parameters
//       CHECK:   %[[D_X:.*]], %[[D_WEIGHT:.*]], %[[D_BIAS:.*]] = aten.native_layer_norm_backward
//  CHECK-SAME:     -> (tensor<2x8xbf16>, tensor<8xf32>, tensor<8xf32>)
//  CHECK-NEXT:   %[[WIDE_X:.*]] = aten.to %[[D_X]] f32
//  CHECK-NEXT:   return %[[WIDE_X]], %[[D_WEIGHT]], %[[D_BIAS]]
func.func @normalization_parameters(%d_y: tensor<2x8xbf16>, %x: tensor<2x8xbf16>, %mean: tensor<2x1xf32>, %rstd: tensor<2x1xf32>)
    -> (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %d_x, %d_weight, %d_bias = aten.native_layer_norm_backward %d_y, %x, %mean, %rstd {normalized_shape = array<i64: 8>}
      : (tensor<2x8xbf16>, tensor<2x8xbf16>, tensor<2x1xf32>, tensor<2x1xf32>) -> (tensor<2x8xbf16>, tensor<8xbf16>, tensor<8xbf16>)
  %0 = aten.to %d_x f32 : (tensor<2x8xbf16>) -> tensor<2x8xf32>
  %1 = aten.to %d_weight f32 : (tensor<8xbf16>) -> tensor<8xf32>
  %2 = aten.to %d_bias f32 : (tensor<8xbf16>) -> tensor<8xf32>
  return %0, %1, %2 : tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: @batch_norm_parameters
//       CHECK:   aten.native_batch_norm_backward {{.*}} -> (tensor<2x8xbf16>, tensor<8xf32>, tensor<8xf32>)
//   CHECK-NOT:   aten.to
func.func @batch_norm_parameters(%d_y: tensor<2x8xbf16>, %x: tensor<2x8xbf16>, %mean: tensor<8xf32>, %invstd: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>) {
  %d_x, %d_weight, %d_bias = aten.native_batch_norm_backward %d_y, %x, %mean, %invstd {training = true}
      : (tensor<2x8xbf16>, tensor<2x8xbf16>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8xbf16>, tensor<8xbf16>, tensor<8xbf16>)
  %0 = aten.to %d_weight f32 : (tensor<8xbf16>) -> tensor<8xf32>
  %1 = aten.to %d_bias f32 : (tensor<8xbf16>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Another use needs the narrow value.
// CHECK-LABEL: @second_use
//       CHECK:   %[[NARROW:.*]] = aten.linear_backward_weight {{.*}} -> tensor<4x8xbf16>
//       CHECK:   %[[WIDE:.*]] = aten.to %[[NARROW]] f32
//       CHECK:   return %[[NARROW]], %[[WIDE]]
func.func @second_use(%d_y: tensor<2x4xbf16>, %x: tensor<2x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xf32>) {
  %0 = aten.linear_backward_weight %d_y, %x : (tensor<2x4xbf16>, tensor<2x8xbf16>) -> tensor<4x8xbf16>
  %1 = aten.to %0 f32 : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  return %0, %1 : tensor<4x8xbf16>, tensor<4x8xf32>
}

// -----

// A narrower reduce dtype is a rounding that the policy asks for.
// CHECK-LABEL: @narrowing_stays
//       CHECK:   aten.linear_backward_weight {{.*}} -> tensor<4x8xf32>
//       CHECK:   aten.to {{.*}} bf16
func.func @narrowing_stays(%d_y: tensor<2x4xf32>, %x: tensor<2x8xf32>) -> tensor<4x8xbf16> {
  %0 = aten.linear_backward_weight %d_y, %x : (tensor<2x4xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  %1 = aten.to %0 bf16 : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  return %1 : tensor<4x8xbf16>
}

// -----

// Other operators have the dtype of their operands.
// CHECK-LABEL: @activation_gradient
//       CHECK:   aten.linear_backward_input {{.*}} -> tensor<2x8xbf16>
//       CHECK:   aten.to {{.*}} f32
func.func @activation_gradient(%d_y: tensor<2x4xbf16>, %weight: tensor<4x8xbf16>) -> tensor<2x8xf32> {
  %0 = aten.linear_backward_input %d_y, %weight : (tensor<2x4xbf16>, tensor<4x8xbf16>) -> tensor<2x8xbf16>
  %1 = aten.to %0 f32 : (tensor<2x8xbf16>) -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}

// -----

// No policy reduces in f64, and a product of f32 has no result in it.
// CHECK-LABEL: @f64_is_no_reduce_dtype
//       CHECK:   aten.linear_backward_weight {{.*}} -> tensor<4x8xf32>
//       CHECK:   aten.to {{.*}} f64
func.func @f64_is_no_reduce_dtype(%d_y: tensor<2x4xf32>, %x: tensor<2x8xf32>) -> tensor<4x8xf64> {
  %0 = aten.linear_backward_weight %d_y, %x : (tensor<2x4xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  %1 = aten.to %0 f64 : (tensor<4x8xf32>) -> tensor<4x8xf64>
  return %1 : tensor<4x8xf64>
}
