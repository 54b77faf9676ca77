// RUN: shardc-opt %s --split-input-file --shardc-insert-events --shardc-verify-program | FileCheck %s

// Compute waits for the gather that it reads from. The third gather takes the
// first's bytes again, but not before compute has read them.
// CHECK-LABEL: module @gathers_reuse_bytes
//       CHECK: exec.program @step streams ["compute", "gather"] arena 384 events 4 reuse_waits 1 {
//       CHECK:   exec.fill %[[A:.*]] : memref<32xf32> on 1 records [[A_IS_WHOLE:[0-9]+]]
//  CHECK-NEXT:   exec.fill %[[B:.*]] : memref<32xf32> on 1 records [[B_IS_WHOLE:[0-9]+]]
//  CHECK-NEXT:   exec.call "first" {{.*}} on 0 waits {{\[}}[[A_IS_WHOLE]]] records [[A_IS_READ:[0-9]+]]
//  CHECK-NEXT:   exec.fill %[[C:.*]] : memref<32xf32> on 1 waits {{\[}}[[A_IS_READ]]] records [[C_IS_WHOLE:[0-9]+]]
//  CHECK-NEXT:   exec.call "second" {{.*}} on 0 waits {{\[}}[[B_IS_WHOLE]]]{{$}}
//  CHECK-NEXT:   exec.call "third" {{.*}} on 0 waits {{\[}}[[C_IS_WHOLE]]]{{$}}
module @gathers_reuse_bytes {
  exec.program @step streams ["compute", "gather"] arena 384 {
    exec.section "micro_batch" repeat micro_batches {
      %a = exec.buffer at 0 : memref<32xf32>
      %b = exec.buffer at 128 : memref<32xf32>
      %c = exec.buffer at 0 : memref<32xf32>
      %sum = exec.buffer at 256 : memref<f32>
      exec.fill %a : memref<32xf32> on 1
      exec.fill %b : memref<32xf32> on 1
      exec.call "first" (%a : memref<32xf32>) -> (%sum : memref<f32>) {} on 0
      exec.fill %c : memref<32xf32> on 1
      exec.call "second" (%b : memref<32xf32>) -> (%sum : memref<f32>) {} on 0
      exec.call "third" (%c : memref<32xf32>) -> (%sum : memref<f32>) {} on 0
    }
  }
}

// -----

// Parts that touch no common byte need no event; which slot is a rank's own
// does not matter, because any of them may be meant.
// CHECK-LABEL: module @parts
//       CHECK: exec.program @step streams ["compute", "gather"] arena 256 events 1 {
//       CHECK:   exec.fill %{{.*}} on 1{{$}}
//       CHECK:   exec.fill %{{.*}} on 0 records 0{{$}}
//       CHECK:   exec.fill %{{.*}} on 1 waits [0]{{$}}
module @parts {
  fsdp.mesh @mesh <shard = 2>
  exec.program @step streams ["compute", "gather"] arena 256 {
    exec.section "micro_batch" repeat micro_batches {
      %whole = exec.buffer at 0 : memref<64xf32>
      %low = exec.part %whole[0] : memref<64xf32> -> memref<16xf32>
      %high = exec.part %whole[48] : memref<64xf32> -> memref<16xf32>
      %slot = exec.part %whole[32 + shard * 16] : memref<64xf32> -> memref<16xf32>
      exec.fill %low : memref<16xf32> on 1
      exec.fill %high : memref<16xf32> on 0
      exec.fill %slot : memref<16xf32> on 1
    }
  }
}

// -----

// Streams are joined between sections.
// CHECK-LABEL: module @sections
//       CHECK: exec.program @step streams ["compute", "gather"] arena 64 {
//       CHECK:   exec.fill %{{.*}} on 1{{$}}
//       CHECK:   exec.fill %{{.*}} on 0{{$}}
module @sections {
  exec.program @step streams ["compute", "gather"] arena 64 {
    exec.section "begin" {
      %a = exec.buffer at 0 : memref<16xf32>
      exec.fill %a : memref<16xf32> on 1
    }
    exec.section "micro_batch" repeat micro_batches {
      %b = exec.buffer at 0 : memref<16xf32>
      exec.fill %b : memref<16xf32> on 0
    }
  }
}

// -----

// Computation writes the second reduction's input while the first one runs, as
// no bytes are shared, but for FSDP2's programs.
// CHECK-LABEL: module @reductions
//       CHECK:   exec.reduce_scatter {{.*}} on 1 waits [0]{{$}}
//  CHECK-NEXT:   exec.fill %{{.*}} on 0 records 1{{$}}
//  CHECK-NEXT:   exec.reduce_scatter {{.*}} on 1 waits [1]{{$}}
module @reductions {
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
  }
  exec.program @step streams ["compute", "reduce"] arena 512 {
    exec.section "micro_batch" repeat micro_batches {
      %a = exec.buffer at 0 : memref<32xf32>
      %b = exec.buffer at 128 : memref<32xf32>
      %c = exec.buffer at 256 : memref<16xf32>
      exec.fill %a : memref<32xf32> on 0
      exec.reduce_scatter @root %a : memref<32xf32> -> %c : memref<16xf32> over ["shard"] on 1
      exec.fill %b : memref<32xf32> on 0
      exec.reduce_scatter @root %b : memref<32xf32> -> %c : memref<16xf32> over ["shard"] on 1
    }
  }
}

// -----

// CHECK-LABEL: module @serial_reductions
//       CHECK:   exec.reduce_scatter {{.*}} on 1 waits [0] records 1{{$}}
//  CHECK-NEXT:   exec.fill %{{.*}} on 0 waits [1] records 2{{$}}
//  CHECK-NEXT:   exec.reduce_scatter {{.*}} on 1 waits [2]{{$}}
module @serial_reductions {
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
  }
  exec.program @step streams ["compute", "reduce"] serial_reductions arena 512 {
    exec.section "micro_batch" repeat micro_batches {
      %a = exec.buffer at 0 : memref<32xf32>
      %b = exec.buffer at 128 : memref<32xf32>
      %c = exec.buffer at 256 : memref<16xf32>
      exec.fill %a : memref<32xf32> on 0
      exec.reduce_scatter @root %a : memref<32xf32> -> %c : memref<16xf32> over ["shard"] on 1
      exec.fill %b : memref<32xf32> on 0
      exec.reduce_scatter @root %b : memref<32xf32> -> %c : memref<16xf32> over ["shard"] on 1
    }
  }
}
