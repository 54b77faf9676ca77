// RUN: shardc-opt %s --split-input-file --shardc-form-kernels --verify-diagnostics

func.func @unsigned_bytes(%x: tensor<4xui8>) -> tensor<4xf32> {
  // expected-error@below {{E0240: operator 'aten.to' has no kernel for 'tensor<4xui8>'}}
  %0 = aten.to %x f32 : (tensor<4xui8>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
