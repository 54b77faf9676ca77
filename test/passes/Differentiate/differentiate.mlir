// RUN: shardc-opt %s --split-input-file --shardc-differentiate | FileCheck %s
// RUN: shardc-opt %s --split-input-file '--shardc-differentiate=reduce-once' | FileCheck %s --check-prefix=ONCE

// A program that runs forward, then backward. The gradients of a group are
// reduced together, each converted to the reduce dtype.
// ONCE-LABEL: module @linear_layer
//       ONCE:   fsdp.reduce_scatter @root once [@bias, @weight](
// CHECK-LABEL: module @linear_layer
//       CHECK:   @step(%[[X:.*]]: tensor<2x8xbf16>)
//       CHECK:     fsdp.record_loss
//  CHECK-NEXT:     fsdp.begin backward
//  CHECK-NEXT:     %[[ONE:.*]] = aten.constant dense<1.000000e+00> : tensor<bf16>
//       CHECK:     %[[D_Y:.*]] = aten.expand {{.*}} -> tensor<2x4xbf16>
//  CHECK-NEXT:     %[[D_WEIGHT:.*]] = aten.linear_backward_weight %[[D_Y]], %[[X]]
//  CHECK-NEXT:     %[[D_BIAS:.*]] = aten.sum %[[D_Y]] [0]
//  CHECK-NEXT:     %[[WIDE_BIAS:.*]] = aten.to %[[D_BIAS]] f32
//  CHECK-NEXT:     %[[WIDE_WEIGHT:.*]] = aten.to %[[D_WEIGHT]] f32
//  CHECK-NEXT:     fsdp.reduce_scatter @root [@bias, @weight](%[[WIDE_BIAS]], %[[WIDE_WEIGHT]])
//  CHECK-SAME:       : (tensor<4xf32>, tensor<4x8xf32>) -> !fsdp.shard<@root>
//  CHECK-NEXT:     return
module @linear_layer {
  fsdp.parameter @weight : tensor<4x8xf32>
  fsdp.parameter @bias : tensor<4xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <param = bf16, reduce = f32> reshard default {
    fsdp.segment bf16 reduce f32 elements 64 shard 32 {
      fsdp.member @weight at 0
      fsdp.member @bias at 32
    }
  }
  func.func @step(%x: tensor<2x8xbf16>) {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %weight = fsdp.view %root[@weight] : !fsdp.unsharded<@root> -> tensor<4x8xbf16>
    %bias = fsdp.view %root[@bias] : !fsdp.unsharded<@root> -> tensor<4xbf16>
    %y = aten.linear %x, %weight, %bias : (tensor<2x8xbf16>, tensor<4x8xbf16>, tensor<4xbf16>) -> tensor<2x4xbf16>
    %loss = aten.sum %y [0, 1] : (tensor<2x4xbf16>) -> tensor<bf16>
    fsdp.record_loss %loss : tensor<bf16>
    return
  }
}

// -----

// Replicas sum what their own ranks have reduced.
// CHECK-LABEL: module @replicas
//       CHECK:   %[[SHARD:.*]] = fsdp.reduce_scatter @root [@w]
//  CHECK-NEXT:   fsdp.all_reduce %[[SHARD]] over ["replicate"] : <@root>
//  CHECK-NEXT:   return
module @replicas {
  fsdp.parameter @w : tensor<f32>
  fsdp.mesh @mesh <replicate = 2, shard = 2>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%x: tensor<f32>) {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<f32>
    %loss = aten.mul %x, %w : (tensor<f32>, tensor<f32>) -> tensor<f32>
    fsdp.record_loss %loss : tensor<f32>
    return
  }
}

// -----

// A group is reduced as soon as backward has passed its unshard, before the
// backward of the group in front of it: reductions overlap with compute.
// CHECK-LABEL: module @groups_are_reduced_in_reverse
//       CHECK:   fsdp.begin backward
//       CHECK:   %[[D_RELU:.*]] = aten.mul
//  CHECK-NEXT:   %[[D_H1:.*]] = aten.mul
//  CHECK-NEXT:   fsdp.reduce_scatter @h.1 [@h.1.w](%[[D_H1]])
//  CHECK-NEXT:   %[[D_H0:.*]] = aten.threshold_backward %[[D_RELU]]
//  CHECK-NEXT:   fsdp.reduce_scatter @h.0 [@h.0.w](%[[D_H0]])
module @groups_are_reduced_in_reverse {
  fsdp.parameter @h.0.w : tensor<f32>
  fsdp.parameter @h.1.w : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @h.0 on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @h.0.w at 0
    }
  }
  fsdp.group @h.1 on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @h.1.w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %0 = fsdp.unshard @h.0 : !fsdp.unsharded<@h.0>
    %w0 = fsdp.view %0[@h.0.w] : !fsdp.unsharded<@h.0> -> tensor<f32>
    %1 = aten.relu %w0 : (tensor<f32>) -> tensor<f32>
    %2 = fsdp.unshard @h.1 : !fsdp.unsharded<@h.1>
    %w1 = fsdp.view %2[@h.1.w] : !fsdp.unsharded<@h.1> -> tensor<f32>
    %3 = aten.mul %1, %w1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    fsdp.record_loss %3 : tensor<f32>
    return
  }
}

