// RUN: shardc-opt %s --split-input-file --shardc-lower-to-commands | FileCheck %s

// The sum over ranks is made in f32, on the stream of the reduction, and added
// to what is kept in bf16 there; the one over replicas is made in f32 too.
// CHECK-LABEL: module @kept_in_bf16
//       CHECK:   %[[GRADIENT:.*]] = exec.state "root#0.gradient" gradient segment 0 : memref<32xbf16>
//       CHECK:   exec.section "only_micro_batch"
//       CHECK:     %[[SUMS:.*]] = exec.buffer : memref<32xf32>
//  CHECK-NEXT:     exec.fill %[[SUMS]] : memref<32xf32> on 2
//  CHECK-NEXT:     exec.reduce_scatter @root %{{.*}} : memref<64xbf16> -> %[[SUMS]] : memref<32xf32> over ["shard"] on 2
//  CHECK-NEXT:     exec.run "accumulate" (%[[GRADIENT]] : memref<32xbf16>, %[[SUMS]] : memref<32xf32>) -> (%[[GRADIENT]] : memref<32xbf16>) on 2
//       CHECK:     %[[ALL:.*]] = exec.buffer : memref<32xf32>
//  CHECK-NEXT:     exec.run "cast" (%[[GRADIENT]] : memref<32xbf16>) -> (%[[ALL]] : memref<32xf32>) on 3
//       CHECK:     exec.all_reduce %[[ALL]] : memref<32xf32> over ["replicate"] on 3
//  CHECK-NEXT:     exec.run "cast" (%[[ALL]] : memref<32xf32>) -> (%[[GRADIENT]] : memref<32xbf16>) on 3
//       CHECK:   exec.section "first_micro_batch"
//       CHECK:     exec.run "accumulate"
//   CHECK-NOT:     exec.all_reduce
//       CHECK:   exec.section "middle_micro_batches"
//   CHECK-NOT:     exec.all_reduce
//       CHECK:   exec.section "last_micro_batch"
//       CHECK:     exec.all_reduce
module @kept_in_bf16 {
  fsdp.parameter @w : tensor<64xf32>
  fsdp.mesh @mesh <replicate = 2, shard = 2>
  fsdp.group @root on @mesh policy <param = bf16, reduce = bf16> reshard default {
    fsdp.segment bf16 reduce bf16 gradient bf16 elements 64 shard 32 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%d_w: tensor<64xbf16>) {
    fsdp.begin forward
    fsdp.begin backward
    %pending = fsdp.reduce_scatter_start @root [@w](%d_w) on reduce : (tensor<64xbf16>) -> !fsdp.pending<@root>
    %all = fsdp.all_reduce_start %pending over ["replicate"] on replicate : !fsdp.pending<@root>
    fsdp.begin update
    %shard = fsdp.wait %all : !fsdp.pending<@root> -> !fsdp.shard<@root>
    return
  }
}

// -----

// Reduced once a step: whole gradients add up in bf16, their sum is added once.
// CHECK-LABEL: module @once
//       CHECK:   exec.section "first_micro_batch"
//   CHECK-NOT:     exec.reduce_scatter
//   CHECK-NOT:     exec.fill
//       CHECK:   exec.section "middle_micro_batches"
//   CHECK-NOT:     exec.reduce_scatter
//       CHECK:   exec.section "last_micro_batch"
//       CHECK:     exec.fill %[[SUMS:.*]] : memref<32xf32> on 2
//  CHECK-NEXT:     exec.reduce_scatter @root %{{.*}} : memref<64xbf16> -> %[[SUMS]] : memref<32xf32>
module @once {
  fsdp.parameter @w : tensor<64xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <param = bf16, reduce = bf16> reshard default {
    fsdp.segment bf16 reduce bf16 gradient bf16 elements 64 shard 32 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%d_w: tensor<64xbf16>) {
    fsdp.begin forward
    fsdp.begin backward
    %pending = fsdp.reduce_scatter_start @root once [@w](%d_w) on reduce : (tensor<64xbf16>) -> !fsdp.pending<@root>
    fsdp.begin update
    %shard = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.shard<@root>
    return
  }
}
