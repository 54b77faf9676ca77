// RUN: shardc-opt %s --split-input-file --verify-diagnostics

// Dimensions are distinct and increasing.
func.func @repeated_dimension(%x: tensor<2x3xf32>) {
  // expected-error@+2 {{expected increasing dimensions below rank 2, got 0}}
  // expected-error@+1 {{'aten.sum' op failed to infer returned types}}
  %0 = aten.sum %x [1, 0] : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

// PyTorch has no mean of integers.
func.func @mean_of_integers(%x: tensor<2xi64>) {
  // expected-error@+1 {{expected floating-point elements, got 'tensor<2xi64>'}}
  %0 = aten.mean %x [0] : (tensor<2xi64>) -> tensor<i64>
  return
}

// -----

// An extreme needs elements.
func.func @extreme_of_nothing(%x: tensor<0x2xf32>) {
  // expected-error@+1 {{expected elements in dimension 0, got 'tensor<0x2xf32>'}}
  %0 = aten.amax %x [0] : (tensor<0x2xf32>) -> tensor<2xf32>
  return
}

// -----

// So does its place.
func.func @place_in_nothing(%x: tensor<0x2xf32>) {
  // expected-error@+2 {{expected elements in dimension 0, got tensor<0x2xf32>}}
  // expected-error@+1 {{'aten.argmax' op failed to infer returned types}}
  %0 = aten.argmax %x dim 0 : (tensor<0x2xf32>) -> tensor<2xi64>
  return
}

// -----

// And an order.
func.func @extreme_of_complex_numbers(%x: tensor<2xcomplex<f32>>) {
  // expected-error@+1 {{expected elements that have an order, got 'tensor<2xcomplex<f32>>'}}
  %0 = aten.amin %x [0] : (tensor<2xcomplex<f32>>) -> tensor<complex<f32>>
  return
}

// -----

// A scan has a dimension.
func.func @scan_dimension(%x: tensor<2xf32>) {
  // expected-error@+2 {{expected a dimension below 1, got 1}}
  // expected-error@+1 {{'aten.cumsum' op failed to infer returned types}}
  %0 = aten.cumsum %x dim 1 : (tensor<2xf32>) -> tensor<2xf32>
  return
}
