// RUN: shardc-opt %s --split-input-file --verify-diagnostics

func.func @triples(%x: tensor<3x3xf32>) {
  // expected-error@+2 {{expected pairs [*, 2] of f32 or f64, got tensor<3x3xf32>}}
  // expected-error@+1 {{'aten.view_as_complex' op failed to infer returned types}}
  %0 = aten.view_as_complex %x : (tensor<3x3xf32>) -> tensor<3xcomplex<f32>>
  return
}

// -----

func.func @pairs_of_bf16(%x: tensor<3x2xbf16>) {
  // expected-error@+2 {{expected pairs [*, 2] of f32 or f64, got tensor<3x2xbf16>}}
  // expected-error@+1 {{'aten.view_as_complex' op failed to infer returned types}}
  %0 = aten.view_as_complex %x : (tensor<3x2xbf16>) -> tensor<3xcomplex<f32>>
  return
}

// -----

func.func @pairs_of_pairs(%x: tensor<3x2xf32>) {
  // expected-error@+1 {{operand #0 must be static tensor of complex numbers}}
  %0 = aten.view_as_real %x : (tensor<3x2xf32>) -> tensor<3x2x2xf32>
  return
}
