// RUN: shardc-opt %s --verify-diagnostics --shardc-split-reductions

// Without a target nobody knows how many threads there are.
// expected-error@+1 {{expected the attribute shardc.target}}
module {
  func.func @nothing() {
    return
  }
}
