// RUN: shardc-opt %s --split-input-file --shardc-place-buffers | FileCheck %s
// RUN: shardc-opt %s --split-input-file --shardc-place-buffers --remarks-filter=shardc-place-buffers 2>&1 | FileCheck %s --check-prefix=REMARK

// Four values, of which two are alive at a time, need the bytes of two.
// CHECK-LABEL: exec.program @values_share_bytes streams ["compute"] arena 128 {
//  CHECK-NEXT:   exec.buffer at [[FIRST:[0-9]+]] : memref<16xf32>
//  CHECK-NEXT:   exec.buffer at [[SECOND:[0-9]+]] : memref<16xf32>
//  CHECK-NEXT:   exec.buffer at [[FIRST]] : memref<16xf32>
//  CHECK-NEXT:   exec.buffer at [[SECOND]] : memref<16xf32>
// REMARK: remark: [Analysis] arena {{.*}} Function=values_share_bytes {{.*}}arena_bytes=128{{.*}}lower_bound_bytes=128
exec.program @values_share_bytes streams ["compute"] {
  %0 = exec.buffer : memref<16xf32>
  %1 = exec.buffer : memref<16xf32>
  %2 = exec.buffer : memref<16xf32>
  %3 = exec.buffer : memref<16xf32>
  exec.call "a" () -> (%0 : memref<16xf32>) {} in micro_batch on 0
  exec.call "b" (%0 : memref<16xf32>) -> (%1 : memref<16xf32>) {} in micro_batch on 0
  exec.call "c" (%1 : memref<16xf32>) -> (%2 : memref<16xf32>) {} in micro_batch on 0
  exec.call "d" (%2 : memref<16xf32>) -> (%3 : memref<16xf32>) {} in micro_batch on 0
}

// -----

// A use of a part is a use of the whole; states are not in the arena, and a
// buffer that nobody uses takes no bytes.
// CHECK-LABEL: module @parts
//       CHECK: exec.program @step streams ["compute"] arena 128 {
//  CHECK-NEXT:   exec.buffer at 0 : memref<16xf32>
//  CHECK-NEXT:   exec.buffer at 64 : memref<16xf32>
//  CHECK-NEXT:   exec.buffer at 0 : memref<1024xf32>
module @parts {
  %state = exec.state "b" buffer : memref<16xf32>
  exec.program @step streams ["compute"] {
    %0 = exec.buffer : memref<16xf32>
    %1 = exec.buffer : memref<16xf32>
    %2 = exec.buffer : memref<1024xf32>
    %half = exec.part %0[8] : memref<16xf32> -> memref<8xf32>
    exec.copy %state : memref<16xf32> -> %0 : memref<16xf32> in micro_batch on 0
    exec.copy %state : memref<16xf32> -> %1 : memref<16xf32> in micro_batch on 0
    exec.fill %half : memref<8xf32> in micro_batch on 0
  }
}
