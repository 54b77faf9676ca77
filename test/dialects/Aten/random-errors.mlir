// RUN: shardc-opt %s --split-input-file --verify-diagnostics

// A probability is at most 1.
func.func @probability(%x: tensor<3xf32>) {
  // expected-error@+1 {{expected a probability between 0 and 1, got 1.5}}
  %0 = aten.dropout %x {p = 1.5 : f64, stream = 0 : i64} : (tensor<3xf32>) -> tensor<3xf32>
  return
}
