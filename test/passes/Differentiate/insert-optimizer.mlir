// RUN: shardc-opt %s --split-input-file --shardc-insert-optimizer=momentum=0.9 | FileCheck %s
// RUN: shardc-opt %s --split-input-file --shardc-insert-optimizer="optimizer=adamw weight-decay=0.01" | FileCheck %s --check-prefix=ADAMW
// RUN: shardc-opt %s --split-input-file --shardc-insert-optimizer="clip-grad-norm=0.5" | FileCheck %s --check-prefix=CLIP
// RUN: shardc-opt %s --split-input-file --shardc-insert-optimizer="loss-scale=dynamic" | FileCheck %s --check-prefix=DYNAMIC
// RUN: shardc-opt %s --split-input-file --shardc-insert-optimizer="loss-scale=128" | FileCheck %s --check-prefix=CONSTANT
// RUN: shardc-opt %s --split-input-file --shardc-insert-optimizer="skip-non-finite=true" | FileCheck %s --check-prefix=SKIP

// A dynamic scale: what the gradients have is written down before the next step's
// replaces it, and the update runs where all are finite. PyTorch's numbers.
// DYNAMIC-LABEL: module @sgd_on_one_group
//       DYNAMIC:   fsdp.state @"optimizer#loss_scale" "loss_scale" : tensor<f64>
//  DYNAMIC-NEXT:   fsdp.state @"optimizer#all_finite" "all_finite" : tensor<i1>
//       DYNAMIC:   fsdp.begin check
//  DYNAMIC-NEXT:   %[[SQUARES:.*]] = fsdp.gradient_norm
//       DYNAMIC:   %[[FIRST:.*]] = aten.constant dense<6.553600e+04> : tensor<f64>
//  DYNAMIC-NEXT:   %[[KEPT:.*]] = fsdp.read @"optimizer#next_loss_scale"
//  DYNAMIC-NEXT:   %[[UNSET:.*]] = aten.eq.Scalar %[[KEPT]], 0.000000e+00
//  DYNAMIC-NEXT:   %[[USED_SCALE:.*]] = aten.where %[[UNSET]], %[[FIRST]], %[[KEPT]]
//  DYNAMIC-NEXT:   fsdp.write %[[USED_SCALE]], @"optimizer#loss_scale" : tensor<f64>
//  DYNAMIC-NEXT:   %[[SUM:.*]] = aten.sum %[[SQUARES]]
//  DYNAMIC-NEXT:   %[[FINITE:.*]] = aten.isfinite %[[SUM]]
//  DYNAMIC-NEXT:   fsdp.write %[[FINITE]], @"optimizer#all_finite" : tensor<i1>
//       DYNAMIC:   aten.ge.Scalar %{{.*}}, 2.000000e+03
//       DYNAMIC:   aten.clamp %{{.*}} {max = 1.7014118346046923E+38 : f64}
//       DYNAMIC:   aten.mul.Scalar %{{.*}}, 5.000000e-01
//       DYNAMIC:   fsdp.write %{{.*}}, @"optimizer#next_loss_scale"
//       DYNAMIC:   fsdp.write %{{.*}}, @"optimizer#growth_tracker"
//  DYNAMIC-NEXT:   fsdp.begin update if @"optimizer#all_finite"
//       DYNAMIC:   %[[BATCHES:.*]] = aten.mul.Scalar %{{.*}}, 2.000000e+00 : f64
//       DYNAMIC:   %[[USED:.*]] = fsdp.read @"optimizer#loss_scale"
//  DYNAMIC-NEXT:   %[[COUNT:.*]] = aten.mul %[[BATCHES]], %[[USED]]
//  DYNAMIC-NEXT:   aten.reciprocal %[[COUNT]]

// With a constant one the update has no condition.
// CONSTANT-LABEL: module @sgd_on_one_group
//       CONSTANT:   fsdp.begin check
//       CONSTANT:   %[[NUMBER:.*]] = aten.constant dense<1.280000e+02> : tensor<f64>
//  CONSTANT-NEXT:   fsdp.write %[[NUMBER]], @"optimizer#loss_scale" : tensor<f64>
//       CONSTANT:   fsdp.begin update{{$}}

// SKIP-LABEL: module @sgd_on_one_group
//       SKIP:   fsdp.begin check
//   SKIP-NOT:   loss_scale
//       SKIP:   fsdp.begin update if @"optimizer#all_finite"

