// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// Every operator of the dialect, in the order of the operator families.

//===----------------------------------------------------------------------===//
// Point-wise operators
//===----------------------------------------------------------------------===//

// CHECK-LABEL: @add_sub_mul
//       CHECK:   aten.add %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
//       CHECK:   aten.sub %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
//       CHECK:   aten.mul %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @add_sub_mul(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
  %0 = aten.add %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = aten.sub %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %2 = aten.mul %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @scalars
//       CHECK:   aten.add.Scalar %{{.*}}, 5.000000e-01 : f64 : (tensor<4xbf16>) -> tensor<4xbf16>
//       CHECK:   aten.mul.Scalar %{{.*}}, 2 : i64 : (tensor<4xi64>) -> tensor<4xi64>
func.func @scalars(%x: tensor<4xbf16>, %y: tensor<4xi64>) {
  %0 = aten.add.Scalar %x, 0.5 : f64 : (tensor<4xbf16>) -> tensor<4xbf16>
  %1 = aten.mul.Scalar %y, 2 : i64 : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// The approximation is printed when it is not the default.
// CHECK-LABEL: @activations
//       CHECK:   aten.relu %{{.*}} : (tensor<4xf32>) -> tensor<4xf32>
//       CHECK:   aten.threshold_backward %{{.*}}, %{{.*}} {threshold = 0.000000e+00 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
//       CHECK:   aten.gelu %{{.*}} : (tensor<4xf32>) -> tensor<4xf32>
//       CHECK:   aten.gelu %{{.*}} {approximate = #aten.gelu_approximation<tanh>} : (tensor<4xf32>) -> tensor<4xf32>
//       CHECK:   aten.gelu_backward %{{.*}}, %{{.*}} {approximate = #aten.gelu_approximation<tanh>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
func.func @activations(%x: tensor<4xf32>) {
  %0 = aten.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.threshold_backward %x, %0 {threshold = 0.0 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = aten.gelu %x {approximate = #aten.gelu_approximation<none>} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = aten.gelu %x {approximate = #aten.gelu_approximation<tanh>} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = aten.gelu_backward %x, %x {approximate = #aten.gelu_approximation<tanh>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: @conversion
//       CHECK:   aten.to %{{.*}} bf16 : (tensor<4xf32>) -> tensor<4xbf16>
func.func @conversion(%x: tensor<4xf32>) {
  %0 = aten.to %x bf16 : (tensor<4xf32>) -> tensor<4xbf16>
  return
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

// CHECK-LABEL: @reductions
//       CHECK:   aten.sum %{{.*}} [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
//       CHECK:   aten.mean %{{.*}} [1] {keepdim = true} : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>
func.func @reductions(%x: tensor<2x3x4xf32>) {
  %0 = aten.sum %x [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
  %1 = aten.mean %x [1] {keepdim = true} : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>
  return
}

//===----------------------------------------------------------------------===//
// Views, joins and splits
//===----------------------------------------------------------------------===//

// CHECK-LABEL: @views
//       CHECK:   aten.view %{{.*}} [3, 2] : (tensor<2x3xf32>) -> tensor<3x2xf32>
//       CHECK:   aten.permute %{{.*}} [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
//       CHECK:   aten.expand %{{.*}} [4, 2, 3] : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
//       CHECK:   aten.slice %{{.*}} dim 1{{ ?}}[1 : 3] : (tensor<2x3xf32>) -> tensor<2x2xf32>
//       CHECK:   aten.slice_backward %{{.*}} into [2, 3] dim 1{{ ?}}[1 : 3] : (tensor<2x2xf32>) -> tensor<2x3xf32>
//       CHECK:   aten.cat %{{.*}}, %{{.*}} dim 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
func.func @views(%x: tensor<2x3xf32>) {
  %0 = aten.view %x [3, 2] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = aten.permute %x [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %2 = aten.expand %x [4, 2, 3] : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
  %3 = aten.slice %x dim 1 [1 : 3] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  %4 = aten.slice_backward %3 into [2, 3] dim 1 [1 : 3] : (tensor<2x2xf32>) -> tensor<2x3xf32>
  %5 = aten.cat %x, %x dim 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

//===----------------------------------------------------------------------===//
// Matrix operators
//===----------------------------------------------------------------------===//

// CHECK-LABEL: @linear
//       CHECK:   aten.linear %{{.*}}, %{{.*}} : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
//       CHECK:   aten.linear %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<2x4xf32>
//       CHECK:   aten.linear_backward_input %{{.*}}, %{{.*}} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
//       CHECK:   aten.linear_backward_weight %{{.*}}, %{{.*}} : (tensor<2x4xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
func.func @linear(%x: tensor<2x8xf32>, %weight: tensor<4x8xf32>, %bias: tensor<4xf32>) {
  %0 = aten.linear %x, %weight : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  %1 = aten.linear %x, %weight, %bias : (tensor<2x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = aten.linear_backward_input %1, %weight : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %3 = aten.linear_backward_weight %1, %x : (tensor<2x4xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @convolution
//       CHECK:   aten.convolution %{{.*}}, %{{.*}}, %{{.*}} {dilation = array<i64: 1, 1>, groups = 2 : i64, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>}
//       CHECK:   aten.convolution_backward_input %{{.*}}, %{{.*}} {{.*}} -> tensor<2x4x8x8xf32>
//       CHECK:   aten.convolution_backward_weight %{{.*}}, %{{.*}} {{.*}} -> tensor<6x2x3x3xf32>
func.func @convolution(%x: tensor<2x4x8x8xf32>, %weight: tensor<6x2x3x3xf32>, %bias: tensor<6xf32>) {
  %0 = aten.convolution %x, %weight, %bias
      {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64}
      : (tensor<2x4x8x8xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<2x6x4x4xf32>
  %1 = aten.convolution_backward_input %0, %weight
      {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64}
      : (tensor<2x6x4x4xf32>, tensor<6x2x3x3xf32>) -> tensor<2x4x8x8xf32>
  %2 = aten.convolution_backward_weight %0, %x
      {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64}
      : (tensor<2x6x4x4xf32>, tensor<2x4x8x8xf32>) -> tensor<6x2x3x3xf32>
  return
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

// The statistics of attention are f32 for bf16 operands.
// CHECK-LABEL: @attention
//       CHECK:   aten.scaled_dot_product_attention %{{.*}}, %{{.*}}, %{{.*}} {is_causal = true, scale = 2.500000e-01 : f64}
//  CHECK-SAME:     -> (tensor<1x2x4x16xbf16>, tensor<1x2x4xf32>)
//       CHECK:   aten.scaled_dot_product_attention_backward %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {is_causal = true, scale = 2.500000e-01 : f64}
func.func @attention(%q: tensor<1x2x4x16xbf16>, %k: tensor<1x2x6x16xbf16>) {
  %0, %1 = aten.scaled_dot_product_attention %q, %k, %k {is_causal = true, scale = 0.25 : f64}
      : (tensor<1x2x4x16xbf16>, tensor<1x2x6x16xbf16>, tensor<1x2x6x16xbf16>)
      -> (tensor<1x2x4x16xbf16>, tensor<1x2x4xf32>)
  %2, %3, %4 = aten.scaled_dot_product_attention_backward %0, %q, %k, %k, %0, %1 {is_causal = true, scale = 0.25 : f64}
      : (tensor<1x2x4x16xbf16>, tensor<1x2x4x16xbf16>, tensor<1x2x6x16xbf16>, tensor<1x2x6x16xbf16>, tensor<1x2x4x16xbf16>, tensor<1x2x4xf32>)
      -> (tensor<1x2x4x16xbf16>, tensor<1x2x6x16xbf16>, tensor<1x2x6x16xbf16>)
  return
}

//===----------------------------------------------------------------------===//
// Normalization
//===----------------------------------------------------------------------===//

// CHECK-LABEL: @layer_norm
//       CHECK:   aten.layer_norm %{{.*}} weight(%{{.*}}) bias(%{{.*}}) {eps = 1.000000e-05 : f64, normalized_shape = array<i64: 8>}
//  CHECK-SAME:     -> (tensor<2x3x8xbf16>, tensor<2x3x1xf32>, tensor<2x3x1xf32>)
//       CHECK:   aten.layer_norm %{{.*}} bias(%{{.*}}) {
//       CHECK:   aten.native_layer_norm_backward %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} weight(%{{.*}}) {normalized_shape = array<i64: 8>}
func.func @layer_norm(%x: tensor<2x3x8xbf16>, %weight: tensor<8xf32>) {
  %0, %mean, %rstd = aten.layer_norm %x weight(%weight) bias(%weight) {normalized_shape = array<i64: 8>, eps = 1.0e-5 : f64}
      : (tensor<2x3x8xbf16>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x3x8xbf16>, tensor<2x3x1xf32>, tensor<2x3x1xf32>)
  %1:3 = aten.layer_norm %x bias(%weight) {normalized_shape = array<i64: 8>, eps = 1.0e-5 : f64}
      : (tensor<2x3x8xbf16>, tensor<8xf32>) -> (tensor<2x3x8xbf16>, tensor<2x3x1xf32>, tensor<2x3x1xf32>)
  %2:3 = aten.native_layer_norm_backward %0, %x, %mean, %rstd weight(%weight) {normalized_shape = array<i64: 8>}
      : (tensor<2x3x8xbf16>, tensor<2x3x8xbf16>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<8xf32>)
      -> (tensor<2x3x8xbf16>, tensor<8xf32>, tensor<8xf32>)
  return
}

// CHECK-LABEL: @batch_norm
//       CHECK:   aten.batch_norm %{{.*}} running(%{{.*}}, %{{.*}}) weight(%{{.*}}) bias(%{{.*}}) {eps = 1.000000e-05 : f64, momentum = 1.000000e-01 : f64, training = true}
//       CHECK:   aten.batch_norm %{{.*}} running(%{{.*}}, %{{.*}}) {
//       CHECK:   aten.native_batch_norm_backward %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {training = true}
func.func @batch_norm(%x: tensor<2x3x4x4xbf16>, %statistic: tensor<3xf32>) {
  %0:5 = aten.batch_norm %x running(%statistic, %statistic) weight(%statistic) bias(%statistic)
      {training = true, momentum = 0.1 : f64, eps = 1.0e-5 : f64}
      : (tensor<2x3x4x4xbf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
      -> (tensor<2x3x4x4xbf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  %1:5 = aten.batch_norm %x running(%statistic, %statistic) {training = false, momentum = 0.1 : f64, eps = 1.0e-5 : f64}
      : (tensor<2x3x4x4xbf16>, tensor<3xf32>, tensor<3xf32>)
      -> (tensor<2x3x4x4xbf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  %2:3 = aten.native_batch_norm_backward %0#0, %x, %0#3, %0#4 {training = true}
      : (tensor<2x3x4x4xbf16>, tensor<2x3x4x4xbf16>, tensor<3xf32>, tensor<3xf32>)
      -> (tensor<2x3x4x4xbf16>, tensor<3xf32>, tensor<3xf32>)
  return
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

// CHECK-LABEL: @cross_entropy
//       CHECK:   aten.cross_entropy_loss %{{.*}}, %{{.*}} {ignore_index = -100 : i64, reduction = #aten.reduction<mean>}
//  CHECK-SAME:     -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
//       CHECK:   aten.cross_entropy_loss_backward %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {ignore_index = -100 : i64, reduction = #aten.reduction<mean>}
func.func @cross_entropy(%logits: tensor<4x8xbf16>, %target: tensor<4xi64>) {
  %0:3 = aten.cross_entropy_loss %logits, %target {reduction = #aten.reduction<mean>, ignore_index = -100 : i64}
      : (tensor<4x8xbf16>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
  %1 = aten.cross_entropy_loss_backward %0#0, %logits, %target, %0#1, %0#2 {reduction = #aten.reduction<mean>, ignore_index = -100 : i64}
      : (tensor<f32>, tensor<4x8xbf16>, tensor<4xi64>, tensor<4xf32>, tensor<f32>) -> tensor<4x8xbf16>
  return
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

// CHECK-LABEL: @pooling
//       CHECK:   aten.max_pool2d_with_indices %{{.*}} {dilation = array<i64: 1, 1>, kernel_size = array<i64: 3, 3>, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>}
//  CHECK-SAME:     -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
//       CHECK:   aten.max_pool2d_with_indices_backward %{{.*}}, %{{.*}} {{.*}} -> tensor<1x2x8x8xf32>
//       CHECK:   aten.adaptive_avg_pool2d %{{.*}} [2, 1] : (tensor<1x2x8x8xf32>) -> tensor<1x2x2x1xf32>
//       CHECK:   aten.adaptive_avg_pool2d_backward %{{.*}} : (tensor<1x2x2x1xf32>) -> tensor<1x2x8x8xf32>
func.func @pooling(%x: tensor<1x2x8x8xf32>) {
  %0, %indices = aten.max_pool2d_with_indices %x
      {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>}
      : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  %1 = aten.max_pool2d_with_indices_backward %0, %indices
      {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>}
      : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>) -> tensor<1x2x8x8xf32>
  %2 = aten.adaptive_avg_pool2d %x [2, 1] : (tensor<1x2x8x8xf32>) -> tensor<1x2x2x1xf32>
  %3 = aten.adaptive_avg_pool2d_backward %2 : (tensor<1x2x2x1xf32>) -> tensor<1x2x8x8xf32>
  return
}

//===----------------------------------------------------------------------===//
// Look-ups and constants
//===----------------------------------------------------------------------===//

// CHECK-LABEL: @embedding
//       CHECK:   aten.embedding %{{.*}}, %{{.*}} : (tensor<10x8xf32>, tensor<2x3xi64>) -> tensor<2x3x8xf32>
//       CHECK:   aten.embedding %{{.*}}, %{{.*}} {padding_idx = 0 : i64}
//       CHECK:   aten.embedding_dense_backward %{{.*}}, %{{.*}} : (tensor<2x3x8xf32>, tensor<2x3xi64>) -> tensor<10x8xf32>
func.func @embedding(%table: tensor<10x8xf32>, %indices: tensor<2x3xi64>) {
  %0 = aten.embedding %table, %indices : (tensor<10x8xf32>, tensor<2x3xi64>) -> tensor<2x3x8xf32>
  %1 = aten.embedding %table, %indices {padding_idx = 0 : i64} : (tensor<10x8xf32>, tensor<2x3xi64>) -> tensor<2x3x8xf32>
  %2 = aten.embedding_dense_backward %0, %indices : (tensor<2x3x8xf32>, tensor<2x3xi64>) -> tensor<10x8xf32>
  return
}

// CHECK-LABEL: @constant
//       CHECK:   aten.constant dense<[0, 1, 2]> : tensor<3xi64>
func.func @constant() {
  %0 = aten.constant dense<[0, 1, 2]> : tensor<3xi64>
  return
}
