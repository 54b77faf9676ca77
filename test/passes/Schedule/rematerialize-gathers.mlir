// RUN: shardc-opt %s --split-input-file --shardc-rematerialize-gathers | FileCheck %s
// RUN: shardc-opt %s --split-input-file --shardc-rematerialize-gathers --remarks-filter=shardc-rematerialize-gathers 2>&1 | FileCheck %s --check-prefix=REMARK

// Each group is gathered again, as a clone of the gather and of the views that
// backward uses, before its first use there.
// CHECK-LABEL: module @always_gathers_again
//       CHECK:   %[[FIRST_0:.*]] = fsdp.unshard @h0
//       CHECK:   %[[FIRST_1:.*]] = fsdp.unshard @h1
//       CHECK:   fsdp.begin backward
//  CHECK-NEXT:   %[[AGAIN_1:.*]] = fsdp.unshard @h1
//  CHECK-NEXT:   %[[W_1:.*]] = fsdp.view %[[AGAIN_1]][@h1.w]
//  CHECK-NEXT:   %[[D:.*]] = aten.mul %{{.*}}, %[[W_1]]
//  CHECK-NEXT:   %[[AGAIN_0:.*]] = fsdp.unshard @h0
//  CHECK-NEXT:   %[[W_0:.*]] = fsdp.view %[[AGAIN_0]][@h0.w]
//  CHECK-NEXT:   aten.mul %[[D]], %[[W_0]]

// A group of 16 elements of 4 bytes.
// REMARK: remark: [Passed] reshard {{.*}} Function=h0 {{.*}}Reason="reshard after forward is always"{{.*}}freed_bytes=64{{.*}}gathered_again_bytes=64{{.*}}group=h0
module @always_gathers_again {
  fsdp.parameter @h0.w : tensor<f32>
  fsdp.parameter @h1.w : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @h0 on @mesh policy <> reshard always {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @h0.w at 0
    }
  }
  fsdp.group @h1 on @mesh policy <> reshard always {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @h1.w at 0
    }
  }
  func.func @step(%x: tensor<f32>) {
    fsdp.begin forward
    %h0 = fsdp.unshard @h0 : !fsdp.unsharded<@h0>
    %w_h0 = fsdp.view %h0[@h0.w] : !fsdp.unsharded<@h0> -> tensor<f32>
    %0 = aten.mul %x, %w_h0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %h1 = fsdp.unshard @h1 : !fsdp.unsharded<@h1>
    %w_h1 = fsdp.view %h1[@h1.w] : !fsdp.unsharded<@h1> -> tensor<f32>
    %1 = aten.mul %0, %w_h1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    fsdp.begin backward
    %2 = aten.mul %1, %w_h1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %3 = aten.mul %2, %w_h0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return
  }
}

// -----

// FSDP2's default: the group whose last use in forward is the last one is kept,
// because backward begins with it.
// CHECK-LABEL: module @default_keeps_the_last_group
//       CHECK:   fsdp.begin backward
//   CHECK-NOT:   fsdp.unshard @h1
//       CHECK:   aten.mul
//       CHECK:   fsdp.unshard @h0

// REMARK: remark: [Missed] reshard {{.*}} Function=h1 {{.*}}Reason="the last group of forward is needed again at once"{{.*}}group=h1{{.*}}kept_bytes=64
module @default_keeps_the_last_group {
  fsdp.parameter @h0.w : tensor<f32>
  fsdp.parameter @h1.w : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @h0 on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @h0.w at 0
    }
  }
  fsdp.group @h1 on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @h1.w at 0
    }
  }
  func.func @step(%x: tensor<f32>) {
    fsdp.begin forward
    %h0 = fsdp.unshard @h0 : !fsdp.unsharded<@h0>
    %w_h0 = fsdp.view %h0[@h0.w] : !fsdp.unsharded<@h0> -> tensor<f32>
    %0 = aten.mul %x, %w_h0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %h1 = fsdp.unshard @h1 : !fsdp.unsharded<@h1>
    %w_h1 = fsdp.view %h1[@h1.w] : !fsdp.unsharded<@h1> -> tensor<f32>
    %1 = aten.mul %0, %w_h1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    fsdp.begin backward
    %2 = aten.mul %1, %w_h1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %3 = aten.mul %2, %w_h0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return
  }
}

// -----

