// RUN: shardc-opt %s --split-input-file --shardc-map-kernels-to-gpu | FileCheck %s

// What threads share is the workgroup's, and an operand's alignment stays.
// CHECK-LABEL: gpu.module @kernels
//       CHECK: gpu.func @kernel_reverse(%[[X:.*]]: memref<8xf32> {llvm.align = 16 : i64}, %[[Y:.*]]: memref<8xf32>) workgroup(%[[SHARED:.*]] : memref<8xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}) kernel
//  CHECK-SAME: known_block_size = array<i32: 8, 1, 1>, nvvm.minctasm = 1 : i32
//       CHECK: %[[T:.*]] = gpu.thread_id x
//       CHECK: %[[ELEMENT:.*]] = memref.load %[[X]][%[[T]]]
//       CHECK: memref.store %[[ELEMENT]], %[[SHARED]][%[[T]]]
//       CHECK: gpu.barrier
//       CHECK: gpu.return
module @reverse {
  module @kernels {
    func.func @kernel_reverse(%x: memref<8xf32> {exec.alignment = 16 : i64}, %y: memref<8xf32> {exec.access = "write"}) attributes {exec.extent = 1 : i64, exec.threads = 8 : i64} {
      %seven = arith.constant 7 : index
      %shared = memref.alloca() {alignment = 16 : i64} : memref<8xf32, #gpu.address_space<workgroup>>
      %t = gpu.thread_id x
      %0 = memref.load %x[%t] : memref<8xf32>
      memref.store %0, %shared[%t] : memref<8xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %other = arith.subi %seven, %t : index
      %1 = memref.load %shared[%other] : memref<8xf32, #gpu.address_space<workgroup>>
      memref.store %1, %y[%t] : memref<8xf32>
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
    func.func @kernel_table(%y: memref<2xf32>) attributes {exec.threads = 2 : i64} {
      %table = memref.get_global @constant_0 : memref<2xf32>
      %t = gpu.thread_id x
      %0 = memref.load %table[%t] : memref<2xf32>
      memref.store %0, %y[%t] : memref<2xf32>
      return
    }
  }
}
