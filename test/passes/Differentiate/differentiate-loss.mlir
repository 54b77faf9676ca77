// RUN: shardc-opt %s --split-input-file --shardc-differentiate | FileCheck %s

// Backward recomputes the probabilities from log_sum_exp. The f32 loss of bf16
// logits gives a bf16 gradient.
// CHECK-LABEL: module @cross_entropy_loss
//       CHECK:   @step(%[[TARGET:.*]]: tensor<4xi64>)
//       CHECK:   %[[W:.*]] = fsdp.view {{.*}}[@w]
//       CHECK:   %[[LOSS:.*]], %[[LOG_SUM_EXP:.*]], %[[TOTAL:.*]] = aten.cross_entropy_loss
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00> : tensor<f32>
//  CHECK-NEXT:   %[[D_W:.*]] = aten.cross_entropy_loss_backward %[[ONE]], %[[W]], %[[TARGET]], %[[LOG_SUM_EXP]], %[[TOTAL]] {ignore_index = -100 : i64, reduction = #aten.reduction<mean>}
//  CHECK-SAME:   -> tensor<4x8xbf16>
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@w](%[[D_W]])
module @cross_entropy_loss {
  fsdp.parameter @w : tensor<4x8xbf16>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment bf16 reduce bf16 elements 32 shard 32 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%target: tensor<4xi64>) {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<4x8xbf16>
    %loss, %log_sum_exp, %total_weight = aten.cross_entropy_loss %w, %target {reduction = #aten.reduction<mean>, ignore_index = -100 : i64}
        : (tensor<4x8xbf16>, tensor<4xi64>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
    fsdp.record_loss %loss : tensor<f32>
    return
  }
}
