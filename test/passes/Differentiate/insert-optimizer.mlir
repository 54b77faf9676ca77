// RUN: shardc-opt %s --split-input-file --shardc-insert-optimizer=momentum=0.9 | FileCheck %s
// RUN: shardc-opt %s --split-input-file --shardc-insert-optimizer="optimizer=adamw weight-decay=0.01" | FileCheck %s --check-prefix=ADAMW

// The norm of the gradients is a metric; then each shard takes its step.
// CHECK-LABEL: module @sgd_on_one_group
//       CHECK:   %[[SHARD:.*]] = fsdp.reduce_scatter @root
//  CHECK-NEXT:   fsdp.begin update
//  CHECK-NEXT:   fsdp.gradient_norm %[[SHARD]] : !fsdp.shard<@root>
//  CHECK-NEXT:   fsdp.update @root, %[[SHARD]] {{.*}} with #fsdp.sgd<momentum = 9.000000e-01 : f64, weight_decay = 0.000000e+00 : f64>
//  CHECK-NEXT:   return

// ADAMW-LABEL: module @sgd_on_one_group
//       ADAMW:   fsdp.update @root, {{.*}} with #fsdp.adamw<beta1 = 9.000000e-01 : f64, beta2 = {{.*}} : f64, epsilon = 1.000000e-08 : f64, weight_decay = 1.000000e-02 : f64>
module @sgd_on_one_group {
  func.func @step(%gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.begin backward
    %shard = fsdp.reduce_scatter @root [@w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@root>
    return
  }
}

// -----

// One norm over all groups; updates in the order of the reductions.
// CHECK-LABEL: module @one_update_a_group
//       CHECK:   %[[H1:.*]] = fsdp.reduce_scatter @h.1
//       CHECK:   %[[H0:.*]] = fsdp.reduce_scatter @h.0
//       CHECK:   fsdp.gradient_norm %[[H1]], %[[H0]]
//  CHECK-NEXT:   fsdp.update @h.1, %[[H1]]
//  CHECK-NEXT:   fsdp.update @h.0, %[[H0]]
module @one_update_a_group {
  func.func @step(%gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.begin backward
    %h1 = fsdp.reduce_scatter @h.1 [@h.1.w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@h.1>
    %h0 = fsdp.reduce_scatter @h.0 [@h.0.w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@h.0>
    return
  }
}
