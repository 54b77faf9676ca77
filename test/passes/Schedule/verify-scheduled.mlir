// RUN: shardc-opt %s --split-input-file --shardc-verify-scheduled | FileCheck %s

// C1 to C4 hold: the group is gathered once for forward and once for backward,
// freed after each, and its reduction is waited for in the update part.
// CHECK-LABEL: module @accepted
module @accepted {
  fsdp.parameter @w : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard always {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %gather = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
    %whole = fsdp.wait %gather : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
    %w = fsdp.view %whole[@w] : !fsdp.unsharded<@root> -> tensor<f32>
    %y = aten.mul %w, %w : (tensor<f32>, tensor<f32>) -> tensor<f32>
    fsdp.reshard %whole : !fsdp.unsharded<@root>
    fsdp.begin backward
    %gather_again = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
    %whole_again = fsdp.wait %gather_again : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
    %w_again = fsdp.view %whole_again[@w] : !fsdp.unsharded<@root> -> tensor<f32>
    %d_w = aten.mul %y, %w_again : (tensor<f32>, tensor<f32>) -> tensor<f32>
    fsdp.reshard %whole_again : !fsdp.unsharded<@root>
    %reduction = fsdp.reduce_scatter_start @root [@w](%d_w) on reduce : (tensor<f32>) -> !fsdp.pending<@root>
    fsdp.begin update
    %shard = fsdp.wait %reduction : !fsdp.pending<@root> -> !fsdp.shard<@root>
    %sum = fsdp.gradient %shard[0] : !fsdp.shard<@root> -> tensor<16xf32>
    return
  }
}

// -----

// Under `never` backward uses what forward gathered.
// CHECK-LABEL: module @accepted_without_reshard_after_forward
module @accepted_without_reshard_after_forward {
  fsdp.parameter @w : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard never {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %gather = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
    %whole = fsdp.wait %gather : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
    %w = fsdp.view %whole[@w] : !fsdp.unsharded<@root> -> tensor<f32>
    fsdp.begin backward
    %d_w = aten.mul %w, %w : (tensor<f32>, tensor<f32>) -> tensor<f32>
    fsdp.reshard %whole : !fsdp.unsharded<@root>
    fsdp.begin update
    return
  }
}
