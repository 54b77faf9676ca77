// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=sm_90 --shardc-map-kernels-to-gpu | FileCheck %s

// One thread an iteration, in blocks of as many as the function says; threads
// past the end do nothing.
// CHECK-LABEL: gpu.module @kernels
//       CHECK: gpu.func @kernel_relu(%[[X:.*]]: memref<8xf32>, %[[Y:.*]]: memref<8xf32>, %[[BEGIN:.*]]: index, %[[END:.*]]: index) kernel
//  CHECK-SAME: known_block_size = array<i32: 8, 1, 1>
//       CHECK: %[[ZERO:.*]] = arith.constant 0.0
//       CHECK: %[[THREAD:.*]] = gpu.global_id x
//       CHECK: %[[I:.*]] = arith.addi %[[BEGIN]], %[[THREAD]]
//       CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[I]], %[[END]]
//       CHECK: scf.if %[[INSIDE]] {
//       CHECK:   %[[ELEMENT:.*]] = memref.load %[[X]][%[[I]]]
//       CHECK:   %[[RELU:.*]] = arith.maximumf %[[ELEMENT]], %[[ZERO]]
//       CHECK:   memref.store %[[RELU]], %[[Y]][%[[I]]]
//       CHECK: gpu.return
module @relu {
  module @kernels {
    func.func @kernel_relu(%x: memref<8xf32>, %y: memref<8xf32>, %begin: index, %end: index) attributes {exec.threads = 8 : i64} {
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1 : index
      scf.parallel (%i) = (%begin) to (%end) step (%one) {
        %0 = memref.load %x[%i] : memref<8xf32>
        %1 = arith.maximumf %0, %zero : f32
        memref.store %1, %y[%i] : memref<8xf32>
      }
      return
    }
  }
}

// -----

// Constant tensors go with the kernels.
// CHECK-LABEL: gpu.module @kernels
//       CHECK: memref.global "private" constant @constant_0
//       CHECK: memref.get_global @constant_0
module @table {
  module @kernels {
    memref.global "private" constant @constant_0 : memref<2xf32> = dense<[1.0, 2.0]>
    func.func @kernel_table(%y: memref<2xf32>, %begin: index, %end: index) {
      %table = memref.get_global @constant_0 : memref<2xf32>
      %one = arith.constant 1 : index
      scf.parallel (%i) = (%begin) to (%end) step (%one) {
        %0 = memref.load %table[%i] : memref<2xf32>
        memref.store %0, %y[%i] : memref<2xf32>
      }
      return
    }
  }
}
