// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=x86-64-v3 --shardc-select-libraries --shardc-require-kernels --verify-diagnostics

// One error names one operator of each kind, and the modules that they are in.
func.func @all_at_once(%x: tensor<4xui8>) -> tensor<4xf32> {
  // expected-error@unknown {{E0240: operator 'aten.mul' has no kernel for tensor<4xui8>, tensor<4xui8>}}
  // expected-note@unknown {{in module 'ranking'}}
  // expected-note@unknown {{operator 'aten.to' has no kernel for tensor<4xui8> either, in module 'ranking.last'}}
  // expected-note@unknown {{help: replace the operator, or compute its result outside of the model and pass it as input}}
  %0 = aten.mul %x, %x : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8> loc("ranking")
  %1 = aten.mul %0, %x : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %2 = aten.to %1 f32 : (tensor<4xui8>) -> tensor<4xf32> loc("ranking.last")
  %3 = aten.relu %2 : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

func.func @unsigned_bytes(%x: tensor<4xui8>) -> tensor<4xf32> {
  // expected-error@+2 {{E0240: operator 'aten.to' has no kernel for tensor<4xui8>}}
  // expected-note@+1 {{help: replace the operator}}
  %0 = aten.to %x f32 : (tensor<4xui8>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @complex_numbers(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  // expected-error@+2 {{E0240: operator 'aten.mul' has no kernel for tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>}}
  // expected-note@+1 {{help: replace the operator}}
  %0 = aten.mul %x, %x : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// -----

// What shardc-expand-complex leaves: the ways to complex numbers and back are
// there for the operator between them, and not the reader's business.
func.func @complex_power(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %0 = aten.view_as_complex %x : (tensor<4x2xf32>) -> tensor<4xcomplex<f32>>
  // expected-error@+2 {{E0240: operator 'aten.pow' with complex numbers has no kernel yet}}
  // expected-note@+1 {{help: replace the operator}}
  %1 = aten.pow %0, %0 : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %2 = aten.view_as_real %1 : (tensor<4xcomplex<f32>>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// -----

func.func @no_elements(%x: tensor<0x4xf32>, %w: tensor<3x4xf32>) -> tensor<0x3xf32> {
  // expected-error@+2 {{E0240: operator 'aten.linear' has no kernel for tensor<0x4xf32>, tensor<3x4xf32>}}
  // expected-note@+1 {{help: replace the operator}}
  %0 = aten.linear %x, %w : (tensor<0x4xf32>, tensor<3x4xf32>) -> tensor<0x3xf32>
  return %0 : tensor<0x3xf32>
}

// -----

func.func @scatter_without_self(%x: tensor<4xi64>, %i: tensor<4xi64>) -> tensor<4xi64> {
  // expected-error@+2 {{E0240: operator 'aten.scatter_reduce' with include_self = false or a mean has no kernel yet}}
  // expected-note@+1 {{help: replace the operator}}
  %0 = aten.scatter_reduce %x dim 0 at %i from %x {reduce = #aten.scatter_reduction<amax>, include_self = false} : (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}
