// RUN: shardc-opt %s --split-input-file --verify-diagnostics

func.func @attention_head_dimension(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x16xf32>) {
  // expected-error@+2 {{expected query [B, H, T, D], key [B, K, S, D] and value [B, K, S, V] of one dtype, where K divides H, got tensor<1x2x4x8xf32>, tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>}}
  // expected-error@+1 {{'aten.scaled_dot_product_attention' op failed to infer returned types}}
  %0, %1 = aten.scaled_dot_product_attention %q, %k, %k {is_causal = true, scale = 1.0 : f64}
      : (tensor<1x2x4x8xf32>, tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @attention_heads(%q: tensor<1x4x3x8xf32>, %k: tensor<1x3x3x8xf32>) {
  // expected-error@+2 {{of one dtype, where K divides H, got}}
  // expected-error@+1 {{'aten.scaled_dot_product_attention' op failed to infer returned types}}
  %0:2 = aten.scaled_dot_product_attention %q, %k, %k {is_causal = false, scale = 1.0 : f64} : (tensor<1x4x3x8xf32>, tensor<1x3x3x8xf32>, tensor<1x3x3x8xf32>) -> (tensor<1x4x3x8xf32>, tensor<1x4x3xf32>)
  return
}

// -----

func.func @attention_mask_shape(%q: tensor<1x4x3x8xf32>, %m: tensor<4x3xi1>) {
  // expected-error@+2 {{expected a mask of booleans or floats that broadcasts to the scores, got tensor<4x3xi1>}}
  // expected-error@+1 {{'aten.scaled_dot_product_attention' op failed to infer returned types}}
  %0:2 = aten.scaled_dot_product_attention %q, %q, %q mask(%m) {is_causal = false, scale = 1.0 : f64} : (tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<4x3xi1>) -> (tensor<1x4x3x8xf32>, tensor<1x4x3xf32>)
  return
}

// -----

func.func @attention_mask_of_integers(%q: tensor<1x4x3x8xf32>, %m: tensor<3x3xi64>) {
  // expected-error@+2 {{expected a mask of booleans or floats that broadcasts to the scores, got tensor<3x3xi64>}}
  // expected-error@+1 {{'aten.scaled_dot_product_attention' op failed to infer returned types}}
  %0:2 = aten.scaled_dot_product_attention %q, %q, %q mask(%m) {is_causal = false, scale = 1.0 : f64} : (tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<3x3xi64>) -> (tensor<1x4x3x8xf32>, tensor<1x4x3xf32>)
  return
}

// -----

func.func @gradient_of_booleans(%q: tensor<1x4x3x8xf32>, %l: tensor<1x4x3xf32>, %m: tensor<3x3xi1>) {
  // expected-error@+2 {{expected mask_gradient with a mask of floats}}
  // expected-error@+1 {{'aten.scaled_dot_product_attention_backward' op failed to infer returned types}}
  %0:4 = aten.scaled_dot_product_attention_backward %q, %q, %q, %q, %q, %l mask(%m) {is_causal = false, mask_gradient, scale = 1.0 : f64} : (tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3xf32>, tensor<3x3xi1>) -> (tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<3x3xf32>)
  return
}

// -----

func.func @dropout_without_probability(%q: tensor<1x4x3x8xf32>, %n: tensor<i64>) {
  // expected-error@+1 {{expected dropout with a probability above 0 and the run's seed, step and slice, or neither}}
  %0:2 = aten.scaled_dot_product_attention %q, %q, %q dropout(%n, %n, %n) {is_causal = false, scale = 1.0 : f64} : (tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<1x4x3x8xf32>, tensor<1x4x3xf32>)
  return
}

// -----

func.func @dropout_without_numbers(%q: tensor<1x4x3x8xf32>) {
  // expected-error@+1 {{expected dropout with a probability above 0 and the run's seed, step and slice, or neither}}
  %0:2 = aten.scaled_dot_product_attention %q, %q, %q {dropout_p = 0.5 : f64, is_causal = false, scale = 1.0 : f64} : (tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>) -> (tensor<1x4x3x8xf32>, tensor<1x4x3xf32>)
  return
}
