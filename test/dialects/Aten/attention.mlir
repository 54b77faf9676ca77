// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// Scaled dot-product attention.

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

// The mask broadcasts to the scores; two query heads share a key head here.
// CHECK-LABEL: @masked_attention
//       CHECK:   aten.scaled_dot_product_attention %{{.*}}, %{{.*}}, %{{.*}} mask(%{{.*}}) {is_causal = false, scale = 2.500000e-01 : f64}
//  CHECK-SAME:     -> (tensor<1x4x3x8xf32>, tensor<1x4x3xf32>)
func.func @masked_attention(%q: tensor<1x4x3x16xf32>, %k: tensor<1x2x6x16xf32>, %v: tensor<1x2x6x8xf32>, %mask: tensor<3x6xi1>) {
  %0, %1 = aten.scaled_dot_product_attention %q, %k, %v mask(%mask) {is_causal = false, scale = 0.25 : f64}
      : (tensor<1x4x3x16xf32>, tensor<1x2x6x16xf32>, tensor<1x2x6x8xf32>, tensor<3x6xi1>) -> (tensor<1x4x3x8xf32>, tensor<1x4x3xf32>)
  return
}

// The gradient of a mask is a result where one is wanted.
// CHECK-LABEL: @gradients_under_a_mask
//       CHECK:   aten.scaled_dot_product_attention_backward %{{.*}} mask(%{{.*}}) {is_causal = false, scale = 2.500000e-01 : f64}
//       CHECK:   aten.scaled_dot_product_attention_backward %{{.*}} mask(%{{.*}}) {is_causal = false, mask_gradient, scale = 2.500000e-01 : f64}
//  CHECK-SAME:     -> (tensor<1x4x3x16xf32>, tensor<1x2x6x16xf32>, tensor<1x2x6x8xf32>, tensor<4x1x6xbf16>)
func.func @gradients_under_a_mask(%q: tensor<1x4x3x16xf32>, %k: tensor<1x2x6x16xf32>, %v: tensor<1x2x6x8xf32>, %y: tensor<1x4x3x8xf32>, %l: tensor<1x4x3xf32>, %mask: tensor<4x1x6xbf16>) {
  %0:3 = aten.scaled_dot_product_attention_backward %y, %q, %k, %v, %y, %l mask(%mask) {is_causal = false, scale = 0.25 : f64}
      : (tensor<1x4x3x8xf32>, tensor<1x4x3x16xf32>, tensor<1x2x6x16xf32>, tensor<1x2x6x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3xf32>, tensor<4x1x6xbf16>)
      -> (tensor<1x4x3x16xf32>, tensor<1x2x6x16xf32>, tensor<1x2x6x8xf32>)
  %1:4 = aten.scaled_dot_product_attention_backward %y, %q, %k, %v, %y, %l mask(%mask) {is_causal = false, mask_gradient, scale = 0.25 : f64}
      : (tensor<1x4x3x8xf32>, tensor<1x4x3x16xf32>, tensor<1x2x6x16xf32>, tensor<1x2x6x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3xf32>, tensor<4x1x6xbf16>)
      -> (tensor<1x4x3x16xf32>, tensor<1x2x6x16xf32>, tensor<1x2x6x8xf32>, tensor<4x1x6xbf16>)
  return
}
