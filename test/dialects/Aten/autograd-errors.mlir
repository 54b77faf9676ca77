// RUN: shardc-opt %s --split-input-file --verify-diagnostics

// The gradient of an argument is the sum of products that have its shape.
func.func @slope_without_an_argument_s_elements(%x: tensor<4xf32>, %y: tensor<3x4xf32>) {
  // expected-error@+2 {{expected an argument that broadcasts to the shape of the value and its slope, got tensor<3x4xf32>}}
  // expected-error@+1 {{'aten.with_slope' op failed to infer returned types}}
  %0 = aten.with_slope %x by %y, %x : (tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
