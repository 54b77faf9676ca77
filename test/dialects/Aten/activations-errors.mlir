// RUN: shardc-opt %s --split-input-file --verify-diagnostics

// Dimensions count from the front.
func.func @softmax_dimension(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{expected a dimension below 2, got 2}}
  // expected-error@+1 {{'aten.softmax' op failed to infer returned types}}
  %0 = aten.softmax %x dim 2 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// One slope, or one a channel.
func.func @slopes(%x: tensor<2x3xf32>, %w: tensor<2xf32>) {
  // expected-error@+2 {{expected 1 or 3 slopes, got tensor<2xf32>}}
  // expected-error@+1 {{'aten.prelu' op failed to infer returned types}}
  %0 = aten.prelu %x, %w : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}