// Gradients of a norm above 0.5 are scaled to it, as clip_grad_norm_ does: the
// norm is of their mean, and lies 1e-6 above what it is.
// CLIP-LABEL: module @sgd_on_one_group
//       CLIP:   %[[SQUARES:.*]] = fsdp.gradient_norm
//       CLIP:   %[[SCALE:.*]] = aten.reciprocal %{{.*}} : (tensor<f64>) -> tensor<f64>
//  CLIP-NEXT:   %[[SUM:.*]] = aten.sum %[[SQUARES]] [0] : (tensor<2xf64>) -> tensor<f64>
//  CLIP-NEXT:   %[[ROOT:.*]] = aten.sqrt %[[SUM]]
//  CLIP-NEXT:   %[[NORM:.*]] = aten.mul %[[SCALE]], %[[ROOT]]
//  CLIP-NEXT:   %[[ABOVE:.*]] = aten.add.Scalar %[[NORM]], 9.9999999999999995E-7 : f64
//  CLIP-NEXT:   %[[INVERSE:.*]] = aten.reciprocal %[[ABOVE]]
//  CLIP-NEXT:   %[[RATIO:.*]] = aten.mul.Scalar %[[INVERSE]], 5.000000e-01 : f64
//  CLIP-NEXT:   %[[LEAST:.*]] = aten.clamp %[[RATIO]] {max = 1.000000e+00 : f64}
//  CLIP-NEXT:   %[[CLIPPED:.*]] = aten.mul %[[SCALE]], %[[LEAST]]
//       CLIP:   aten.to %[[CLIPPED]] f32

// The norm of the gradients is a metric; then each shard takes its step. A
// momentum is kept like the shard.
// CHECK-LABEL: module @sgd_on_one_group
//       CHECK:   fsdp.state @"root#0.momentum" "momentum" of @root[0] : tensor<4xf32>
//       CHECK:   %[[SHARD:.*]] = fsdp.reduce_scatter @root
//  CHECK-NEXT:   fsdp.begin check
//  CHECK-NEXT:   %{{.*}} = fsdp.gradient_norm %[[SHARD]] : (!fsdp.shard<@root>) -> tensor<2xf64>
//  CHECK-NEXT:   fsdp.begin update
//  CHECK-NEXT:   %[[RATE:.*]] = fsdp.scalar learning_rate : tensor<f64>
//  CHECK-NEXT:   %[[MICRO_BATCHES:.*]] = fsdp.scalar micro_batches : tensor<f64>
//  CHECK-NEXT:   %[[COUNT:.*]] = aten.mul.Scalar %[[MICRO_BATCHES]], 2.000000e+00 : f64
//  CHECK-NEXT:   %[[SCALE:.*]] = aten.reciprocal %[[COUNT]]
//  CHECK-NEXT:   %[[P:.*]] = fsdp.read_shard @root[0] : tensor<4xf32>
//  CHECK-NEXT:   %[[G:.*]] = fsdp.gradient %[[SHARD]][0] : <@root> -> tensor<4xf32>
//  CHECK-NEXT:   %[[M:.*]] = fsdp.read @"root#0.momentum" : tensor<4xf32>
//  CHECK-NEXT:   %[[SCALE32:.*]] = aten.to %[[SCALE]] f32
//  CHECK-NEXT:   %[[RATE32:.*]] = aten.to %[[RATE]] f32
//  CHECK-NEXT:   %[[NEW:.*]]:2 = fsdp.update "sgd" (%[[OLD:.*]] = %[[P]] : {{.*}}, %[[SUM:.*]] = %[[G]] : {{.*}}, %[[LAST:.*]] = %[[M]] : {{.*}}, %[[FACTOR:.*]] = %[[SCALE32]] : {{.*}}, %[[LR:.*]] = %[[RATE32]] : tensor<f32>)
//  CHECK-NEXT:     %[[MEAN:.*]] = aten.mul %[[SUM]], %[[FACTOR]]
//  CHECK-NEXT:     %[[DECAYED:.*]] = aten.mul.Scalar %[[LAST]], 0.899999976 : f32
//  CHECK-NEXT:     %[[STEP:.*]] = aten.add %[[DECAYED]], %[[MEAN]]
//  CHECK-NEXT:     %[[SCALED:.*]] = aten.mul %[[LR]], %[[STEP]]
//  CHECK-NEXT:     %[[RESULT:.*]] = aten.sub %[[OLD]], %[[SCALED]]
//  CHECK-NEXT:     fsdp.yield %[[RESULT]], %[[STEP]]
//       CHECK:   fsdp.write_shard %[[NEW]]#0, @root[0] : tensor<4xf32>
//  CHECK-NEXT:   fsdp.write %[[NEW]]#1, @"root#0.momentum" : tensor<4xf32>
//  CHECK-NEXT:   return