// The root holds the first and the last layer. It is last by its last use, not
// by its gather.
// CHECK-LABEL: module @last_by_its_last_use
//       CHECK:   fsdp.begin backward
//   CHECK-NOT:   fsdp.unshard @root
//       CHECK:   fsdp.unshard @h0
module @last_by_its_last_use {
  fsdp.parameter @root.w : tensor<f32>
  fsdp.parameter @h0.w : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @root.w at 0
    }
  }
  fsdp.group @h0 on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @h0.w at 0
    }
  }
  func.func @step(%x: tensor<f32>) {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %w_root = fsdp.view %root[@root.w] : !fsdp.unsharded<@root> -> tensor<f32>
    %0 = aten.mul %x, %w_root : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %h0 = fsdp.unshard @h0 : !fsdp.unsharded<@h0>
    %w_h0 = fsdp.view %h0[@h0.w] : !fsdp.unsharded<@h0> -> tensor<f32>
    %1 = aten.mul %0, %w_h0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %2 = aten.mul %1, %w_root : (tensor<f32>, tensor<f32>) -> tensor<f32>
    fsdp.begin backward
    %3 = aten.mul %2, %w_root : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %4 = aten.mul %3, %w_h0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return
  }
}

// -----

// Backward reuses what forward gathered.
// CHECK-LABEL: module @never_gathers_once
//       CHECK:   fsdp.begin backward
//   CHECK-NOT:   fsdp.unshard

// REMARK: remark: [Missed] reshard {{.*}} Function=h0 {{.*}}Reason="reshard after forward is never"
module @never_gathers_once {
  fsdp.parameter @h0.w : tensor<f32>
  fsdp.parameter @h1.w : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @h0 on @mesh policy <> reshard never {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @h0.w at 0
    }
  }
  fsdp.group @h1 on @mesh policy <> reshard never {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @h1.w at 0
    }
  }
  func.func @step(%x: tensor<f32>) {
    fsdp.begin forward
    %h0 = fsdp.unshard @h0 : !fsdp.unsharded<@h0>
    %w_h0 = fsdp.view %h0[@h0.w] : !fsdp.unsharded<@h0> -> tensor<f32>
    %0 = aten.mul %x, %w_h0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %h1 = fsdp.unshard @h1 : !fsdp.unsharded<@h1>
    %w_h1 = fsdp.view %h1[@h1.w] : !fsdp.unsharded<@h1> -> tensor<f32>
    %1 = aten.mul %0, %w_h1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    fsdp.begin backward
    %2 = aten.mul %1, %w_h1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %3 = aten.mul %2, %w_h0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return
  }
}

// -----

// The derivative of an addition needs no parameter.
// CHECK-LABEL: module @group_that_backward_does_not_use
//       CHECK:   fsdp.begin backward
//   CHECK-NOT:   fsdp.unshard

// REMARK: remark: [Missed] reshard {{.*}} Function=h0 {{.*}}Reason="backward does not use the group"
module @group_that_backward_does_not_use {
  fsdp.parameter @h0.w : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @h0 on @mesh policy <> reshard always {
    fsdp.segment f32 reduce f32 elements 16 shard 16 {
      fsdp.member @h0.w at 0
    }
  }
  func.func @step(%x: tensor<f32>) {
    fsdp.begin forward
    %h0 = fsdp.unshard @h0 : !fsdp.unsharded<@h0>
    %w_h0 = fsdp.view %h0[@h0.w] : !fsdp.unsharded<@h0> -> tensor<f32>
    %0 = aten.add %x, %w_h0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    fsdp.begin backward
    %1 = aten.relu %0 : (tensor<f32>) -> tensor<f32>
    return
  }
}

// -----

// A view that backward does not use is not repeated.
// CHECK-LABEL: module @only_used_views_are_cloned
//       CHECK:   fsdp.begin backward
//  CHECK-NEXT:   %[[AGAIN:.*]] = fsdp.unshard @root
//  CHECK-NEXT:   %[[WEIGHT:.*]] = fsdp.view %[[AGAIN]][@weight]
//  CHECK-NEXT:   aten.mul %{{.*}}, %[[WEIGHT]]
module @only_used_views_are_cloned {
  fsdp.parameter @weight : tensor<f32>
  fsdp.parameter @bias : tensor<f32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @root on @mesh policy <> reshard always {
    fsdp.segment f32 reduce f32 elements 32 shard 32 {
      fsdp.member @weight at 0
      fsdp.member @bias at 16
    }
  }
  func.func @step(%x: tensor<f32>) {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %bias = fsdp.view %root[@bias] : !fsdp.unsharded<@root> -> tensor<f32>
    %weight = fsdp.view %root[@weight] : !fsdp.unsharded<@root> -> tensor<f32>
    %0 = aten.mul %x, %weight : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %1 = aten.add %0, %bias : (tensor<f32>, tensor<f32>) -> tensor<f32>
    fsdp.begin backward
    %2 = aten.mul %1, %weight : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return
  }
}

