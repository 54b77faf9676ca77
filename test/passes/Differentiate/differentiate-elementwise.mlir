// RUN: shardc-opt %s --split-input-file --shardc-differentiate | FileCheck %s

// The recorded value is not reduced to a scalar, which keeps the cases small: its
// gradient is a constant of its own shape.

// Both operands receive the gradient.
// CHECK-LABEL: module @add
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@b, @a](%[[ONE]], %[[ONE]])
module @add {
  fsdp.parameter @a : tensor<4xf32>
  fsdp.parameter @b : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 32 {
      fsdp.member @a at 0
      fsdp.member @b at 16
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %a = fsdp.view %root[@a] : !fsdp.unsharded<@root> -> tensor<4xf32>
    %b = fsdp.view %root[@b] : !fsdp.unsharded<@root> -> tensor<4xf32>
    %y = aten.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    fsdp.record_loss %y : tensor<4xf32>
    return
  }
}

// -----

// The second operand receives the negative gradient.
// CHECK-LABEL: module @sub
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[MINUS:.*]] = aten.mul.Scalar %[[ONE]], -1.000000e+00
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@b, @a](%[[MINUS]], %[[ONE]])
module @sub {
  fsdp.parameter @a : tensor<4xf32>
  fsdp.parameter @b : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 32 {
      fsdp.member @a at 0
      fsdp.member @b at 16
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %a = fsdp.view %root[@a] : !fsdp.unsharded<@root> -> tensor<4xf32>
    %b = fsdp.view %root[@b] : !fsdp.unsharded<@root> -> tensor<4xf32>
    %y = aten.sub %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    fsdp.record_loss %y : tensor<4xf32>
    return
  }
}

// -----

// Each operand receives the gradient times the other.
// CHECK-LABEL: module @mul
//       CHECK:   %[[A:.*]] = fsdp.view {{.*}}[@a]
//       CHECK:   %[[B:.*]] = fsdp.view {{.*}}[@b]
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[D_A:.*]] = aten.mul %[[ONE]], %[[B]]
//  CHECK-NEXT:   %[[D_B:.*]] = aten.mul %[[ONE]], %[[A]]
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@b, @a](%[[D_B]], %[[D_A]])
module @mul {
  fsdp.parameter @a : tensor<4xf32>
  fsdp.parameter @b : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 32 {
      fsdp.member @a at 0
      fsdp.member @b at 16
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %a = fsdp.view %root[@a] : !fsdp.unsharded<@root> -> tensor<4xf32>
    %b = fsdp.view %root[@b] : !fsdp.unsharded<@root> -> tensor<4xf32>
    %y = aten.mul %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    fsdp.record_loss %y : tensor<4xf32>
    return
  }
}

// -----

// A value used twice by one operator adds up both gradients.
// CHECK-LABEL: module @square
//       CHECK:   %[[W:.*]] = fsdp.view {{.*}}[@w]
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[LEFT:.*]] = aten.mul %[[ONE]], %[[W]]
//  CHECK-NEXT:   %[[RIGHT:.*]] = aten.mul %[[ONE]], %[[W]]
//  CHECK-NEXT:   %[[SUM:.*]] = aten.add %[[LEFT]], %[[RIGHT]]
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@w](%[[SUM]])
module @square {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<4xf32>
    %y = aten.mul %w, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    fsdp.record_loss %y : tensor<4xf32>
    return
  }
}

// -----

