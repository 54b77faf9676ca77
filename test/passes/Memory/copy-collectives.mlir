// RUN: shardc-opt %s '--shardc-lower-to-commands=copies=true' | FileCheck %s

// As PyTorch does: parameters are copied out of the gather's output, which is
// free then, and gradients, which have memory of their own, into the reduction's
// input.
// CHECK-LABEL: module @both_ways
//       CHECK:   %[[INPUT:.*]] = exec.buffer : memref<32xbf16>
//       CHECK:   %[[OUTPUT:.*]] = exec.buffer : memref<32xbf16>
//       CHECK:   exec.all_gather @root %[[OUTPUT]] : memref<32xbf16>
//  CHECK-NEXT:   %[[OWN:.*]] = exec.buffer : memref<32xbf16>
//  CHECK-NEXT:   exec.copy %[[OUTPUT]] : memref<32xbf16> -> %[[OWN]] : memref<32xbf16> on 0
//  CHECK-NEXT:   %[[WEIGHT:.*]] = exec.part %[[OWN]][0] : memref<32xbf16> -> memref<4x4xbf16>
//       CHECK:   exec.call "matmul" (%{{.*}}, %[[WEIGHT]] : {{.*}}) {{.*}} on 0
//       CHECK:   %[[GRADIENT:.*]] = exec.buffer : memref<4x4xbf16>
//       CHECK:   exec.call "matmul" {{.*}} -> (%[[GRADIENT]] : memref<4x4xbf16>)
//       CHECK:   %[[PLACE:.*]] = exec.part %[[INPUT]][0] : memref<32xbf16> -> memref<4x4xbf16>
//  CHECK-NEXT:   exec.copy %[[GRADIENT]] : memref<4x4xbf16> -> %[[PLACE]] : memref<4x4xbf16> on 0
//       CHECK:   exec.reduce_scatter @root %[[INPUT]] : memref<32xbf16>
module @both_ways {
  fsdp.parameter @weight : tensor<4x4xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <param = bf16> reshard default {
    fsdp.segment bf16 reduce bf16 elements 32 shard 16 {
      fsdp.member @weight at 0
    }
  }
  func.func @step(%x: tensor<2x4xbf16>) {
    fsdp.begin forward
    %pending = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
    %root = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
    %weight = fsdp.view %root[@weight] : !fsdp.unsharded<@root> -> tensor<4x4xbf16>
    %y = exec.library "matmul" (%x, %weight) {} order [array<i64>]
        : (tensor<2x4xbf16>, tensor<4x4xbf16>) -> tensor<2x4xbf16>
    fsdp.reshard %root : !fsdp.unsharded<@root>
    fsdp.begin backward
    %d_w = exec.library "matmul" (%y, %x) {transpose_a = true} order [array<i64>]
        : (tensor<2x4xbf16>, tensor<2x4xbf16>) -> tensor<4x4xbf16>
    %sum = fsdp.reduce_scatter_start @root [@weight](%d_w) on reduce
        : (tensor<4x4xbf16>) -> !fsdp.pending<@root>
    fsdp.begin update
    %shard = fsdp.wait %sum : !fsdp.pending<@root> -> !fsdp.shard<@root>
    return
  }
}
