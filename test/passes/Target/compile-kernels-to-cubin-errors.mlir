// RUN: env CUDA_HOME=/nonexistent shardc-opt %s --split-input-file --shardc-compile-kernels-to-cubin=format=isa --verify-diagnostics

module @f64_exponential attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @kernel_exp(%x: memref<8xf64>, %i: index) kernel {
      %0 = memref.load %x[%i] : memref<8xf64>
      // expected-error@below {{E0241: 'math.exp' of 'f64' needs the CUDA toolkit's libdevice to run on a GPU}}
      %1 = math.exp %0 : f64
      memref.store %1, %x[%i] : memref<8xf64>
      gpu.return
    }
  }
}
