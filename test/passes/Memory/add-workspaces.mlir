// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=cuda --shardc-add-workspaces | FileCheck %s
// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=cuda --shardc-add-workspaces --remarks-filter=shardc-add-workspaces 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=cuda --shardc-add-workspaces --shardc-place-buffers --shardc-insert-events --shardc-verify-program | FileCheck %s --check-prefix=PLACED
// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=x86-64-v3 --shardc-add-workspaces | FileCheck %s --check-prefix=CPU

// cuBLASLt may have four times the bytes of a small product's tensors: 4 * 4 *
// (16 * 64 + 64 * 32 + 16 * 32). A processor's libraries take what they need
// when they run.
// CHECK-LABEL: module @product
//       CHECK:   %[[C:.*]] = exec.buffer : memref<16x32xf32>
//       CHECK:   %[[WORKSPACE:.*]] = exec.buffer : memref<57344xi8>
//  CHECK-NEXT:   exec.call "matmul" {{.*}} -> (%[[C]] : memref<16x32xf32>) {} workspace %[[WORKSPACE]] : memref<57344xi8> on 0
// CPU-LABEL: module @product
//   CPU-NOT:   workspace
// REMARK: remark: [Analysis] workspaces {{.*}} Function=step {{.*}}largest_bytes=57344, workspaces=1
module @product {
  %a = exec.input "a" : memref<16x64xf32>
  %b = exec.input "b" : memref<64x32xf32>
  exec.program @step streams ["compute"] {
    exec.section "micro_batch" repeat micro_batches {
      %c = exec.buffer : memref<16x32xf32>
      exec.call "matmul" (%a : memref<16x64xf32>, %b : memref<64x32xf32>) -> (%c : memref<16x32xf32>) {} on 0
    }
  }
}

// -----

// The runtime's own kernels compute these: a sum of squares keeps 16 bytes a
// block, a sort of short rows nothing, and pooling neither.
// CHECK-LABEL: module @calls_of_our_own
//       CHECK:   exec.call "sum_of_squares" {{.*}} workspace %{{.*}} : memref<1024xi8> on 0
//       CHECK:   exec.call "sort" (%{{.*}}) -> (%{{.*}}) {descending = false} on 0
module @calls_of_our_own {
  %gradient = exec.state "g" gradient segment 0 : memref<2000000xf32>
  %norm = exec.state "n" metric : memref<2xf64>
  %rows = exec.input "rows" : memref<4x8xf32>
  exec.program @step streams ["compute"] {
    exec.section "micro_batch" repeat micro_batches {
      %order = exec.buffer : memref<4x8xf32>
      %indices = exec.buffer : memref<4x8xi64>
      exec.call "sum_of_squares" (%gradient : memref<2000000xf32>) -> (%norm : memref<2xf64>) {} on 0
      exec.call "sort" (%rows : memref<4x8xf32>) -> (%order : memref<4x8xf32>, %indices : memref<4x8xi64>) {descending = false} on 0
    }
  }
}

// -----

// Workspaces live during their command alone: both products work in the same
// bytes, and so does the copy's target, which is not yet there.
// PLACED-LABEL: module @bytes_of_others
//       PLACED: exec.program @step streams ["compute"] arena 59392 {
//       PLACED:   %[[C:.*]] = exec.buffer at [[C_AT:[0-9]+]] : memref<16x32xf32>
//       PLACED:   %[[D:.*]] = exec.buffer at [[AT:[0-9]+]] : memref<16x32xf32>
//       PLACED:   exec.buffer at [[AT]] : memref<57344xi8>
//       PLACED:   exec.buffer at {{[0-9]+}} : memref<57344xi8>
module @bytes_of_others {
  %a = exec.input "a" : memref<16x64xf32>
  %b = exec.input "b" : memref<64x32xf32>
  %loss = exec.state "loss" metric : memref<16x32xf32>
  exec.program @step streams ["compute"] {
    exec.section "micro_batch" repeat micro_batches {
      %c = exec.buffer : memref<16x32xf32>
      %d = exec.buffer : memref<16x32xf32>
      exec.call "matmul" (%a : memref<16x64xf32>, %b : memref<64x32xf32>) -> (%c : memref<16x32xf32>) {} on 0
      exec.call "matmul" (%a : memref<16x64xf32>, %b : memref<64x32xf32>) -> (%loss : memref<16x32xf32>) {} on 0
      exec.copy %c : memref<16x32xf32> -> %d : memref<16x32xf32> on 0
      exec.copy %d : memref<16x32xf32> -> %loss : memref<16x32xf32> on 0
    }
  }
}

// -----

// A gather beside the product has bytes of its own; one that comes after the
// product may have the workspace's, and then waits for it.
// PLACED-LABEL: module @gather_beside_a_product
//       PLACED: exec.program @step streams ["compute", "gather"]
//       PLACED:   %[[BESIDE:.*]] = exec.buffer at [[AT:[0-9]+]] : memref<14336xf32>
//   PLACED-NOT:   exec.buffer at [[AT]] : memref<57344xi8>
//       PLACED:   exec.call "matmul"
module @gather_beside_a_product {
  %a = exec.input "a" : memref<16x64xf32>
  %b = exec.input "b" : memref<64x32xf32>
  %c = exec.state "c" metric : memref<16x32xf32>
  exec.program @step streams ["compute", "gather"] {
    exec.section "micro_batch" repeat micro_batches {
      %whole = exec.buffer : memref<14336xf32>
      %copy = exec.buffer : memref<14336xf32>
      exec.fill %whole : memref<14336xf32> on 1
      exec.call "matmul" (%a : memref<16x64xf32>, %b : memref<64x32xf32>) -> (%c : memref<16x32xf32>) {} on 0
      exec.copy %whole : memref<14336xf32> -> %copy : memref<14336xf32> on 0
    }
  }
}
