// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// A factor, and for each matrix what LAPACK says about it.
// CHECK-LABEL: @cholesky
func.func @cholesky(%a: tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2xi64>) {
  // CHECK: aten.linalg_cholesky_ex %{{.*}} {check_errors = true} : (tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2xi64>)
  %l, %info = aten.linalg_cholesky_ex %a {check_errors = true} : (tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2xi64>)
  return %l, %info : tensor<2x3x3xf32>, tensor<2xi64>
}

// Pivots are as many as the smaller side has elements, the permutation has all rows.
// CHECK-LABEL: @lu_factor
func.func @lu_factor(%a: tensor<4x3xf64>) -> tensor<4x3xf64> {
  // CHECK: aten.linalg_lu_factor_ex %{{.*}} : (tensor<4x3xf64>) -> (tensor<4x3xf64>, tensor<3xi64>, tensor<4xi64>, tensor<i64>)
  %lu, %pivots, %permutation, %info = aten.linalg_lu_factor_ex %a : (tensor<4x3xf64>) -> (tensor<4x3xf64>, tensor<3xi64>, tensor<4xi64>, tensor<i64>)
  return %lu : tensor<4x3xf64>
}

// CHECK-LABEL: @solve_triangular
func.func @solve_triangular(%a: tensor<2x3x3xf32>, %b: tensor<2x3x5xf32>) -> tensor<2x3x5xf32> {
  // CHECK: aten.linalg_solve_triangular %{{.*}}, %{{.*}} {upper = true} : (tensor<2x3x3xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %x = aten.linalg_solve_triangular %a, %b {upper = true} : (tensor<2x3x3xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  return %x : tensor<2x3x5xf32>
}

// Q and R of a tall and of a wide matrix have the smaller side between them.
// CHECK-LABEL: @qr
func.func @qr(%tall: tensor<5x3xf32>, %wide: tensor<2x3x5xf32>) -> (tensor<5x3xf32>, tensor<2x3x5xf32>) {
  // CHECK: aten.linalg_qr %{{.*}} : (tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<3x3xf32>)
  %q, %0 = aten.linalg_qr %tall : (tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<3x3xf32>)
  // CHECK: aten.linalg_qr %{{.*}} : (tensor<2x3x5xf32>) -> (tensor<2x3x3xf32>, tensor<2x3x5xf32>)
  %1, %r = aten.linalg_qr %wide : (tensor<2x3x5xf32>) -> (tensor<2x3x3xf32>, tensor<2x3x5xf32>)
  return %q, %r : tensor<5x3xf32>, tensor<2x3x5xf32>
}

// CHECK-LABEL: @eigh
func.func @eigh(%a: tensor<2x3x3xf32>) -> (tensor<2x3xf32>, tensor<2x3x3xf32>) {
  // CHECK: aten.linalg_eigh %{{.*}} : (tensor<2x3x3xf32>) -> (tensor<2x3xf32>, tensor<2x3x3xf32>)
  %w, %v = aten.linalg_eigh %a : (tensor<2x3x3xf32>) -> (tensor<2x3xf32>, tensor<2x3x3xf32>)
  return %w, %v : tensor<2x3xf32>, tensor<2x3x3xf32>
}

// CHECK-LABEL: @svd
func.func @svd(%a: tensor<5x3xf64>) -> tensor<3xf64> {
  // CHECK: aten.linalg_svd %{{.*}} : (tensor<5x3xf64>) -> (tensor<5x3xf64>, tensor<3xf64>, tensor<3x3xf64>)
  %u, %s, %vh = aten.linalg_svd %a : (tensor<5x3xf64>) -> (tensor<5x3xf64>, tensor<3xf64>, tensor<3x3xf64>)
  return %s : tensor<3xf64>
}
