// RUN: shardc-opt %s --shardc-insert-optimizer=optimizer=muon | FileCheck %s

// The next segment's directions are gathered before the matrices of one. A tall
// matrix is transposed, so that its Gram matrix is the small one; its factor,
// the root of 4 / 2, is in the step, which is rounded once. The bias has adamw.
// CHECK-LABEL: module @muon_on_two_groups
//       CHECK:   fsdp.state @"h.1#2.momentum" "momentum" of @h.1[0] : tensor<4xf32>
//       CHECK:   fsdp.begin update
//       CHECK:   %[[OF_TALL:.*]]:2 = fsdp.update "muon" (%[[G:.*]] = %{{.*}} : tensor<4xf32>, %[[M:.*]] = %{{.*}} : tensor<4xf32>, %[[SCALE:.*]] = %{{.*}} : tensor<f32>) -> (tensor<4xbf16>, tensor<4xf32>) {
//  CHECK-NEXT:     %[[MEAN:.*]] = aten.mul %[[G]], %[[SCALE]]
//  CHECK-NEXT:     %[[TO_GO:.*]] = aten.sub %[[MEAN]], %[[M]]
//       CHECK:     aten.to %{{.*}} bf16
//       CHECK:   fsdp.write %[[OF_TALL]]#1, @"h.1#2.momentum"
//  CHECK-NEXT:   %[[TALL:.*]] = fsdp.gather_shard %[[OF_TALL]]#0 of @h.1[0] : tensor<4xbf16> -> tensor<4x2xbf16>
//       CHECK:   %[[WIDE:.*]]:2 = fsdp.gather_shard %{{.*}} of @h.0[0] : tensor<8xbf16> -> tensor<2x4xbf16>, tensor<2x3xbf16>
//       CHECK:   aten.permute %[[TALL]] [1, 0] : (tensor<4x2xbf16>) -> tensor<2x4xbf16>
//       CHECK:   aten.clamp %{{.*}} {min = {{.*}} : bf16}
//       CHECK:   %[[GRAM:.*]] = aten.linear %[[X:.*]], %[[X]] : (tensor<2x4xbf16>, tensor<2x4xbf16>) -> tensor<2x2xbf16>
//       CHECK:   aten.linear_backward_weight %[[GRAM]], %[[GRAM]] : (tensor<2x2xbf16>, tensor<2x2xbf16>) -> tensor<2x2xf32>
//       CHECK:   aten.linear_backward_weight %{{.*}}, %[[X]] : (tensor<2x2xbf16>, tensor<2x4xbf16>) -> tensor<2x4xf32>
//       CHECK:   aten.mul.Scalar %{{.*}}, 1.41421354 : f32
//  CHECK-NEXT:   aten.to %{{.*}} bf16
//  CHECK-NEXT:   %[[STEP:.*]] = aten.permute
//       CHECK:   %[[OWN:.*]] = fsdp.take_shard %[[STEP]] of @h.1[0] : tensor<4x2xbf16> -> tensor<4xbf16>
//       CHECK:   fsdp.update "muon" (%{{.*}} = %{{.*}} : tensor<4xf32>, %{{.*}} = %[[OWN]] : tensor<4xbf16>, %{{.*}} = %{{.*}} : tensor<f32>) -> tensor<4xf32>
//  CHECK-NEXT:     aten.to
//  CHECK-NEXT:     aten.mul
//  CHECK-NEXT:     aten.sub
//       CHECK:   fsdp.write_shard %{{.*}}, @h.1[0] : tensor<4xf32>
//       CHECK:   aten.to %[[WIDE]]#0 f32
//   CHECK-NOT:   aten.permute
//       CHECK:   fsdp.take_shard %{{.*}}, %{{.*}} of @h.0[0] : tensor<2x4xbf16>, tensor<2x3xbf16> -> tensor<8xbf16>
module @muon_on_two_groups {
  fsdp.parameter @h.0.a : tensor<2x4xf32>
  fsdp.parameter @h.0.c : tensor<2x3xf32>
  fsdp.parameter @h.0.bias : tensor<4xf32>
  fsdp.parameter @h.1.w : tensor<4x2xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @h.0 on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 16 shard 8 {
      fsdp.member @h.0.a at 0
      fsdp.member @h.0.c at 8
    }
    fsdp.segment f32 reduce f32 elements 4 shard 2 with {optimizer = "adamw"} {
      fsdp.member @h.0.bias at 0
    }
  }
  fsdp.group @h.1 on @mesh policy <> reshard default {
    fsdp.segment f32 reduce f32 elements 8 shard 4 {
      fsdp.member @h.1.w at 0
    }
  }
  func.func @step(%a: tensor<2x4xf32>, %c: tensor<2x3xf32>, %bias: tensor<4xf32>, %w: tensor<4x2xf32>) {
    fsdp.begin forward
    fsdp.begin backward
    %h1 = fsdp.reduce_scatter @h.1 [@h.1.w](%w) : (tensor<4x2xf32>) -> !fsdp.shard<@h.1>
    %h0 = fsdp.reduce_scatter @h.0 [@h.0.a, @h.0.c, @h.0.bias](%a, %c, %bias) : (tensor<2x4xf32>, tensor<2x3xf32>, tensor<4xf32>) -> !fsdp.shard<@h.0>
    return
  }
}
