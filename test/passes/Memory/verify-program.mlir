// RUN: shardc-opt %s --split-input-file --shardc-verify-program | FileCheck %s

// M1 to M6 hold: this rank's slot of the gather and both halves of the arena
// are inside it, compute waits for the gather, the reduction adds to the
// gradient state, and the launch is of a kernel that exists.
// CHECK-LABEL: module @accepted
module @accepted {
  fsdp.mesh @mesh <shard = 2>
  exec.state "root#0.parameter" parameter segment 0 : tensor<16xf32>
  exec.state "root#0.gradient" gradient segment 0 : tensor<16xf32>
  exec.input "x" : tensor<32xf32>
  exec.scalar "learning_rate" : f32
  exec.program @step arena 256 streams ["compute", "gather", "reduce"] events 2 {
    exec.fill state[1 + 0] : memref<16xf32> in begin on 0
    exec.copy state[0 + 0] : memref<16xf32> -> arena[0 + 0 + rank * 64] : memref<16xf32> in micro_batch on 1
    exec.all_gather @root arena[0 + 0] : memref<32xf32> slot 64 in micro_batch on 1 records 0
    exec.call "matmul" (input[0 + 0] : memref<4x8xf32>, arena[0 + 0] : memref<4x8xf32>) -> (arena[0 + 128] : memref<4x4xf32>) {} in micro_batch on 0 waits [0] records 1
    exec.reduce_scatter @root arena[0 + 128] : memref<32xf32> -> state[1 + 0] : memref<16xf32> in micro_batch on 2 waits [1]
    exec.launch @sgd "sgd" extent 16 (state[0 + 0] : memref<16xf32>, state[1 + 0] : memref<16xf32>, scalar[0 + 0] : memref<f32>) in update on 0
  }
  module @kernels {
    func.func private @sgd(memref<16xf32>, memref<16xf32>, memref<f32>, index, index)
  }
}
