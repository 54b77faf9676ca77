// RUN: shardc-opt %s --split-input-file --shardc-synchronize-buffers --verify-diagnostics | FileCheck %s

// A mean of what ranks write; bf16 adds up in f32.
// CHECK-LABEL: module @mean_of_ranks
//       CHECK:   %[[MEAN:.*]] = aten.mean
//       CHECK:   %[[WIDE:.*]] = aten.to %[[MEAN]]
//   CHECK-DAG:   %[[SUM:.*]] = fsdp.sum_over_ranks %[[WIDE]] : tensor<3xf32>
//   CHECK-DAG:   %[[RANKS:.*]] = fsdp.scalar ranks
//   CHECK-DAG:   %[[NUMBER:.*]] = aten.to %[[RANKS]]
//       CHECK:   %[[SHARE:.*]] = aten.div %[[SUM]], %[[NUMBER]]
//       CHECK:   %[[NARROW:.*]] = aten.to %[[SHARE]]
//       CHECK:   fsdp.write %[[NARROW]], @average : tensor<3xbf16>
module @mean_of_ranks {
  fsdp.mesh @mesh <shard = 4>
  fsdp.buffer @average sync mean : tensor<3xbf16>
  func.func @step(%x: tensor<2x3xbf16>) {
    fsdp.begin forward
    %0 = aten.mean %x [0] : (tensor<2x3xbf16>) -> tensor<3xbf16>
    fsdp.write %0, @average : tensor<3xbf16>
    return
  }
}

// -----

// What is computed from the buffer is added to it; what is not, is added up.
// Integers go through f64.
// CHECK-LABEL: module @sums
//       CHECK:   %[[MORE:.*]] = aten.add
//       CHECK:   %[[TERM:.*]] = aten.to %[[MORE]]
//       CHECK:   %[[READ:.*]] = fsdp.read @seen : tensor<3xi64>
//       CHECK:   %[[BEFORE:.*]] = aten.to %[[READ]]
//       CHECK:   %[[CHANGE:.*]] = aten.sub %[[TERM]], %[[BEFORE]]
//       CHECK:   %[[CHANGES:.*]] = fsdp.sum_over_ranks %[[CHANGE]] : tensor<3xf64>
//       CHECK:   aten.add %[[BEFORE]], %[[CHANGES]]
//       CHECK:   %[[NEW:.*]] = aten.to %arg0
//       CHECK:   fsdp.sum_over_ranks %[[NEW]] : tensor<3xf64>
module @sums {
  fsdp.mesh @mesh <shard = 2>
  fsdp.buffer @seen sync sum : tensor<3xi64>
  fsdp.buffer @last sync sum : tensor<3xi64>
  func.func @step(%x: tensor<3xi64>) {
    fsdp.begin forward
    %0 = fsdp.read @seen : tensor<3xi64>
    %1 = aten.add %0, %x : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
    fsdp.write %1, @seen : tensor<3xi64>
    fsdp.write %x, @last : tensor<3xi64>
    return
  }
}

// -----

// Only the last write decides.
// CHECK-LABEL: module @last_write
//       CHECK:   fsdp.write %arg0, @kept
//       CHECK:   %[[FIRST:.*]] = fsdp.broadcast %arg1
//       CHECK:   fsdp.write %[[FIRST]], @kept
module @last_write {
  fsdp.mesh @mesh <shard = 2>
  fsdp.buffer @kept sync broadcast : tensor<3xf32>
  func.func @step(%x: tensor<3xf32>, %y: tensor<3xf32>) {
    fsdp.begin forward
    fsdp.write %x, @kept : tensor<3xf32>
    fsdp.write %y, @kept : tensor<3xf32>
    return
  }
}

// -----

// A counter of steps is the same on all ranks, and so is what is computed from
// a buffer that they share; `later` holds what each rank has read of `own`.
module @own_values {
  fsdp.mesh @mesh <shard = 2>
  fsdp.buffer @steps : tensor<f32>
  fsdp.buffer @shared sync mean : tensor<f32>
  fsdp.buffer @copy : tensor<f32>
  fsdp.buffer @later : tensor<f32>
  fsdp.buffer @own : tensor<f32>
  fsdp.buffer @silent sync none : tensor<f32>
  func.func @step(%x: tensor<f32>) {
    fsdp.begin forward
    %0 = fsdp.read @steps : tensor<f32>
    %1 = aten.add.Scalar %0, 1.0 : f32 : (tensor<f32>) -> tensor<f32>
    fsdp.write %1, @steps : tensor<f32>
    fsdp.write %x, @shared : tensor<f32>
    %2 = fsdp.read @shared : tensor<f32>
    fsdp.write %2, @copy : tensor<f32>
    %3 = fsdp.read @own : tensor<f32>
    // expected-warning@+2 {{each rank keeps values of its own in 2 buffers that forward writes, such as 'later'; those of rank 0 are saved}}
    // expected-note@+1 {{help: --buffer-rules 'later:sync=mean' keeps the mean over ranks}}
    fsdp.write %3, @later : tensor<f32>
    fsdp.write %x, @own : tensor<f32>
    fsdp.write %x, @silent : tensor<f32>
    return
  }
}