// -----

// A parameter of which every derivative is zero has a gradient of zeros: its
// group is updated, with weight decay.
// CHECK-LABEL: module @flat_parameter_has_zeros
//       CHECK:   fsdp.begin backward
//       CHECK:   %[[ZEROS:.*]] = aten.constant dense<0.000000e+00> : tensor<4xf32>
//  CHECK-NEXT:   fsdp.reduce_scatter @flat [@flat.w](%[[ZEROS]])
module @flat_parameter_has_zeros {
  fsdp.parameter @flat.w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @flat on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @flat.w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %0 = fsdp.unshard @flat : !fsdp.unsharded<@flat>
    %w = fsdp.view %0[@flat.w] : !fsdp.unsharded<@flat> -> tensor<4xf32>
    %1 = aten.round %w : (tensor<4xf32>) -> tensor<4xf32>
    %2 = aten.sum %1 [0] : (tensor<4xf32>) -> tensor<f32>
    fsdp.record_loss %2 : tensor<f32>
    return
  }
}

// -----

// A skip connection: contributions are added in the order in which backward
// meets the uses, the last use first.
// CHECK-LABEL: module @two_uses_are_added
//       CHECK:   %[[ONE:.*]] = aten.constant
//  CHECK-NEXT:   %[[THROUGH_GELU:.*]] = aten.gelu_backward %[[ONE]]
//  CHECK-NEXT:   %[[SUM:.*]] = aten.add %[[ONE]], %[[THROUGH_GELU]]
//  CHECK-NEXT:   aten.threshold_backward %[[SUM]]
module @two_uses_are_added {
  fsdp.parameter @w : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<f32>
    %skip = aten.relu %w : (tensor<f32>) -> tensor<f32>
    %gelu = aten.gelu %skip : (tensor<f32>) -> tensor<f32>
    %y = aten.add %skip, %gelu : (tensor<f32>, tensor<f32>) -> tensor<f32>
    fsdp.record_loss %y : tensor<f32>
    return
  }
}

// -----

// A tied parameter: each contribution is converted before the addition, which
// thus happens in f32.
// CHECK-LABEL: module @tied_parameter_adds_in_the_reduce_dtype
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00> : tensor<4xbf16>
//       CHECK:   %[[THROUGH_GELU:.*]] = aten.gelu_backward
//  CHECK-NEXT:   %[[FIRST:.*]] = aten.to %[[ONE]] f32
//  CHECK-NEXT:   %[[SECOND:.*]] = aten.to %[[THROUGH_GELU]] f32
//  CHECK-NEXT:   %[[SUM:.*]] = aten.add %[[FIRST]], %[[SECOND]] : (tensor<4xf32>, tensor<4xf32>)
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@w](%[[SUM]])
module @tied_parameter_adds_in_the_reduce_dtype {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <param = bf16, reduce = f32> reshard default {
    fsdp.segment bf16 reduce f32 elements 32 shard 32 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<4xbf16>
    %0 = aten.gelu %w : (tensor<4xbf16>) -> tensor<4xbf16>
    %1 = aten.add %w, %0 : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
    fsdp.record_loss %1 : tensor<4xbf16>
    return
  }
}

// -----

// Gradients cross a module's boundary in the opposite direction.
// CHECK-LABEL: module @boundary_cast
//       CHECK:   %[[ONE:.*]] = aten.constant {{.*}} : tensor<4xf32>
//  CHECK-NEXT:   %[[D_W:.*]] = fsdp.cast %[[ONE]] at output : tensor<4xf32> -> tensor<4xbf16>
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@w](%[[D_W]])
module @boundary_cast {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <param = bf16, output = f32> reshard default {
    fsdp.segment bf16 reduce bf16 elements 32 shard 32 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<4xbf16>
    %0 = fsdp.cast %w at output : tensor<4xbf16> -> tensor<4xf32>
    fsdp.record_loss %0 : tensor<4xf32>
    return
  }
}

// -----

