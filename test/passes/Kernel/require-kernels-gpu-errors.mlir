// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=cuda --shardc-select-libraries --shardc-require-kernels --verify-diagnostics

// Factorizations are library calls of processors alone.
func.func @factorization(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error@+2 {{E0240: operator 'aten.linalg_cholesky_ex' has no kernel for GPUs}}
  // expected-note@+1 {{help: replace the operator}}
  %l, %info = aten.linalg_cholesky_ex %x : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i64>)
  return %l : tensor<4x4xf32>
}
