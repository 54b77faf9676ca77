// RUN: shardc-opt %s --split-input-file --verify-diagnostics

// k elements are there.
func.func @too_many(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{expected k between 0 and 3, got 4}}
  // expected-error@+1 {{'aten.topk' op failed to infer returned types}}
  %0:2 = aten.topk %x dim 1 {k = 4 : i64} : (tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xi64>)
  return
}

// -----

// One sequence a row.
func.func @rows_of_sequences(%s: tensor<3x4xf32>, %x: tensor<2x5xf32>) {
  // expected-error@+2 {{expected a sorted sequence [N] or of the leading dimensions of tensor<2x5xf32>, got tensor<3x4xf32>}}
  // expected-error@+1 {{'aten.searchsorted' op failed to infer returned types}}
  %0 = aten.searchsorted %s, %x : (tensor<3x4xf32>, tensor<2x5xf32>) -> tensor<2x5xi64>
  return
}

// -----

// A histogram has bins.
func.func @no_bins(%x: tensor<2xf32>) {
  // expected-error@+2 {{expected at least one bin, got 0}}
  // expected-error@+1 {{'aten.histc' op failed to infer returned types}}
  %0 = aten.histc %x {bins = 0 : i64, min = 0.0 : f64, max = 1.0 : f64} : (tensor<2xf32>) -> tensor<0xf32>
  return
}