// Nothing is computed for frozen parameters, and their group is not reduced.
// CHECK-LABEL: module @frozen_group
//       CHECK:   %[[ONE:.*]] = aten.constant
//  CHECK-NEXT:   %[[D_HEAD:.*]] = aten.mul %[[ONE]]
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@head](%[[D_HEAD]])
//  CHECK-NEXT:   return
module @frozen_group {
  fsdp.parameter frozen @backbone : tensor<f32>
  fsdp.parameter @head : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @backbone_group on @mesh policy <> reshard default {
    fsdp.segment frozen f32 reduce f32 elements 16 shard 16 {
      fsdp.member @backbone at 0
    }
  }
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @head at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %0 = fsdp.unshard @backbone_group : !fsdp.unsharded<@backbone_group>
    %backbone = fsdp.view %0[@backbone] : !fsdp.unsharded<@backbone_group> -> tensor<f32>
    %feature = aten.relu %backbone : (tensor<f32>) -> tensor<f32>
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %head = fsdp.view %root[@head] : !fsdp.unsharded<@root> -> tensor<f32>
    %y = aten.mul %feature, %head : (tensor<f32>, tensor<f32>) -> tensor<f32>
    fsdp.record_loss %y : tensor<f32>
    return
  }
}

// -----

// A parameter that does not reach the loss has no gradient.
// CHECK-LABEL: module @unused_parameter
//       CHECK:   fsdp.reduce_scatter @root [@used](%{{.*}}) : (tensor<f32>) ->
module @unused_parameter {
  fsdp.parameter @used : tensor<f32>
  fsdp.parameter @unused : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 32 {
      fsdp.member @used at 0
      fsdp.member @unused at 16
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %used = fsdp.view %root[@used] : !fsdp.unsharded<@root> -> tensor<f32>
    %unused = fsdp.view %root[@unused] : !fsdp.unsharded<@root> -> tensor<f32>
    %dead = aten.relu %unused : (tensor<f32>) -> tensor<f32>
    fsdp.record_loss %used : tensor<f32>
    return
  }
}

// -----

// Integers have no gradient: what was converted to one ends the path.
// CHECK-LABEL: module @integers_stop_gradients
//       CHECK:   fsdp.begin backward
//   CHECK-NOT:   aten.to
//       CHECK:   return
module @integers_stop_gradients {
  fsdp.parameter @w : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<f32>
    %integer = aten.to %w i64 : (tensor<f32>) -> tensor<i64>
    %rounded = aten.to %integer f32 : (tensor<i64>) -> tensor<f32>
    %y = aten.mul %w, %rounded : (tensor<f32>, tensor<f32>) -> tensor<f32>
    fsdp.record_loss %y : tensor<f32>
    return
  }
}

// -----

// A derivative that is said takes the place of that of the value, which is
// detached: the product's gradient is that of the sum here. Both operators go.
// CHECK-LABEL: module @derivative_of_another_function
//       CHECK:   %[[W:.*]] = fsdp.view
//       CHECK:   %[[VALUE:.*]] = aten.mul %[[W]], %[[W]]
//  CHECK-NEXT:   aten.sum %[[VALUE]]
//       CHECK:   fsdp.begin backward
//       CHECK:   %[[D_VALUE:.*]] = aten.expand
//  CHECK-NEXT:   %[[D_W:.*]] = aten.mul %[[D_VALUE]], %arg0
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@w](%[[D_W]])
module @derivative_of_another_function {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%slope: tensor<4xf32>) {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<4xf32>
    %square = aten.mul %w, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %value = aten.detach %square : (tensor<4xf32>) -> tensor<4xf32>
    %y = aten.with_slope %value by %w, %slope : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %loss = aten.sum %y [0] : (tensor<4xf32>) -> tensor<f32>
    fsdp.record_loss %loss : tensor<f32>
    return
  }
}

// -----

// Sums over ranks are divided by 4: what the optimizer divides by is their
// number, which the gradients are multiplied by here.
// CHECK-LABEL: module @divided
//       CHECK:     fsdp.begin backward
//       CHECK:     %[[RANKS:.*]] = fsdp.scalar ranks : tensor<i64>
//       CHECK:     %[[SHARE:.*]] = aten.mul.Scalar {{.*}} 2.500000e-01
//       CHECK:     %[[WIDE:.*]] = aten.to %{{.*}} f32 : (tensor<4xbf16>)
//       CHECK:     %[[NARROW:.*]] = aten.to %[[SHARE]] f32
//       CHECK:     %[[PRODUCT:.*]] = aten.mul %[[WIDE]], %[[NARROW]]
//       CHECK:     %[[GRADIENT:.*]] = aten.to %[[PRODUCT]] bf16
//       CHECK:     fsdp.reduce_scatter @root [@w](%[[GRADIENT]])
module @divided {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <param = bf16, reduce = bf16> reshard default attributes {gradient_divide_factor = 4.0 : f64} {
    fsdp.segment bf16 reduce bf16 elements 64 shard 32 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<4xbf16>
    %loss = aten.sum %w [0] : (tensor<4xbf16>) -> tensor<bf16>
    fsdp.record_loss %loss : tensor<bf16>
    return
  }
}
