// RUN: shardc-opt %s --split-input-file --shardc-differentiate | FileCheck %s

// The recorded value is not reduced to a scalar, which keeps the cases small: its
// gradient is a constant of its own shape.

// Backward recomputes the probabilities from log_sum_exp; one operator gives all
// three gradients.
// CHECK-LABEL: module @attention
//       CHECK:   %[[Q:.*]] = fsdp.view {{.*}}[@q]
//       CHECK:   %[[K:.*]] = fsdp.view {{.*}}[@k]
//       CHECK:   %[[V:.*]] = fsdp.view {{.*}}[@v]
//       CHECK:   %[[Y:.*]], %[[LOG_SUM_EXP:.*]] = aten.scaled_dot_product_attention
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[D_Q:.*]], %[[D_K:.*]], %[[D_V:.*]] = aten.scaled_dot_product_attention_backward %[[ONE]], %[[Q]], %[[K]], %[[V]], %[[Y]], %[[LOG_SUM_EXP]] {is_causal = true, scale = 5.000000e-01 : f64}
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@v, @k, @q](%[[D_V]], %[[D_K]], %[[D_Q]])
module @attention {
  fsdp.parameter @q : tensor<1x2x4x8xf32>
  fsdp.parameter @k : tensor<1x2x4x8xf32>
  fsdp.parameter @v : tensor<1x2x4x8xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 192 shard 192 {
      fsdp.member @q at 0
      fsdp.member @k at 64
      fsdp.member @v at 128
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %q = fsdp.view %root[@q] : !fsdp.unsharded<@root> -> tensor<1x2x4x8xf32>
    %k = fsdp.view %root[@k] : !fsdp.unsharded<@root> -> tensor<1x2x4x8xf32>
    %v = fsdp.view %root[@v] : !fsdp.unsharded<@root> -> tensor<1x2x4x8xf32>
    %y, %log_sum_exp = aten.scaled_dot_product_attention %q, %k, %v {is_causal = true, scale = 0.5 : f64}
        : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>)
    fsdp.record_loss %y : tensor<1x2x4x8xf32>
    return
  }
}

// -----

// Unused gradients of the one operator are dropped.
// CHECK-LABEL: module @attention_to_an_input
//       CHECK:   %[[D_Q:.*]], %{{.*}}, %{{.*}} = aten.scaled_dot_product_attention_backward
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@q](%[[D_Q]])
module @attention_to_an_input {
  fsdp.parameter @q : tensor<1x2x4x8xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 64 shard 64 {
      fsdp.member @q at 0
    }
  }
  func.func @step(%k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>) {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %q = fsdp.view %root[@q] : !fsdp.unsharded<@root> -> tensor<1x2x4x8xf32>
    %y, %log_sum_exp = aten.scaled_dot_product_attention %q, %k, %v {is_causal = false, scale = 0.5 : f64}
        : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>)
    fsdp.record_loss %y : tensor<1x2x4x8xf32>
    return
  }
}

// -----

// A learned mask has a gradient of its own; under a mask that is no parameter's,
// the other three are all.
// CHECK-LABEL: module @learned_mask
//       CHECK:   %[[BIAS:.*]] = fsdp.view {{.*}}[@bias]
//       CHECK:   aten.scaled_dot_product_attention_backward {{.*}} mask(%{{.*}}) {is_causal = false, scale = 5.000000e-01 : f64}
//       CHECK:   %{{.*}}, %{{.*}}, %{{.*}}, %[[D_BIAS:.*]] = aten.scaled_dot_product_attention_backward {{.*}} mask(%[[BIAS]]) {is_causal = false, mask_gradient, scale = 5.000000e-01 : f64}
//       CHECK:   fsdp.reduce_scatter @root [@bias](%[[D_BIAS]])
module @learned_mask {
  fsdp.parameter @bias : tensor<2x4x4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 32 {
      fsdp.member @bias at 0
    }
  }
  func.func @step(%q: tensor<1x2x4x8xf32>, %seen: tensor<4x4xi1>) {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %bias = fsdp.view %root[@bias] : !fsdp.unsharded<@root> -> tensor<2x4x4xf32>
    %y, %0 = aten.scaled_dot_product_attention %q, %q, %q mask(%bias) {is_causal = false, scale = 0.5 : f64}
        : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<2x4x4xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>)
    %z, %1 = aten.scaled_dot_product_attention %y, %q, %q mask(%seen) {is_causal = false, scale = 0.5 : f64}
        : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<4x4xi1>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>)
    fsdp.record_loss %z : tensor<1x2x4x8xf32>
    return
  }
}
