// RUN: shardc-opt %s --split-input-file --verify-diagnostics

// Operands broadcast.
func.func @comparison_of_shapes(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error@+2 {{expected shapes that broadcast, got tensor<2xf32> and tensor<3xf32>}}
  // expected-error@+1 {{'aten.lt' op failed to infer returned types}}
  %0 = aten.lt %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xi1>
  return
}

// -----

// A condition is boolean.
func.func @where_of_integers(%c: tensor<2xi64>, %x: tensor<2xf32>) {
  // expected-error@+1 {{operand #0 must be static tensor of booleans}}
  %0 = aten.where %c, %x, %x : (tensor<2xi64>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}
