// RUN: shardc-opt %s --split-input-file --shardc-form-kernels --verify-diagnostics

func.func @unsigned_bytes(%x: tensor<4xui8>) -> tensor<4xf32> {
  // expected-error@below {{E0240: operator 'aten.to' has no kernel for 'tensor<4xui8>'}}
  %0 = aten.to %x f32 : (tensor<4xui8>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A kernel's windows have one size.
func.func @windows_of_two_sizes(%x: tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32> {
  // expected-error@+1 {{E0240: operator 'aten.adaptive_avg_pool2d' with an output_size that does not divide the image's has no kernel yet}}
  %0 = aten.adaptive_avg_pool2d %x [2, 2] : (tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32>
  return %0 : tensor<1x1x2x2xf32>
}

// -----

func.func @gradient_of_a_step(%x: tensor<2xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{E0240: operator 'aten.slice_backward' with a step other than 1 has no kernel yet}}
  %0 = aten.slice_backward %x into [4] dim 0 [0 : 4 : 2] : (tensor<2xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
