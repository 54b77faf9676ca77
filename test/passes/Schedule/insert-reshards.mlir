// RUN: shardc-opt %s --split-input-file --shardc-insert-reshards | FileCheck %s

// The group dies with the last use of any view of it.
// CHECK-LABEL: @after_the_last_use
//       CHECK:   %[[WHOLE:.*]] = fsdp.wait
//       CHECK:   aten.mul
//  CHECK-NEXT:   aten.add
//  CHECK-NEXT:   fsdp.reshard %[[WHOLE]]
//  CHECK-NEXT:   aten.relu
func.func @after_the_last_use(%x: tensor<f32>) {
  fsdp.begin forward
  %pending = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
  %root = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
  %bias = fsdp.view %root[@bias] : !fsdp.unsharded<@root> -> tensor<f32>
  %weight = fsdp.view %root[@weight] : !fsdp.unsharded<@root> -> tensor<f32>
  %0 = aten.mul %x, %weight : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %1 = aten.add %0, %bias : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %2 = aten.relu %1 : (tensor<f32>) -> tensor<f32>
  return
}

// -----

// Whoever reads a view of a view reads the group.
// CHECK-LABEL: @after_views_of_views
//       CHECK:   %[[WHOLE:.*]] = fsdp.wait
//       CHECK:   aten.linear
//  CHECK-NEXT:   fsdp.reshard %[[WHOLE]]
//  CHECK-NEXT:   aten.relu
func.func @after_views_of_views(%x: tensor<2x4xf32>) {
  fsdp.begin forward
  %pending = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
  %root = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
  %packed = fsdp.view %root[@packed] : !fsdp.unsharded<@root> -> tensor<8x4xf32>
  %part = aten.slice %packed dim 0 [4:8] : (tensor<8x4xf32>) -> tensor<4x4xf32>
  %turned = aten.permute %part [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = aten.relu %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = aten.linear %0, %turned : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %2 = aten.relu %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

// Forward's value and backward's die on their own.
// CHECK-LABEL: @each_gather_has_its_own
//       CHECK:   %[[FIRST:.*]] = fsdp.wait
//       CHECK:   aten.relu
//  CHECK-NEXT:   fsdp.reshard %[[FIRST]]
//       CHECK:   fsdp.begin backward
//       CHECK:   %[[AGAIN:.*]] = fsdp.wait
//       CHECK:   aten.gelu
//  CHECK-NEXT:   fsdp.reshard %[[AGAIN]]
func.func @each_gather_has_its_own() {
  fsdp.begin forward
  %p0 = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
  %first = fsdp.wait %p0 : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
  %w0 = fsdp.view %first[@w] : !fsdp.unsharded<@root> -> tensor<f32>
  %0 = aten.relu %w0 : (tensor<f32>) -> tensor<f32>
  fsdp.begin backward
  %p1 = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
  %again = fsdp.wait %p1 : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
  %w1 = fsdp.view %again[@w] : !fsdp.unsharded<@root> -> tensor<f32>
  %1 = aten.gelu %w1 : (tensor<f32>) -> tensor<f32>
  return
}

// -----

// A group that nothing uses dies at once.
// CHECK-LABEL: @unused_group
//       CHECK:   %[[WHOLE:.*]] = fsdp.wait
//  CHECK-NEXT:   fsdp.reshard %[[WHOLE]]
func.func @unused_group() {
  fsdp.begin forward
  %pending = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
  %root = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
  return
}

// -----

// Gradients are state; nothing frees them.
// CHECK-LABEL: @reductions_have_none
//   CHECK-NOT:   fsdp.reshard
func.func @reductions_have_none(%gradient: tensor<4xf32>) {
  fsdp.begin backward
  %pending = fsdp.reduce_scatter_start @root [@w](%gradient) on reduce : (tensor<4xf32>) -> !fsdp.pending<@root>
  fsdp.begin update
  %shard = fsdp.wait %pending : !fsdp.pending<@root> -> !fsdp.shard<@root>
  return
}
