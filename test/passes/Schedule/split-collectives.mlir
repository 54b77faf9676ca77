// RUN: shardc-opt %s --split-input-file --shardc-split-collectives | FileCheck %s

// A gather is waited for at once; a reduction when the optimizer begins.
// CHECK-LABEL: @start_and_wait
//  CHECK-SAME:   (%[[GRADIENT:.*]]: tensor<4xf32>)
//       CHECK:   fsdp.begin forward
//  CHECK-NEXT:   %[[GATHER:.*]] = fsdp.unshard_start @root on gather
//  CHECK-NEXT:   %[[WHOLE:.*]] = fsdp.wait %[[GATHER]]
//  CHECK-NEXT:   fsdp.view %[[WHOLE]][@w]
//  CHECK-NEXT:   fsdp.begin backward
//  CHECK-NEXT:   %[[REDUCTION:.*]] = fsdp.reduce_scatter_start @root [@w](%[[GRADIENT]]) on reduce
//  CHECK-NEXT:   fsdp.begin update
//  CHECK-NEXT:   %[[SHARD:.*]] = fsdp.wait %[[REDUCTION]]
//  CHECK-NEXT:   fsdp.gradient %[[SHARD]][0]
func.func @start_and_wait(%gradient: tensor<4xf32>) {
  fsdp.begin forward
  %root = fsdp.unshard @root : !fsdp.unsharded<@root>
  %w = fsdp.view %root[@w] : !fsdp.unsharded<@root> -> tensor<4xf32>
  fsdp.begin backward
  %shard = fsdp.reduce_scatter @root [@w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@root>
  fsdp.begin update
  %sum = fsdp.gradient %shard[0] : !fsdp.shard<@root> -> tensor<16xf32>
  return
}

// -----

// Reductions are waited for in the order in which they started.
// CHECK-LABEL: @waits_in_the_order_of_the_starts
//       CHECK:   %[[FIRST:.*]] = fsdp.reduce_scatter_start @h.1
//       CHECK:   %[[SECOND:.*]] = fsdp.reduce_scatter_start @h.0
//       CHECK:   fsdp.begin update
//  CHECK-NEXT:   fsdp.wait %[[FIRST]]
//  CHECK-NEXT:   fsdp.wait %[[SECOND]]
func.func @waits_in_the_order_of_the_starts(%gradient: tensor<4xf32>) {
  fsdp.begin forward
  fsdp.begin backward
  %0 = fsdp.reduce_scatter @h.1 [@h.1.w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@h.1>
  %1 = fsdp.reduce_scatter @h.0 [@h.0.w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@h.0>
  fsdp.begin update
  return
}

// -----

// CHECK-LABEL: @once_a_step
//       CHECK:   fsdp.reduce_scatter_start @root once [@w]
func.func @once_a_step(%gradient: tensor<4xf32>) {
  fsdp.begin forward
  fsdp.begin backward
  %shard = fsdp.reduce_scatter @root once [@w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@root>
  fsdp.begin update
  %sum = fsdp.gradient %shard[0] : !fsdp.shard<@root> -> tensor<16xf32>
  return
}

// What replicas sum starts behind the reduction, on a stream of its own, and is
// what the optimizer waits for.
// CHECK-LABEL: @sums_over_replicas
//       CHECK:   %[[REDUCTION:.*]] = fsdp.reduce_scatter_start @root
//  CHECK-NEXT:   %[[SUM:.*]] = fsdp.all_reduce_start %[[REDUCTION]] over ["replicate"] on replicate
//  CHECK-NEXT:   fsdp.begin update
//  CHECK-NEXT:   %[[SHARD:.*]] = fsdp.wait %[[SUM]]
//  CHECK-NEXT:   fsdp.gradient %[[SHARD]][0]
func.func @sums_over_replicas(%gradient: tensor<4xf32>) {
  fsdp.begin forward
  fsdp.begin backward
  %shard = fsdp.reduce_scatter @root [@w](%gradient) : (tensor<4xf32>) -> !fsdp.shard<@root>
  %all = fsdp.all_reduce %shard over ["replicate"] : !fsdp.shard<@root>
  fsdp.begin update
  %sum = fsdp.gradient %all[0] : !fsdp.shard<@root> -> tensor<16xf32>
  return
}
