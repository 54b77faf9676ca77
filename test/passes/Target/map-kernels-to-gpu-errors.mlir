// RUN: shardc-opt %s --shardc-map-kernels-to-gpu --verify-diagnostics

module @serial {
  module @kernels {
    // expected-error@below {{expected a kernel with blocks: it was outlined for a processor}}
    func.func @kernel_relu(%x: memref<8xf32>, %begin: index, %end: index) attributes {exec.extent = 8 : i64} {
      return
    }
  }
}
