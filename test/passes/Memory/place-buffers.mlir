// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=x86-64-v3 --shardc-place-buffers | FileCheck %s
// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=x86-64-v3 --shardc-place-buffers --remarks-filter=shardc-place-buffers 2>&1 | FileCheck %s --check-prefix=REMARK

// Four values, of which two are alive at a time, need the bytes of two.
// CHECK-LABEL: exec.program @values_share_bytes streams ["compute"] arena 128 {
//  CHECK-NEXT:   exec.section
//  CHECK-NEXT:   exec.buffer at [[FIRST:[0-9]+]] : memref<16xf32>
//  CHECK-NEXT:   exec.buffer at [[SECOND:[0-9]+]] : memref<16xf32>
//  CHECK-NEXT:   exec.buffer at [[FIRST]] : memref<16xf32>
//  CHECK-NEXT:   exec.buffer at [[SECOND]] : memref<16xf32>
// REMARK: remark: [Analysis] arena {{.*}} Function=values_share_bytes {{.*}}arena_bytes=128{{.*}}lower_bound_bytes=128{{.*}}proven_optimal=true
exec.program @values_share_bytes streams ["compute"] {
  exec.section "micro_batch" repeat micro_batches {
    %0 = exec.buffer : memref<16xf32>
    %1 = exec.buffer : memref<16xf32>
    %2 = exec.buffer : memref<16xf32>
    %3 = exec.buffer : memref<16xf32>
    exec.call "a" () -> (%0 : memref<16xf32>) {} on 0
    exec.call "b" (%0 : memref<16xf32>) -> (%1 : memref<16xf32>) {} on 0
    exec.call "c" (%1 : memref<16xf32>) -> (%2 : memref<16xf32>) {} on 0
    exec.call "d" (%2 : memref<16xf32>) -> (%3 : memref<16xf32>) {} on 0
  }
}

// -----

// A use of a part is a use of the whole; states are not in the arena, and a
// buffer that nobody uses takes no bytes.
// CHECK-LABEL: module @parts
//       CHECK: exec.program @step streams ["compute"] arena 128 {
//  CHECK-NEXT:   exec.section
//  CHECK-NEXT:   exec.buffer at 0 : memref<16xf32>
//  CHECK-NEXT:   exec.buffer at 64 : memref<16xf32>
//  CHECK-NEXT:   exec.buffer at 0 : memref<1024xf32>
module @parts {
  %state = exec.state "b" buffer : memref<16xf32>
  exec.program @step streams ["compute"] {
    exec.section "micro_batch" repeat micro_batches {
      %0 = exec.buffer : memref<16xf32>
      %1 = exec.buffer : memref<16xf32>
      %2 = exec.buffer : memref<1024xf32>
      %half = exec.part %0[8] : memref<16xf32> -> memref<8xf32>
      exec.copy %state : memref<16xf32> -> %0 : memref<16xf32> on 0
      exec.copy %state : memref<16xf32> -> %1 : memref<16xf32> on 0
      exec.fill %half : memref<8xf32> on 0
    }
  }
}

// -----

// The second gather runs beside the first group's compute. In the first group's
// bytes it would wait for it; there is room elsewhere, because the last buffer is
// larger. With the wait it would still be right.
// CHECK-LABEL: exec.program @gathers_apart streams ["compute", "gather"] arena 256 {
//  CHECK-NEXT:   exec.section
//  CHECK-NEXT:   exec.buffer at [[A:[0-9]+]] : memref<32xf32>
//   CHECK-NOT:   exec.buffer at [[A]] : memref<32xf32>
//       CHECK:   exec.buffer at 0 : memref<64xf32>
// REMARK: remark: [Analysis] arena {{.*}} Function=gathers_apart {{.*}}overlaps_that_wait=0
exec.program @gathers_apart streams ["compute", "gather"] {
  exec.section "micro_batch" repeat micro_batches {
    %a = exec.buffer : memref<32xf32>
    %b = exec.buffer : memref<32xf32>
    exec.fill %a : memref<32xf32> on 0
    exec.fill %b : memref<32xf32> on 1
  }
  exec.section "update" {
    %c = exec.buffer : memref<64xf32>
    exec.fill %c : memref<64xf32> on 0
  }
}

// -----

// Without room the second gather waits, or the arena is larger where that is
// allowed.
// RUN: shardc-opt %s --split-input-file --shardc-set-target=target=x86-64-v3 --shardc-place-buffers=slack=1 | FileCheck %s --check-prefix=SLACK
// CHECK-LABEL: exec.program @no_room streams ["compute", "gather"] arena 128 {
// SLACK-LABEL: exec.program @no_room streams ["compute", "gather"] arena 256 {
exec.program @no_room streams ["compute", "gather"] {
  exec.section "micro_batch" repeat micro_batches {
    %a = exec.buffer : memref<32xf32>
    %b = exec.buffer : memref<32xf32>
    exec.fill %a : memref<32xf32> on 0
    exec.fill %b : memref<32xf32> on 1
  }
}

// -----

// First fit has both large buffers at 0 and needs 448 bytes; the search puts one
// of them on the second small one.
// CHECK-LABEL: exec.program @large_on_small streams ["compute"] arena 320 {
// REMARK: remark: [Analysis] arena {{.*}} Function=large_on_small {{.*}}lower_bound_bytes=320{{.*}}proven_optimal=true
exec.program @large_on_small streams ["compute"] {
  exec.section "micro_batch" repeat micro_batches {
    %a = exec.buffer : memref<32xf32>
    %b = exec.buffer : memref<32xf32>
    %late = exec.buffer : memref<48xf32>
    %large = exec.buffer : memref<48xf32>
    exec.call "a" () -> (%large : memref<48xf32>, %a : memref<32xf32>) {} on 0
    exec.call "b" (%a : memref<32xf32>) -> (%b : memref<32xf32>) {} on 0
    exec.call "c" (%b : memref<32xf32>) -> (%late : memref<48xf32>) {} on 0
  }
}

// -----

// Both reductions are of one group, and run beside what computes next: that the
// second one has begun does not mean that the first one is complete.
// CHECK-LABEL: module @segments_of_one_group
//       CHECK: exec.program @segments streams ["compute", "reduce"] arena 448 {
//  CHECK-NEXT:   exec.section
//  CHECK-NEXT:   exec.buffer at [[LARGE:[0-9]+]] : memref<32xf32>
//   CHECK-NOT:   exec.buffer at [[LARGE]] : memref<32xf32>
//       CHECK:   exec.buffer at 0 : memref<112xf32>
module @segments_of_one_group {
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
  }
  %first = exec.state "root#0.gradient" gradient : memref<16xf32>
  %second = exec.state "root#1.gradient" gradient : memref<8xf32>
  exec.program @segments streams ["compute", "reduce"] {
    exec.section "micro_batch" repeat micro_batches {
      %large = exec.buffer : memref<32xf32>
      %small = exec.buffer : memref<16xf32>
      %next = exec.buffer : memref<32xf32>
      %last = exec.buffer : memref<112xf32>
      exec.fill %large : memref<32xf32> on 0
      exec.reduce_scatter @root %large : memref<32xf32> -> %first : memref<16xf32> over ["shard"] on 1
      exec.fill %small : memref<16xf32> on 0
      exec.reduce_scatter @root %small : memref<16xf32> -> %second : memref<8xf32> over ["shard"] on 1
      exec.fill %next : memref<32xf32> on 0
      exec.fill %last : memref<112xf32> on 0
    }
  }
}
