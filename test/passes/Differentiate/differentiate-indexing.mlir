// RUN: shardc-opt %s --split-input-file --shardc-differentiate | FileCheck %s

// The recorded value is not reduced to a scalar, which keeps the cases small: its
// gradient is a constant of its own shape.

// Rows are summed into the table; the padding row is passed on.
// CHECK-LABEL: module @embedding
//       CHECK:   @step(%[[INDICES:.*]]: tensor<2x3xi64>)
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[D_TABLE:.*]] = aten.embedding_dense_backward %[[ONE]], %[[INDICES]] {padding_idx = 1 : i64} : (tensor<2x3x8xf32>, tensor<2x3xi64>) -> tensor<10x8xf32>
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@table](%[[D_TABLE]])
module @embedding {
  fsdp.parameter @table : tensor<10x8xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 80 shard 80 {
      fsdp.member @table at 0
    }
  }
  func.func @step(%indices: tensor<2x3xi64>) {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %table = fsdp.view %root[@table] : !fsdp.unsharded<@root> -> tensor<10x8xf32>
    %y = aten.embedding %table, %indices {padding_idx = 1 : i64} : (tensor<10x8xf32>, tensor<2x3xi64>) -> tensor<2x3x8xf32>
    fsdp.record_loss %y : tensor<2x3x8xf32>
    return
  }
}
