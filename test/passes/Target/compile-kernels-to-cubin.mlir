// RUN: shardc-opt %s --shardc-compile-kernels-to-cubin=format=isa | FileCheck %s
// RUN: shardc-opt %s --shardc-compile-kernels-to-cubin="chip=sm_80 format=isa" | FileCheck %s --check-prefix=OLDER

// The kernel is an entry point of the chip's PTX, and exp of f32 is arithmetic:
// no function of a library is called.
// CHECK: gpu.binary @kernels [#gpu.object<#nvvm.target<O = 3, chip = "sm_90">
//  CHECK-SAME: assembly = "
//  CHECK-SAME: .target sm_90
//  CHECK-SAME: .visible .entry kernel_exp(
//  CHECK-SAME: .maxntid 256
//   CHECK-NOT: call
//  CHECK-SAME: fma.rn.f32
// OLDER: .target sm_80
module @exponential attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @kernel_exp(%x: memref<8xf32>, %y: memref<8xf32>, %begin: index, %end: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
      %thread = gpu.global_id x
      %i = arith.addi %begin, %thread : index
      %inside = arith.cmpi slt, %i, %end : index
      scf.if %inside {
        %0 = memref.load %x[%i] : memref<8xf32>
        %1 = math.exp %0 : f32
        memref.store %1, %y[%i] : memref<8xf32>
      }
      gpu.return
    }
  }
}
