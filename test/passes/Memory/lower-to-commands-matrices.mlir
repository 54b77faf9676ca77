// RUN: shardc-opt %s --shardc-lower-to-commands | FileCheck %s

// What a kernel makes of the shard is written into this rank's slot, whole
// matrices are read in place, and their steps are written where this rank's part
// of them is read. Only padding is filled.
// CHECK-LABEL: module @in_place
//       CHECK:   exec.section "update" {
//  CHECK-NEXT:     %[[WHOLE:.*]] = exec.buffer : memref<64xbf16>
//  CHECK-NEXT:     %[[SLOT:.*]] = exec.part %[[WHOLE]][0 + shard * 32] : memref<64xbf16> -> memref<32xbf16>
//  CHECK-NEXT:     %[[STEPS:.*]] = exec.buffer : memref<64xbf16>
//  CHECK-NEXT:     %[[STEP:.*]] = exec.part %[[STEPS]][0] : memref<64xbf16> -> memref<4x8xbf16>
//       CHECK:     exec.run "direct" ({{.*}}) -> (%[[SLOT]] : memref<32xbf16>) on 0
//       CHECK:     exec.all_gather @root %[[WHOLE]] : memref<64xbf16> slot 64 over ["shard"] on 1
//  CHECK-NEXT:     %[[A:.*]] = exec.part %[[WHOLE]][0] : memref<64xbf16> -> memref<4x8xbf16>
//  CHECK-NEXT:     %[[B:.*]] = exec.part %[[WHOLE]][32] : memref<64xbf16> -> memref<2x4xbf16>
//       CHECK:     exec.call "matmul" (%[[A]] : {{.*}}, %[[A]] : {{.*}}) -> (%[[STEP]] : memref<4x8xbf16>)
//  CHECK-NEXT:     %[[PLACE:.*]] = exec.part %[[STEPS]][32] : memref<64xbf16> -> memref<2x4xbf16>
//  CHECK-NEXT:     exec.copy %[[B]] : memref<2x4xbf16> -> %[[PLACE]] : memref<2x4xbf16> on 0
//  CHECK-NEXT:     %[[REST:.*]] = exec.part %[[STEPS]][40] : memref<64xbf16> -> memref<24xbf16>
//  CHECK-NEXT:     exec.fill %[[REST]] : memref<24xbf16> on 0
//       CHECK:     exec.part %[[STEPS]][0 + shard * 32] : memref<64xbf16> -> memref<32xbf16>
module @in_place {
  fsdp.parameter @a : tensor<4x8xbf16>
  fsdp.parameter @b : tensor<2x4xbf16>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment bf16 reduce bf16 elements 64 shard 32 {
      fsdp.member @a at 0
      fsdp.member @b at 32
    }
  }
  func.func @step(%x: tensor<32xbf16>) {
    fsdp.begin forward
    fsdp.begin backward
    fsdp.begin update
    %d = exec.kernel "direct" (%in = %x : tensor<32xbf16>) -> tensor<32xbf16> {
      exec.yield %in : tensor<32xbf16>
    }
    %whole:2 = fsdp.gather_shard %d of @root[0] : tensor<32xbf16> -> tensor<4x8xbf16>, tensor<2x4xbf16>
    %step = exec.library "matmul" (%whole#0, %whole#0) {} order [array<i64>] : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
    %own = fsdp.take_shard %step, %whole#1 of @root[0] : tensor<4x8xbf16>, tensor<2x4xbf16> -> tensor<32xbf16>
    fsdp.write_shard %own, @root[0] : tensor<32xbf16>
    return
  }
}
