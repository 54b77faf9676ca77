// RUN: shardc-opt %s --split-input-file --verify-diagnostics

// A probability is at most 1.
func.func @probability(%x: tensor<3xf32>, %n: tensor<i64>) {
  // expected-error@+1 {{expected a probability between 0 and 1, got 1.5}}
  %0 = aten.dropout %x, %n, %n, %n {p = 1.5 : f64, stream = 0 : i64} : (tensor<3xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<3xf32>
  return
}

// -----

func.func @shared(%x: tensor<3xf32>, %n: tensor<i64>) {
  // expected-error@+1 {{expected ascending dimensions of 'tensor<3xf32>' to share draws, got 1}}
  %0 = aten.dropout %x, %n, %n, %n {p = 0.5 : f64, stream = 0 : i64, shared = array<i64: 1>} : (tensor<3xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<3xf32>
  return
}

// -----

// The numbers of the run have types of their own.
func.func @type() {
  // expected-error@+1 {{expected i64, got 'f64'}}
  %0 = fsdp.scalar seed : tensor<f64>
  return
}
