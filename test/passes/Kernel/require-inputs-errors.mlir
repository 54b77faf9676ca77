// RUN: shardc-opt %s --split-input-file --shardc-require-inputs --verify-diagnostics

module @single_number {
  // expected-error@+2 {{E0136: input 'scale' is a single number; expected one sample for each index of its first dimension}}
  // expected-note@+1 {{help: make what is the same for all samples a buffer or a constant of the model, or expand it to the batch}}
  func.func @step(%x: tensor<4xf32> {shardc.name = "x"}, %scale: tensor<f32> {shardc.name = "scale"}) {
    return
  }
}

// -----

module @other_batch {
  // expected-error@+2 {{E0136: input 'weight' has 3 samples where input 'x' has 4; expected one sample for each index of its first dimension}}
  // expected-note@+1 {{help: make what is the same}}
  func.func @step(%x: tensor<4xf32> {shardc.name = "x"}, %weight: tensor<3xf32> {shardc.name = "weight"}) {
    return
  }
}

// -----

module @no_elements {
  // expected-error@+2 {{E0136: input 'x' has no elements; expected one sample for each index of its first dimension}}
  // expected-note@+1 {{help: make what is the same}}
  func.func @step(%x: tensor<0x3xf32> {shardc.name = "x"}) {
    return
  }
}

// -----

module @narrow_integers {
  // expected-error@+2 {{E0136: input 'x' has elements of type 'i16', which an artifact cannot hold}}
  // expected-note@+1 {{help: export the model with a float, boolean or 32 or 64-bit integer tensor in its place and convert inside}}
  func.func @step(%x: tensor<4xi16> {shardc.name = "x"}) {
    return
  }
}

// -----

module @complex_buffer {
  // expected-error@+2 {{E0136: buffer 'rotations' has elements of type 'complex<f32>', which an artifact cannot hold}}
  // expected-note@+1 {{help: export the model}}
  fsdp.buffer @rotations : tensor<4xcomplex<f32>>
}
