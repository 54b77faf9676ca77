// RUN: shardc-opt %s --verify-diagnostics --shardc-fuse-kernels

// Without a target nobody knows what fits near the arithmetic.
// expected-error@+1 {{expected the attribute shardc.target}}
module {
  func.func @nothing() {
    return
  }
}
