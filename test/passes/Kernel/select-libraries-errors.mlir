// RUN: shardc-opt %s --split-input-file --shardc-select-libraries --verify-diagnostics

// The library's convolution is 2-d and goes forwards.
func.func @convolution_of_vectors(%x: tensor<1x1x4xf32>, %w: tensor<1x1x2xf32>) -> tensor<1x1x3xf32> {
  // expected-error@+1 {{E0240: operator 'aten.convolution' with 1 dimensions has no kernel yet}}
  %0 = aten.convolution %x, %w {stride = array<i64: 1>, padding = array<i64: 0>, dilation = array<i64: 1>, groups = 1 : i64}
      : (tensor<1x1x4xf32>, tensor<1x1x2xf32>) -> tensor<1x1x3xf32>
  return %0 : tensor<1x1x3xf32>
}

// -----

func.func @attention_mask(%q: tensor<1x2x4x8xf32>, %mask: tensor<4x4xi1>) -> tensor<1x2x4x8xf32> {
  // expected-error@+1 {{E0240: operator 'aten.scaled_dot_product_attention' with an attn_mask has no kernel yet}}
  %0, %1 = aten.scaled_dot_product_attention %q, %q, %q mask(%mask) {is_causal = false, scale = 1.0 : f64}
      : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<4x4xi1>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>)
  return %0 : tensor<1x2x4x8xf32>
}

// -----

func.func @grouped_queries(%q: tensor<1x2x4x8xf32>, %k: tensor<1x1x4x8xf32>) -> tensor<1x2x4x8xf32> {
  // expected-error@+1 {{E0240: operator 'aten.scaled_dot_product_attention' with fewer key than query heads has no kernel yet}}
  %0, %1 = aten.scaled_dot_product_attention %q, %k, %k {is_causal = false, scale = 1.0 : f64}
      : (tensor<1x2x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>)
  return %0 : tensor<1x2x4x8xf32>
}