// AdamW counts its own steps, in numbers that the whole model has once.
// ADAMW-LABEL: module @sgd_on_one_group
//       ADAMW:   fsdp.state @"optimizer#bias_correction1" "bias_correction1" : tensor<f64>
//  ADAMW-NEXT:   fsdp.state @"optimizer#bias_correction2" "bias_correction2" : tensor<f64>
//  ADAMW-NEXT:   fsdp.state @"root#0.exp_avg" "exp_avg" of @root[0] : tensor<4xf32>
//  ADAMW-NEXT:   fsdp.state @"root#0.exp_avg_sq" "exp_avg_sq" of @root[0] : tensor<4xf32>
//       ADAMW:   %[[LAST:.*]] = fsdp.read @"optimizer#bias_correction1"
//       ADAMW:   %[[SHRUNK:.*]] = aten.mul.Scalar %[[LAST]], 9.000000e-01 : f64
//  ADAMW-NEXT:   %[[NEXT:.*]] = aten.add.Scalar %[[SHRUNK]], 0.099999999999999978 : f64
//  ADAMW-NEXT:   fsdp.write %[[NEXT]], @"optimizer#bias_correction1"
//       ADAMW:   %{{.*}}:3 = fsdp.update "adamw"
module @sgd_on_one_group {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 8 shard 4 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%gradient: tensor<4xf32>) {
    fsdp.begin forward
    fsdp.begin backward
    %shard = fsdp.reduce_scatter @root [@w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@root>
    return
  }
}

// -----

// One norm over all groups; updates in the order of the reductions, of all
// segments but frozen ones. bf16 parameters are updated in f32.
// CHECK-LABEL: module @one_update_a_segment
//       CHECK:   fsdp.state @"h.1#2.momentum" "momentum" of @h.1[0] : tensor<4xbf16>
//  CHECK-NEXT:   fsdp.state @"h.0#1.momentum" "momentum" of @h.0[1] : tensor<4xf32>
//       CHECK:   %[[H1:.*]] = fsdp.reduce_scatter @h.1
//       CHECK:   %[[H0:.*]] = fsdp.reduce_scatter @h.0
//       CHECK:   %{{.*}} = fsdp.gradient_norm %[[H1]], %[[H0]]
//       CHECK:   fsdp.update "sgd" (%[[P:[a-z0-9]+]] = %{{.*}} : tensor<4xbf16>
//       CHECK:     aten.to %[[P]] f32
//       CHECK:     aten.to %{{.*}} bf16
//       CHECK:   fsdp.write_shard %{{.*}}, @h.1[0] : tensor<4xbf16>
//   CHECK-NOT:   @h.0[0]
//       CHECK:   fsdp.write_shard %{{.*}}, @h.0[1] : tensor<4xf32>
module @one_update_a_segment {
  fsdp.parameter frozen @h.0.table : tensor<4xf32>
  fsdp.parameter @h.0.w : tensor<4xf32>
  fsdp.parameter @h.1.w : tensor<4xbf16>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @h.0 on @mesh policy <> reshard default {
    fsdp.segment frozen f32 reduce f32 elements 4 shard 4 {
      fsdp.member @h.0.table at 0
    }
    fsdp.segment f32 reduce f32 elements 4 shard 4 {
      fsdp.member @h.0.w at 0
    }
  }
  fsdp.group @h.1 on @mesh policy <> reshard default {
    fsdp.segment bf16 reduce bf16 elements 4 shard 4 {
      fsdp.member @h.1.w at 0
    }
  }
  func.func @step(%gradient: tensor<4xf32>, %narrow: tensor<4xbf16>) {
    fsdp.begin forward
    fsdp.begin backward
    %h1 = fsdp.reduce_scatter @h.1 [@h.1.w](%narrow) : (tensor<4xbf16>) -> !fsdp.shard<@h.1>
    %h0 = fsdp.reduce_scatter @h.0 [@h.0.w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@h.0>
    return
  }
}
