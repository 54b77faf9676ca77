// RUN: shardc-opt %s --split-input-file --shardc-hoist-all-gathers | FileCheck %s
// RUN: shardc-opt %s --split-input-file --shardc-hoist-all-gathers=distance=2 | FileCheck %s --check-prefix=TWO
// RUN: shardc-opt %s --split-input-file --shardc-hoist-all-gathers=distance=0 | FileCheck %s --check-prefix=OFF
// RUN: shardc-opt %s --split-input-file --shardc-hoist-all-gathers --remarks-filter=shardc-hoist-all-gathers 2>&1 | FileCheck %s --check-prefix=REMARK

// While a group computes, the next one is gathered. The first gather has
// nothing to hide behind.
// CHECK-LABEL: @starts_one_gather_ahead
//       CHECK:   fsdp.begin forward
//  CHECK-NEXT:   %[[GATHER_0:.*]] = fsdp.unshard_start @h.0
//  CHECK-NEXT:   %[[WHOLE_0:.*]] = fsdp.wait %[[GATHER_0]]
//  CHECK-NEXT:   %[[GATHER_1:.*]] = fsdp.unshard_start @h.1
//  CHECK-NEXT:   fsdp.view %[[WHOLE_0]]
//       CHECK:   aten.mul
//  CHECK-NEXT:   %[[WHOLE_1:.*]] = fsdp.wait %[[GATHER_1]]
//  CHECK-NEXT:   %[[GATHER_2:.*]] = fsdp.unshard_start @h.2
//  CHECK-NEXT:   fsdp.view %[[WHOLE_1]]
//       CHECK:   aten.mul
//  CHECK-NEXT:   fsdp.wait %[[GATHER_2]]

// With a distance of 2, two gathers start at the begin, in the order of their
// waits.
//   TWO-LABEL: @starts_one_gather_ahead
//         TWO:   fsdp.begin forward
//    TWO-NEXT:   %[[GATHER_0:.*]] = fsdp.unshard_start @h.0
//    TWO-NEXT:   %[[GATHER_1:.*]] = fsdp.unshard_start @h.1
//    TWO-NEXT:   fsdp.wait %[[GATHER_0]]
//    TWO-NEXT:   %[[GATHER_2:.*]] = fsdp.unshard_start @h.2
//         TWO:   fsdp.wait %[[GATHER_1]]
//         TWO:   fsdp.wait %[[GATHER_2]]

// With 0 nothing moves.
//   OFF-LABEL: @starts_one_gather_ahead
//         OFF:   %[[GATHER_1:.*]] = fsdp.unshard_start @h.1
//    OFF-NEXT:   fsdp.wait %[[GATHER_1]]

// REMARK: remark: [Passed] prefetch | {{.*}} Function=h.0 {{.*}}Reason="starts at the beginning of the micro-batch"
// REMARK: remark: [Passed] prefetch | {{.*}} Function=h.1 {{.*}}Reason="starts when the gather of h.0 is complete"
func.func @starts_one_gather_ahead(%x: tensor<f32>) {
  fsdp.begin forward
  %p0 = fsdp.unshard_start @h.0 on gather : !fsdp.pending<@h.0>
  %h0 = fsdp.wait %p0 : !fsdp.pending<@h.0> -> !fsdp.unsharded<@h.0>
  %w0 = fsdp.view %h0[@h.0.w] : !fsdp.unsharded<@h.0> -> tensor<f32>
  %0 = aten.mul %x, %w0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %p1 = fsdp.unshard_start @h.1 on gather : !fsdp.pending<@h.1>
  %h1 = fsdp.wait %p1 : !fsdp.pending<@h.1> -> !fsdp.unsharded<@h.1>
  %w1 = fsdp.view %h1[@h.1.w] : !fsdp.unsharded<@h.1> -> tensor<f32>
  %1 = aten.mul %0, %w1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %p2 = fsdp.unshard_start @h.2 on gather : !fsdp.pending<@h.2>
  %h2 = fsdp.wait %p2 : !fsdp.pending<@h.2> -> !fsdp.unsharded<@h.2>
  %w2 = fsdp.view %h2[@h.2.w] : !fsdp.unsharded<@h.2> -> tensor<f32>
  %2 = aten.mul %1, %w2 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

// The first gather of backward starts with it: while the loss is computed,
// memory is for what it takes.
// CHECK-LABEL: @starts_in_its_own_part
//       CHECK:   %[[FIRST:.*]] = fsdp.unshard_start @h.0
//       CHECK:   fsdp.wait %[[FIRST]]
//       CHECK:   aten.mul
//  CHECK-NEXT:   fsdp.begin backward
//  CHECK-NEXT:   %[[AGAIN:.*]] = fsdp.unshard_start @h.0
//  CHECK-NEXT:   aten.mul
//  CHECK-NEXT:   fsdp.wait %[[AGAIN]]
// REMARK: remark: [Passed] prefetch | {{.*}} Function=h.0 {{.*}}Reason="starts at the beginning of backward"
func.func @starts_in_its_own_part(%x: tensor<f32>) {
  fsdp.begin forward
  %p0 = fsdp.unshard_start @h.0 on gather : !fsdp.pending<@h.0>
  %h0 = fsdp.wait %p0 : !fsdp.pending<@h.0> -> !fsdp.unsharded<@h.0>
  %0 = aten.mul %x, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
  fsdp.begin backward
  %1 = aten.mul %x, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %p1 = fsdp.unshard_start @h.0 on gather : !fsdp.pending<@h.0>
  %h1 = fsdp.wait %p1 : !fsdp.pending<@h.0> -> !fsdp.unsharded<@h.0>
  return
}

// -----

// Waits of reductions are not counted and do not move.
// CHECK-LABEL: @reductions_stay
//       CHECK:   %[[REDUCTION:.*]] = fsdp.reduce_scatter_start @root
//  CHECK-NEXT:   fsdp.begin update
//  CHECK-NEXT:   fsdp.wait %[[REDUCTION]]
func.func @reductions_stay(%gradient: tensor<4xf32>) {
  fsdp.begin forward
  %p0 = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
  %h0 = fsdp.wait %p0 : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
  fsdp.begin backward
  %p1 = fsdp.reduce_scatter_start @root [@w](%gradient) on reduce : (tensor<4xf32>) -> !fsdp.pending<@root>
  fsdp.begin update
  %shard = fsdp.wait %p1 : !fsdp.pending<@root> -> !fsdp.shard<@root>
  return
}
