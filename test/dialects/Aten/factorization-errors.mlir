// RUN: shardc-opt %s --split-input-file --verify-diagnostics

// LAPACK has no 16-bit floats, nor has PyTorch.
func.func @half(%a: tensor<3x3xbf16>) {
  // expected-error@+2 {{expected matrices of f32 or f64, got tensor<3x3xbf16>}}
  // expected-error@+1 {{failed to infer returned types}}
  %l, %info = aten.linalg_cholesky_ex %a : (tensor<3x3xbf16>) -> (tensor<3x3xbf16>, tensor<i64>)
  return
}

// -----

func.func @complex(%a: tensor<3x3xcomplex<f32>>) {
  // expected-error@+2 {{expected matrices of f32 or f64, got tensor<3x3xcomplex<f32>>}}
  // expected-error@+1 {{failed to infer returned types}}
  %q, %r = aten.linalg_qr %a : (tensor<3x3xcomplex<f32>>) -> (tensor<3x3xcomplex<f32>>, tensor<3x3xcomplex<f32>>)
  return
}

// -----

func.func @vector(%a: tensor<3xf32>) {
  // expected-error@+2 {{expected matrices [*, m, n], got tensor<3xf32>}}
  // expected-error@+1 {{failed to infer returned types}}
  %u, %s, %vh = aten.linalg_svd %a : (tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @not_square(%a: tensor<3x4xf32>) {
  // expected-error@+2 {{expected square matrices [*, n, n], got tensor<3x4xf32>}}
  // expected-error@+1 {{failed to infer returned types}}
  %w, %v = aten.linalg_eigh %a : (tensor<3x4xf32>) -> (tensor<3xf32>, tensor<3x4xf32>)
  return
}

// -----

func.func @other_batch(%a: tensor<2x3x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error@+2 {{expected right-hand sides [*, n, k] of tensor<2x3x3xf32>, got tensor<3x5xf32>}}
  // expected-error@+1 {{failed to infer returned types}}
  %x = aten.linalg_solve_triangular %a, %b {upper = false} : (tensor<2x3x3xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return
}