// The gradient of a broadcast operand is summed over what it was repeated
// along: missing dimensions and those of size 1.
// CHECK-LABEL: module @broadcast_is_summed
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00> : tensor<2x3xf32>
//  CHECK-NEXT:   %[[D_ROW:.*]] = aten.sum %[[ONE]] [0] : (tensor<2x3xf32>) -> tensor<3xf32>
//  CHECK-NEXT:   %[[SUM:.*]] = aten.sum %[[ONE]] [1] : (tensor<2x3xf32>) -> tensor<2xf32>
//  CHECK-NEXT:   %[[D_COLUMN:.*]] = aten.view %[[SUM]] [2, 1]
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@column, @row](%[[D_COLUMN]], %[[D_ROW]])
module @broadcast_is_summed {
  fsdp.parameter @row : tensor<3xf32>
  fsdp.parameter @column : tensor<2x1xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 32 shard 32 {
      fsdp.member @row at 0
      fsdp.member @column at 16
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %row = fsdp.view %root[@row] : !fsdp.unsharded<@root> -> tensor<3xf32>
    %column = fsdp.view %root[@column] : !fsdp.unsharded<@root> -> tensor<2x1xf32>
    %y = aten.add %row, %column : (tensor<3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
    fsdp.record_loss %y : tensor<2x3xf32>
    return
  }
}

// -----

// The gradient has the result's dtype until it is converted to the operand's.
// CHECK-LABEL: module @promotion_is_undone
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00> : tensor<4xf32>
//  CHECK-NEXT:   %[[PRODUCT:.*]] = aten.mul %[[ONE]], %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
//  CHECK-NEXT:   %[[D_W:.*]] = aten.to %[[PRODUCT]] bf16
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@w](%[[D_W]])
module @promotion_is_undone {
  fsdp.parameter @w : tensor<4xbf16>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment bf16 reduce bf16 elements 32 shard 32 {
      fsdp.member @w at 0
    }
  }
  func.func @step(%x: tensor<4xf32>) {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<4xbf16>
    %y = aten.mul %x, %w : (tensor<4xf32>, tensor<4xbf16>) -> tensor<4xf32>
    fsdp.record_loss %y : tensor<4xf32>
    return
  }
}

// -----

// Adding a scalar passes the gradient on; multiplying scales it.
// CHECK-LABEL: module @scalar_operators
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[D_W:.*]] = aten.mul.Scalar %[[ONE]], 3.000000e+00 : f64
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@w](%[[D_W]])
module @scalar_operators {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<4xf32>
    %0 = aten.add.Scalar %w, 2.0 : f64 : (tensor<4xf32>) -> tensor<4xf32>
    %y = aten.mul.Scalar %0, 3.0 : f64 : (tensor<4xf32>) -> tensor<4xf32>
    fsdp.record_loss %y : tensor<4xf32>
    return
  }
}

// -----

// Backward reads relu's result, so that its operand need not be kept.
// CHECK-LABEL: module @relu
//       CHECK:   %[[Y:.*]] = aten.relu
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[D_W:.*]] = aten.threshold_backward %[[ONE]], %[[Y]] {threshold = 0.000000e+00 : f64}
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@w](%[[D_W]])
module @relu {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<4xf32>
    %y = aten.relu %w : (tensor<4xf32>) -> tensor<4xf32>
    fsdp.record_loss %y : tensor<4xf32>
    return
  }
}

// -----

// Backward takes the same approximation as forward.
// CHECK-LABEL: module @gelu
//       CHECK:   %[[W:.*]] = fsdp.view {{.*}}[@w]
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00>
//  CHECK-NEXT:   %[[D_W:.*]] = aten.gelu_backward %[[ONE]], %[[W]] {approximate = #aten.gelu_approximation<tanh>}
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@w](%[[D_W]])
module @gelu {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<4xf32>
    %y = aten.gelu %w {approximate = #aten.gelu_approximation<tanh>} : (tensor<4xf32>) -> tensor<4xf32>
    fsdp.record_loss %y : tensor<4xf32>
    return
  }
}

// -----

// A conversion converts the gradient back.
// CHECK-LABEL: module @to
//       CHECK:   %[[ONE:.*]] = aten.constant dense<1.000000e+00> : tensor<4xf64>
//  CHECK-NEXT:   %[[D_W:.*]] = aten.to %[[ONE]] f32
//  CHECK-NEXT:   fsdp.reduce_scatter @root [@w](%[[D_W]])
module @to {
  fsdp.parameter @w : tensor<4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @w at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<4xf32>
    %y = aten.to %w f64 : (tensor<4xf32>) -> tensor<4xf64>
    fsdp.record_loss %y : tensor<4xf64>
    return
  }
}
