// RUN: shardc-opt %s --split-input-file --verify-diagnostics

// Sizes are equal or 1.
func.func @shapes_that_do_not_broadcast(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error@+2 {{expected shapes that broadcast, got tensor<2xf32> and tensor<3xf32>}}
  // expected-error@+1 {{'aten.maximum' op failed to infer returned types}}
  %0 = aten.maximum %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

// True division of integers is converted by the importer.
func.func @integer_quotient(%x: tensor<2xi64>) {
  // expected-error@+1 {{expected floating-point operands, got 'i64'; integers are converted or rounded}}
  %0 = aten.div %x, %x : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  return
}

// -----

// So are operands of functions with real results.
func.func @integer_function(%x: tensor<2xi64>) {
  // expected-error@+1 {{operand #0 must be static tensor of floats}}
  %0 = aten.exp %x : (tensor<2xi64>) -> tensor<2xi64>
  return
}

// -----

// A scalar is of the tensor's kind.
func.func @float_exponent_of_integers(%x: tensor<2xi64>) {
  // expected-error@+1 {{expected an integer scalar for elements of type 'i64', got 5.000000e-01 : f64}}
  %0 = aten.pow.Tensor_Scalar %x, 0.5 : f64 : (tensor<2xi64>) -> tensor<2xi64>
  return
}

// -----

// PyTorch has no negative powers of integers.
func.func @negative_power_of_integers(%x: tensor<2xi64>) {
  // expected-error@+1 {{expected an exponent of at least 0 for integers, got -1}}
  %0 = aten.pow.Tensor_Scalar %x, -1 : i64 : (tensor<2xi64>) -> tensor<2xi64>
  return
}

// -----

// A clamp has a bound.
func.func @clamp_without_bounds(%x: tensor<2xf32>) {
  // expected-error@+1 {{expected a minimum or a maximum}}
  %0 = aten.clamp %x : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// Only integers have bits.
func.func @bits_of_floats(%x: tensor<2xf32>) {
  // expected-error@+1 {{operand #0 must be}}
  %0 = aten.bitwise_not %x : (tensor<2xf32>) -> tensor<2xf32>
  return
}
