// RUN: shardc-opt %s --split-input-file --shardc-verify-program | FileCheck %s

// M1 to M7 hold: this rank's slot of the gather and both halves of the arena
// are inside it, compute waits for the gather, the reduction adds to the
// gradient state, and the launch is of a kernel that exists.
// CHECK-LABEL: module @accepted
module @accepted {
  fsdp.mesh @mesh <shard = 2>
  %parameter = exec.state "root#0.parameter" parameter segment 0 : memref<16xf32>
  %gradient = exec.state "root#0.gradient" gradient segment 0 : memref<16xf32>
  %x = exec.input "x" : memref<4x8xf32>
  %rate = exec.scalar "learning_rate" : memref<f64>
  exec.program @step streams ["compute", "gather", "reduce"] arena 256 events 2 {
    exec.section "begin" {
      exec.fill %gradient : memref<16xf32> on 0
    }
    exec.section "micro_batch" repeat micro_batches {
      %whole = exec.buffer at 0 : memref<32xf32>
      %slot = exec.part %whole[0 + shard * 16] : memref<32xf32> -> memref<16xf32>
      %w = exec.part %whole[0] : memref<32xf32> -> memref<4x8xf32>
      %d_whole = exec.buffer at 128 : memref<32xf32>
      %d_w = exec.part %d_whole[0] : memref<32xf32> -> memref<4x8xf32>
      exec.copy %parameter : memref<16xf32> -> %slot : memref<16xf32> on 1
      exec.all_gather @root %whole : memref<32xf32> slot 64 over ["shard"] on 1 records 0
      exec.call "matmul" (%x : memref<4x8xf32>, %w : memref<4x8xf32>) -> (%d_w : memref<4x8xf32>) {} on 0 waits [0] records 1
      exec.reduce_scatter @root %d_whole : memref<32xf32> -> %gradient : memref<16xf32> over ["shard"] on 2 waits [1]
    }
    exec.section "update" {
      exec.launch @sgd "sgd" extent 16 (read_write %parameter : memref<16xf32>, %gradient : memref<16xf32>, %rate : memref<f64>) on 0
    }
  }
  module @kernels {
    func.func private @sgd(memref<16xf32>, memref<16xf32>, memref<f64>, index, index)
  }
}

// -----

// An order may go over a third command: stream 2 knows what stream 1 waited for.
// CHECK-LABEL: module @order_through_another
module @order_through_another {
  exec.program @step streams ["compute", "gather", "reduce"] arena 128 events 2 {
    exec.section "micro_batch" repeat micro_batches {
      %a = exec.buffer at 0 : memref<16xf32>
      %b = exec.buffer at 64 : memref<16xf32>
      exec.fill %a : memref<16xf32> on 0 records 0
      exec.fill %b : memref<16xf32> on 1 waits [0] records 1
      exec.copy %a : memref<16xf32> -> %b : memref<16xf32> on 2 waits [1]
    }
  }
}

// -----

// A workspace is its call's alone, and takes bytes that others have at other
// times.
// CHECK-LABEL: module @M8_workspace
module @M8_workspace {
  %x = exec.input "x" : memref<4x8xf32>
  exec.program @step streams ["compute"] arena 512 {
    exec.section "micro_batch" repeat micro_batches {
      %y = exec.buffer at 0 : memref<4x4xf32>
      %w = exec.buffer at 256 : memref<256xi8>
      %z = exec.buffer at 256 : memref<4x4xf32>
      exec.call "matmul" (%x : memref<4x8xf32>, %x : memref<4x8xf32>) -> (%y : memref<4x4xf32>) {transpose_b = true} workspace %w : memref<256xi8> on 0
      exec.copy %y : memref<4x4xf32> -> %z : memref<4x4xf32> on 0
    }
  }
}