// -----

// The parts of a packed weight are views of a view. Those that backward reads
// are cloned with all that they are views of; one that only backward read is
// not taken in forward any more. Nothing of forward's gather is used later.
// CHECK-LABEL: module @views_of_views
//       CHECK:   %[[FIRST:.*]] = fsdp.unshard @h0
//  CHECK-NEXT:   %[[PACKED:.*]] = fsdp.view %[[FIRST]][@h0.w]
//  CHECK-NEXT:   %[[QUERY:.*]] = aten.slice %[[PACKED]] dim 0 [0 : 4]
//  CHECK-NEXT:   aten.linear %{{.*}}, %[[QUERY]]
//  CHECK-NEXT:   aten.slice %[[PACKED]] dim 0 [4 : 8]
//  CHECK-NEXT:   aten.linear
//  CHECK-NEXT:   fsdp.begin backward
//  CHECK-NEXT:   %[[AGAIN:.*]] = fsdp.unshard @h0
//  CHECK-NEXT:   %[[PACKED_AGAIN:.*]] = fsdp.view %[[AGAIN]][@h0.w]
//  CHECK-NEXT:   %[[QUERY_AGAIN:.*]] = aten.slice %[[PACKED_AGAIN]] dim 0 [0 : 4]
//  CHECK-NEXT:   %[[TURNED:.*]] = aten.permute %[[QUERY_AGAIN]] [1, 0]
//  CHECK-NEXT:   aten.linear_backward_input %{{.*}}, %[[QUERY_AGAIN]]
//  CHECK-NEXT:   aten.mul %[[TURNED]], %{{.*}}
//   CHECK-NOT:   aten.slice
module @views_of_views {
  fsdp.parameter @h0.w : tensor<8x4xf32>
  fsdp.mesh @mesh <shard = 1>
  fsdp.group @h0 on @mesh policy <> reshard always {
    fsdp.segment f32 reduce f32 elements 32 shard 32 {
      fsdp.member @h0.w at 0
    }
  }
  func.func @step(%x: tensor<2x4xf32>, %d: tensor<4x4xf32>) {
    fsdp.begin forward
    %h0 = fsdp.unshard @h0 : !fsdp.unsharded<@h0>
    %w = fsdp.view %h0[@h0.w] : !fsdp.unsharded<@h0> -> tensor<8x4xf32>
    %query = aten.slice %w dim 0 [0:4] : (tensor<8x4xf32>) -> tensor<4x4xf32>
    %turned = aten.permute %query [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %q = aten.linear %x, %query : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %key = aten.slice %w dim 0 [4:8] : (tensor<8x4xf32>) -> tensor<4x4xf32>
    %k = aten.linear %q, %key : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    fsdp.begin backward
    %d_x = aten.linear_backward_input %k, %query : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %d_w = aten.mul %turned, %d : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return
  }
}

// -----

// A group that few ranks keep among them is retained after its last use in
// forward, and gathered from that.
// CHECK-LABEL: module @resharded_to_fewer_ranks
//       CHECK:   %[[FIRST:.*]] = fsdp.unshard @h0 :
//       CHECK:   aten.mul
//  CHECK-NEXT:   %[[KEPT:.*]] = fsdp.retain %[[FIRST]] : <@h0> -> <@h0>
//  CHECK-NEXT:   fsdp.begin backward
//  CHECK-NEXT:   %[[AGAIN:.*]] = fsdp.unshard @h0 from %[[KEPT]]
//  CHECK-NEXT:   fsdp.view %[[AGAIN]][@h0.w]

// REMARK: remark: [Passed] reshard {{.*}} Function=h0 {{.*}}Reason="reshard after forward is 2"
module @resharded_to_fewer_ranks {
  fsdp.parameter @h0.w : tensor<f32>
  fsdp.mesh @mesh <shard = 2, within_2 = 2>
  fsdp.group @h0 on @mesh policy <> reshard always to 2 {
    fsdp.segment f32 reduce f32 elements 64 shard 16 {
      fsdp.member @h0.w at 0
    }
  }
  func.func @step(%x: tensor<f32>) {
    fsdp.begin forward
    %h0 = fsdp.unshard @h0 : !fsdp.unsharded<@h0>
    %w_h0 = fsdp.view %h0[@h0.w] : !fsdp.unsharded<@h0> -> tensor<f32>
    %0 = aten.mul %x, %w_h0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    fsdp.begin backward
    %1 = aten.mul %0, %w_h0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return
  }
}
