// RUN: shardc-opt %s --split-input-file '--shardc-lower-to-commands=copies=true' | FileCheck %s

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

// -----

// What casts a gradient to the dtype of its reduction is that copy. The input of
// the first reduction is held until the second one's is written, which waits for
// it: its commands stand there.
// CHECK-LABEL: module @one_reduction_in_flight
//       CHECK:   exec.program @step {{.*}} serial_reductions
//       CHECK:   %[[FIRST:.*]] = exec.buffer : memref<16xf32>
//       CHECK:   %[[SECOND:.*]] = exec.buffer : memref<16xf32>
//       CHECK:   exec.call "matmul" {{.*}} -> (%[[NARROW:.*]] : memref<4x4xbf16>)
//       CHECK:   %[[PLACE:.*]] = exec.part %[[FIRST]][0] : memref<16xf32> -> memref<4x4xf32>
//  CHECK-NEXT:   exec.run "to" (%[[NARROW]] : memref<4x4xbf16>) -> (%[[PLACE]] : memref<4x4xf32>) on 0
//       CHECK:   exec.call "matmul" {{.*}} -> (%[[LATER:.*]] : memref<4x4xbf16>)
//  CHECK-NEXT:   exec.reduce_scatter @last %[[FIRST]]
//  CHECK-NEXT:   %[[PLACE:.*]] = exec.part %[[SECOND]][0] : memref<16xf32> -> memref<4x4xf32>
//  CHECK-NEXT:   exec.run "to" (%[[LATER]] : memref<4x4xbf16>) -> (%[[PLACE]] : memref<4x4xf32>) on 0
//       CHECK:   exec.reduce_scatter @root %[[SECOND]]
#same = affine_map<(d0, d1) -> (d0, d1)>
module @one_reduction_in_flight {
  fsdp.parameter @weight : tensor<4x4xf32>
  fsdp.parameter @other : tensor<4x4xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <param = bf16, reduce = f32> reshard default {
    fsdp.segment bf16 reduce f32 elements 16 shard 8 {
      fsdp.member @weight at 0
    }
  }
  fsdp.group @last on @mesh policy <param = bf16, reduce = f32> reshard default {
    fsdp.segment bf16 reduce f32 elements 16 shard 8 {
      fsdp.member @other at 0
    }
  }
  func.func @step(%x: tensor<2x4xbf16>) {
    fsdp.begin forward
    fsdp.begin backward
    %d_other = exec.library "matmul" (%x, %x) {transpose_a = true} order [array<i64>]
        : (tensor<2x4xbf16>, tensor<2x4xbf16>) -> tensor<4x4xbf16>
    %wide_other = exec.kernel "to" (%narrow = %d_other : tensor<4x4xbf16>) -> tensor<4x4xf32> {
      %empty = tensor.empty() : tensor<4x4xf32>
      %wide = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
          ins(%narrow : tensor<4x4xbf16>) outs(%empty : tensor<4x4xf32>) {
      ^bb0(%in: bf16, %out: f32):
        %extended = arith.extf %in : bf16 to f32
        linalg.yield %extended : f32
      } -> tensor<4x4xf32>
      exec.yield %wide : tensor<4x4xf32>
    }
    %first = fsdp.reduce_scatter_start @last [@other](%wide_other) on reduce
        : (tensor<4x4xf32>) -> !fsdp.pending<@last>
    %d_weight = exec.library "matmul" (%x, %x) {transpose_a = true} order [array<i64>]
        : (tensor<2x4xbf16>, tensor<2x4xbf16>) -> tensor<4x4xbf16>
    %wide_weight = exec.kernel "to" (%narrow = %d_weight : tensor<4x4xbf16>) -> tensor<4x4xf32> {
      %empty = tensor.empty() : tensor<4x4xf32>
      %wide = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
          ins(%narrow : tensor<4x4xbf16>) outs(%empty : tensor<4x4xf32>) {
      ^bb0(%in: bf16, %out: f32):
        %extended = arith.extf %in : bf16 to f32
        linalg.yield %extended : f32
      } -> tensor<4x4xf32>
      exec.yield %wide : tensor<4x4xf32>
    }
    %second = fsdp.reduce_scatter_start @root [@weight](%wide_weight) on reduce
        : (tensor<4x4xf32>) -> !fsdp.pending<@root>
    fsdp.begin update
    %shard = fsdp.wait %first : !fsdp.pending<@last> -> !fsdp.shard<@last>
    %other = fsdp.wait %second : !fsdp.pending<@root> -> !fsdp.shard<@root>
    return
  }
}
