// RUN: shardc-opt %s --verify-diagnostics --shardc-narrow-masters

module @complex {
  // expected-error@+2 {{E0136: 'turns' is a parameter of 'complex<f32>', expected real numbers}}
  // expected-note@+1 {{help: keep it as pairs of real numbers and use torch.view_as_complex inside}}
  fsdp.parameter frozen @turns : tensor<4xcomplex<f32>>
}
