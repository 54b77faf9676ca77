// RUN: shardc-opt %s --split-input-file --shardc-verify-training-step | FileCheck %s

// D1 to D7 hold: three parts in order, the loss in the first, one reduction of
// the group in the second, its update in the third. The frozen group has none.
// CHECK-LABEL: module @accepted
module @accepted {
  fsdp.parameter @weight : tensor<4xf32>
  fsdp.parameter frozen @table : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <param = bf16, reduce = f32> reshard default {
    fsdp.segment bf16 reduce f32 elements 32 shard 32 {
      fsdp.member @weight at 0
    }
  }
  fsdp.group @embed on @mesh policy <> reshard default {
    fsdp.segment frozen f32 reduce f32 elements 16 shard 16 {
      fsdp.member @table at 0
    }
  }
  func.func @step(%loss: tensor<f32>, %gradient: tensor<4xf32>) {
    fsdp.begin forward
    %embed = fsdp.unshard @embed : !fsdp.unsharded<@embed>
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    fsdp.record_loss %loss : tensor<f32>
    fsdp.begin backward
    %shard = fsdp.reduce_scatter @root [@weight](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@root>
    fsdp.begin update
    %squares = fsdp.gradient_norm %shard : (!fsdp.shard<@root>) -> tensor<2xf64>
    %old = fsdp.read_shard @root[0] : tensor<32xf32>
    %sum = fsdp.gradient %shard[0] : !fsdp.shard<@root> -> tensor<32xf32>
    %new = fsdp.update "sgd" (%p = %old : tensor<32xf32>, %g = %sum : tensor<32xf32>) -> tensor<32xf32> {
      %0 = aten.sub %p, %g : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
      fsdp.yield %0 : tensor<32xf32>
    }
    fsdp.write_shard %new, @root[0] : tensor<32xf32>
    return
  }
  func.func @evaluate(%loss: tensor<f32>, %gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.record_loss %loss : tensor<f32>
    return
  }
}
