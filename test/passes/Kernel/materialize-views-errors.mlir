// RUN: shardc-opt %s --verify-diagnostics --shardc-materialize-views

// Without a target nobody knows how libraries want their images.
// expected-error@+1 {{expected the attribute shardc.target}}
module {
  func.func @nothing() {
    return
  }
}
