// RUN: shardc-opt %s --verify-diagnostics --shardc-set-target=target=pdp-11

// expected-error@+1 {{expected a target out of x86-64, x86-64-v2, x86-64-v3, x86-64-v4, cuda; got 'pdp-11'}}
module @unknown_target {
}
