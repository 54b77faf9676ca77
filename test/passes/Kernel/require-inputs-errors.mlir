// RUN: shardc-opt %s --split-input-file --shardc-require-inputs --verify-diagnostics

module @no_elements {
  // expected-error@+2 {{E0136: input 'x' has no elements}}
  // expected-note@+1 {{help: export the model with at least one sample}}
  func.func @step(%x: tensor<0x3xf32> {shardc.name = "x"}) {
    return
  }
}

// -----

module @complex_buffer {
  // expected-error@+2 {{E0136: buffer 'rotations' has elements of type 'complex<f32>', which an artifact cannot hold}}
  // expected-note@+1 {{help: export the model}}
  fsdp.buffer @rotations : tensor<4xcomplex<f32>>
}
